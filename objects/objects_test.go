package objects_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/objects"
	"github.com/lakeward/lake/objects/mem"
)

func TestCheckName(t *testing.T) {
	for _, tt := range []struct {
		name string
		ok   bool
	}{
		{"a", true},
		{"A/b-c_d.e=f+g%h@i~j", true},
		{"tables/main/t/01890a5d-ac96-774b-bcce-b302099a8057/_delta_log/00000000000000000000.json", true},
		{strings.Repeat("x", 255), true},
		{strings.Repeat("x", 256), false},
		{strings.Repeat("x/", 511) + "xx", true},
		{strings.Repeat("x/", 512) + "x", false},
		{"", false},
		{"/a", false},
		{"a/", false},
		{"a//b", false},
		{".", false},
		{"..", false},
		{"a/../b", false},
		{".tmp-1", false},
		{"a/.tmp-1", false},
		{"-rf", false},
		{"a b", false},
		{"a\nb", false},
		{"a\n", false},
		{"a\\b", false},
		{"a:b", false},
		{"é", false},
		{"a\x00", false},
	} {
		err := objects.CheckName(tt.name)
		if (err == nil) != tt.ok || err != nil && fault.KindOf(err) != fault.Invalid {
			t.Errorf("CheckName(%.40q) = %v, want ok %v", tt.name, err, tt.ok)
		}
	}
}

func TestReadHasABound(t *testing.T) {
	s := mem.New()
	if _, err := objects.Put(t.Context(), s, "x", []byte("12345")); err != nil {
		t.Fatal(err)
	}
	if b, err := objects.Read(t.Context(), s, "x", 5); err != nil || string(b) != "12345" {
		t.Errorf("Read = %q, %v", b, err)
	}
	if _, err := objects.Read(t.Context(), s, "x", 4); fault.KindOf(err) != fault.Exhausted {
		t.Errorf("Read over the bound = %v", err)
	}
	if _, err := objects.Read(t.Context(), s, "y", 4); !errors.Is(err, objects.ErrNotFound) {
		t.Errorf("Read of nothing = %v", err)
	}
}

func TestLocation(t *testing.T) {
	table, err := ident.NewTable("robots", "grips")
	if err != nil {
		t.Fatal(err)
	}
	at := objects.TableLocation(table, "01890a5d-ac96-774b-bcce-b302099a8057")
	if want := objects.Location("tables/robots/grips/01890a5d-ac96-774b-bcce-b302099a8057"); at != want {
		t.Errorf("TableLocation = %q, want %q", at, want)
	}
	if got, want := at.Join("x.parquet"), string(at)+"/x.parquet"; got != want {
		t.Errorf("Join = %q, want %q", got, want)
	}
	if got, err := objects.ParseLocation(string(at)); err != nil || got != at {
		t.Errorf("ParseLocation = %q, %v", got, err)
	}
	for _, bad := range []string{"", "a/", "../a", "/a"} {
		if _, err := objects.ParseLocation(bad); fault.KindOf(err) != fault.Invalid {
			t.Errorf("ParseLocation(%q) = %v", bad, err)
		}
	}
}

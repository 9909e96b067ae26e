package registry

import (
	"encoding/hex"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta"
	"github.com/lakeward/lake/meta/registry/registrypb"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func sample(t *testing.T) Registration {
	t.Helper()
	op, err := ident.ParseOperation("0190b7a0-0000-7000-8000-0000000000aa")
	if err != nil {
		t.Fatal(err)
	}
	return Registration{
		Table:       ident.Table{Namespace: "demo", Name: "flights"},
		Incarnation: "0190b7a0-0000-7000-8000-000000000001",
		Engine:      "delta",
		Location:    "tables/demo/flights/0190b7a0-0000-7000-8000-000000000001",
		Version:     7,
		Schema:      []byte("an Arrow schema"),
		NextFieldID: 12,
		Tenant:      "dev",
		CreatedBy:   op,
		CreatedFor:  ident.Digest{1, 2, 3},
		CreatedAt:   time.UnixMilli(1_700_000_000_123),
	}
}

// golden compares bytes with those that the first release wrote. The file
// stays for ever: a lake must read what every earlier one stored.
func golden(t *testing.T, file string, got []byte) []byte {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(hex.EncodeToString(got)+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: the stored form changed:\n%s", file, diff)
	}
	return want
}

func TestRegistrationFormat1(t *testing.T) {
	want := sample(t)
	b, err := encode(want)
	if err != nil {
		t.Fatal(err)
	}
	stored := golden(t, "testdata/registration.v1.hex", b)
	got, err := decode(want.Table, stored)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Registration{})); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestRootAndDirectoryFormat1(t *testing.T) {
	b, err := meta.Encode(formatNumber, &registrypb.Root{Lake: "0190b7a0-0000-7000-8000-000000000002"})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/root.v1.hex", b)
	if b, err = meta.Encode(formatNumber, &registrypb.Directory{Generation: 41}); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/directory.v1.hex", b)
}

func TestRecordsThatAreNotRight(t *testing.T) {
	good, err := encode(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	newer := append([]byte{formatNumber + 1}, good[1:]...)
	noDigest := sample(t)
	p := &registrypb.Registration{Incarnation: string(noDigest.Incarnation), Tenant: "dev", CreatedBy: noDigest.CreatedBy.String()}
	short, err := meta.Encode(formatNumber, p)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		b    []byte
		kind fault.Kind
	}{
		"a newer format is refused by number": {newer, fault.Unsupported},
		"an empty record is corrupt":          {[]byte{}, fault.Corrupt},
		"garbage is corrupt":                  {[]byte{1, 0xff, 0xff, 0xff}, fault.Corrupt},
		"a record without fields is corrupt":  {[]byte{1}, fault.Corrupt},
		"a record without digest is corrupt":  {short, fault.Corrupt},
	} {
		_, err := decode(sample(t).Table, tt.b)
		if fault.KindOf(err) != tt.kind {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := decode(sample(t).Table, newer); !strings.Contains(fault.Public(err), "format 2") {
		t.Errorf("the format is not named: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := decode(ident.Table{Namespace: "a", Name: "b"}, b); err == nil {
			if _, err := ident.ParseIncarnation(string(r.Incarnation)); err != nil {
				t.Error(err)
			}
		}
	})
}

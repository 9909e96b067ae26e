package ident_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
)

func TestParseTable(t *testing.T) {
	long := strings.Repeat("a", 63)
	for _, tt := range []struct {
		in, want string // want "" is a refusal
	}{
		{"t", "main.t"},
		{"T", "main.t"},
		{"ns.t", "ns.t"},
		{"NS.Episodes_2", "ns.episodes_2"},
		{"lake.ns.t", "ns.t"},
		{"LAKE.Ns.T", "ns.t"},
		{"_", "main._"},
		{"_0._1", "_0._1"},
		{long + "." + long, long + "." + long},
		{"lake", "main.lake"},
		{"main.lake", "main.lake"},
		{long + "a", ""},
		{"ns." + long + "a", ""},
		{"", ""},
		{".", ""},
		{"ns.", ""},
		{".t", ""},
		{"1t", ""},
		{"ns.1t", ""},
		{"a-b", ""},
		{"a b", ""},
		{"ta\u0308", ""},
		{"a/b", ""},
		{"a\x00", ""},
		{"a\n", ""},
		{`"a"`, ""},
		{"a.b.c", ""},
		{"other.ns.t", ""},
		{"lake.a.b.c", ""},
		{"lake.t", ""},
		{"information_schema.tables", ""},
		{"Iceberg.t", ""},
		{"temp.t", ""},
		{"system.t", ""},
		{"pg_catalog.t", ""},
		{"lake.lake.t", ""},
	} {
		got, err := ident.ParseTable(tt.in)
		switch {
		case tt.want == "" && fault.KindOf(err) != fault.Invalid:
			t.Errorf("ParseTable(%.80q) = %v, %v, want a fault.Invalid error", tt.in, got, err)
		case tt.want != "" && (err != nil || got.String() != tt.want):
			t.Errorf("ParseTable(%.80q) = %v, %v, want %s", tt.in, got, err, tt.want)
		}
		if err != nil && len(fault.Public(err)) > 300 {
			t.Errorf("ParseTable(%.20q…) answers with %d bytes", tt.in, len(fault.Public(err)))
		}
	}
}

// A name is the same however it is given: what is parsed parses to itself.
func FuzzParseTable(f *testing.F) {
	for _, s := range []string{"t", "Ns.T", "lake.a.b", "a..b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		table, err := ident.ParseTable(s)
		if err != nil {
			return
		}
		again, err := ident.ParseTable(table.String())
		if err != nil || again != table {
			t.Errorf("%q is %v, which is %v, %v", s, table, again, err)
		}
		for _, part := range []string{string(table.Namespace), table.Name} {
			if part == "" || len(part) > 63 || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
				t.Errorf("%q gives the name %q", s, part)
			}
		}
	})
}

func TestParseTenant(t *testing.T) {
	for in, ok := range map[string]bool{"dev": true, "robots_2": true, "_": true, "": false, "Dev": false, "a.b": false, "a/b": false, "lake": true} {
		if got, err := ident.ParseTenant(in); (err == nil) != ok || ok && string(got) != in {
			t.Errorf("ParseTenant(%q) = %q, %v", in, got, err)
		}
	}
}

func TestUUIDsAreOfVersion7(t *testing.T) {
	const v7, v4 = "01890a5d-ac96-774b-bcce-b302099a8057", "9f1c2b1e-5d6a-4c3b-8a7f-0123456789ab"
	parsers := map[string]func(string) (string, error){
		"operation": func(s string) (string, error) {
			o, err := ident.ParseOperation(s)
			return o.String(), err
		},
		"incarnation": func(s string) (string, error) {
			i, err := ident.ParseIncarnation(s)
			return string(i), err
		},
		"attempt": func(s string) (string, error) {
			a, err := ident.ParseAttempt(s)
			return string(a), err
		},
	}
	for name, parse := range parsers {
		for _, in := range []string{v7, strings.ToUpper(v7)} {
			if got, err := parse(in); err != nil || got != v7 {
				t.Errorf("%s %s parses to %s, %v", name, in, got, err)
			}
		}
		for _, in := range []string{
			"", v4, "urn:uuid:" + v7, "{" + v7 + "}", strings.ReplaceAll(v7, "-", ""), v7 + " ", v7[:35],
			"01890a5d-ac96-774b-0cce-b302099a8057", // not of the RFC's variant
			"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
		} {
			if got, err := parse(in); fault.KindOf(err) != fault.Invalid {
				t.Errorf("%s %q parses to %s, %v", name, in, got, err)
			}
		}
	}
	made := map[string]func() (string, error){
		"operation": func() (string, error) {
			o, err := ident.NewOperation()
			return o.String(), err
		},
		"incarnation": func() (string, error) {
			i, err := ident.NewIncarnation()
			return string(i), err
		},
		"attempt": func() (string, error) {
			a, err := ident.NewAttempt()
			return string(a), err
		},
	}
	for name, make := range made {
		seen := map[string]bool{}
		for range 1000 {
			s, err := make()
			if err != nil {
				t.Fatal(err)
			}
			if got, err := parsers[name](s); err != nil || got != s || seen[s] {
				t.Fatalf("new %s %s: %v, seen %v", name, s, err, seen[s])
			}
			seen[s] = true
		}
	}
}

func TestOperationAge(t *testing.T) {
	op, err := ident.ParseOperation("01890a5d-ac96-774b-bcce-b302099a8057")
	if err != nil {
		t.Fatal(err)
	}
	made := time.UnixMilli(0x01890a5dac96)
	if !op.Time().Equal(made) {
		t.Fatalf("the id is of %v, want %v", op.Time(), made)
	}
	if i := ident.Incarnation(op.String()); !i.Time().Equal(made) {
		t.Errorf("the incarnation is of %v, want %v", i.Time(), made)
	}
	for _, tt := range []struct {
		name string
		now  time.Time
		kind fault.Kind
	}{
		{"of now", made, 0},
		{"of just not too far ahead", made.Add(-5 * time.Minute), 0},
		{"of the future", made.Add(-5*time.Minute - time.Millisecond), fault.Invalid},
		{"just young enough", made.Add(7 * 24 * time.Hour), 0},
		{"too old", made.Add(7*24*time.Hour + time.Millisecond), fault.Stale},
	} {
		if err := op.CheckAge(tt.now); (err == nil) != (tt.kind == 0) || err != nil && fault.KindOf(err) != tt.kind {
			t.Errorf("an id %s: %v", tt.name, err)
		}
	}
}

func TestParseDigest(t *testing.T) {
	d := ident.Digest{0: 1, 31: 0xab}
	if got, err := ident.ParseDigest(d.String()); err != nil || got != d {
		t.Errorf("ParseDigest = %v, %v", got, err)
	}
	for _, bad := range []string{"", "00", strings.Repeat("0", 63), strings.Repeat("0", 65), strings.Repeat("0", 66), strings.Repeat("g", 64)} {
		if _, err := ident.ParseDigest(bad); fault.KindOf(err) != fault.Invalid {
			t.Errorf("ParseDigest(%q) = %v", bad, err)
		}
	}
}

// A letter that lower case turns into one of a to z is not one of A to Z.
func TestOnlyASCIIFolds(t *testing.T) {
	for _, name := range []string{"demo.\u212Aelvin", "\u212A.t", "demo.\u0130d"} {
		if got, err := ident.ParseTable(name); fault.KindOf(err) != fault.Invalid {
			t.Errorf("ParseTable(%q) = %v, %v", name, got, err)
		}
	}
}

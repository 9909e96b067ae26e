package appends

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
	"github.com/lakeward/lake/meta/appends/appendspb"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares bytes with those that the first release wrote.
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

func TestOperationFormat1(t *testing.T) {
	id, err := ident.ParseOperation("0190b7a0-0000-7000-8000-0000000000aa")
	if err != nil {
		t.Fatal(err)
	}
	want := Operation{
		Incarnation: "0190b7a0-0000-7000-8000-000000000001", ID: id, State: Done, Digest: ident.Digest{1, 2, 3},
		Tenant: "dev", Base: 4, Version: 5, Rows: 600, ReservedAt: time.UnixMilli(1_700_000_000_123),
	}
	b, err := encode(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(want.Incarnation, id, golden(t, "testdata/operation.v1.hex", b))
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Operation{})); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if b, err = meta.Encode(formatNumber, &appendspb.Inflight{Operation: id.String()}); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/inflight.v1.hex", b)
}

func TestUnknownStateIsCorrupt(t *testing.T) {
	id, _ := ident.NewOperation()
	for _, s := range []appendspb.State{appendspb.State_STATE_UNSPECIFIED, 7} {
		b, err := meta.Encode(formatNumber, &appendspb.Operation{State: s, Digest: make([]byte, 32), Tenant: "dev"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decode("x", id, b); fault.KindOf(err) != fault.Corrupt {
			t.Errorf("state %d: %v", s, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if o, err := decode("x", ident.OperationID{}, b); err == nil && o.State != Reserved && o.State != Done {
			t.Errorf("decoded to state %v", o.State)
		}
	})
}

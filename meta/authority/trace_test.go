package authority_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/delta"
	"github.com/lakeward/lake/meta"
	"github.com/lakeward/lake/meta/appends/appendspb"
	"github.com/lakeward/lake/meta/authority"
	"github.com/lakeward/lake/meta/metatest"
	"github.com/lakeward/lake/meta/registry/registrypb"
	"github.com/lakeward/lake/objects/objectstest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestAppendTrace compares the outside calls of a create, an append and a
// replay with a golden file: a change of the protocol is a change of that text.
func TestAppendTrace(t *testing.T) {
	w := newWorld()
	var out strings.Builder
	e := delta.New(objectstest.NewTraced(w.objs, &out), delta.Options{Version: "test"})
	a := authority.New(metatest.Traced{Store: w.kv, W: &out, Show: show}, []engine.Engine{e}, authority.Options{})

	createOp, op := newOp(t), newOp(t)
	fmt.Fprintln(&out, "-- create")
	reg, _, err := a.Create(t.Context(), createRequest(createOp))
	if err != nil {
		t.Fatal(err)
	}
	request := staged(t, w, reg, op, 0, 10)
	fmt.Fprintln(&out, "-- append")
	if _, err := a.Append(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(&out, "-- append, replayed")
	if _, err := a.Append(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	names := strings.NewReplacer(
		string(reg.Incarnation), "INCARNATION", op.String(), "OP",
		strings.TrimSuffix(request.Manifest.Files[0].Name, ".parquet"), "FILE",
	)
	got := regexp.MustCompile(`<\d+>`).ReplaceAllString(names.Replace(out.String()), "UUID")
	const file = "testdata/append.trace"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, []byte(got)) {
		t.Errorf("the calls are now\n%s\nwant\n%s", got, want)
	}
}

// show is a record as a reader of the trace wants it.
func show(p meta.Pair) string {
	if p.Value == nil {
		return p.Key + " = absent"
	}
	text := "?"
	record := func(m proto.Message) bool { return meta.Decode(p.Key, 1, p.Value, m) == nil }
	switch kind, _, _ := strings.Cut(p.Key, "/"); kind {
	case "table":
		var m registrypb.Registration
		if record(&m) {
			text = fmt.Sprintf("version %d", m.GetVersion())
		}
	case "directory":
		var m registrypb.Directory
		if record(&m) {
			text = fmt.Sprintf("generation %d", m.GetGeneration())
		}
	case "op":
		var m appendspb.Operation
		if record(&m) {
			text = fmt.Sprintf("%s base %d version %d", strings.ToLower(strings.TrimPrefix(m.GetState().String(), "STATE_")), m.GetBase(), m.GetVersion())
		}
	case "inflight":
		var m appendspb.Inflight
		if record(&m) {
			text = "op " + m.GetOperation()
		}
	}
	return p.Key + " = " + text
}

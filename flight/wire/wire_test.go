package wire_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/flight/wire/wirepb"
	"github.com/lakeward/lake/ident"
)

func manifest(files, columns int) engine.Manifest {
	var m engine.Manifest
	for i := range files {
		f := engine.File{Name: fmt.Sprintf("%d.parquet", i), Rows: int64(i), Bytes: int64(i) * 10, SHA256: ident.Digest{byte(i)}}
		for c := range columns {
			f.Stats = append(f.Stats, engine.ColumnStats{
				Path: []string{"s", fmt.Sprintf("c%d", c)}, Nulls: int64(c),
				Min: engine.Value{Kind: engine.IntValue, Int: math.MinInt64}, Max: engine.Value{Kind: engine.TextValue, Text: strings.Repeat("x", 32)},
			})
		}
		m.Files = append(m.Files, f)
	}
	return m
}

func TestManifestCrossesTheWire(t *testing.T) {
	m := manifest(1, 0)
	for _, v := range []engine.Value{
		{},
		{Kind: engine.BoolValue, Int: 1},
		{Kind: engine.BoolValue},
		{Kind: engine.IntValue},
		{Kind: engine.IntValue, Int: -5},
		{Kind: engine.FloatValue, Float: math.Inf(-1)},
		{Kind: engine.TextValue, Text: ""},
		{Kind: engine.DecimalValue, Text: "-1.50"},
		{Kind: engine.DateValue, Int: -1},
		{Kind: engine.TimestampValue, Int: math.MaxInt64},
	} {
		m.Files[0].Stats = append(m.Files[0].Stats, engine.ColumnStats{Path: []string{"c"}, Min: v, Max: v})
	}
	for name, m := range map[string]engine.Manifest{"every kind of value": m, "no file": {}, "several parts": manifest(2000, 20)} {
		var r wire.ManifestReader
		parts := 0
		for p := range wire.Parts(m) {
			b, err := proto.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			if len(b) > wire.MessageBytesMax {
				t.Errorf("%s: a part of %d bytes", name, len(b))
			}
			if _, err := r.Manifest(); err == nil {
				t.Errorf("%s: whole before its last part", name)
			}
			if err := r.Add(b); err != nil {
				t.Fatal(err)
			}
			parts++
		}
		got, err := r.Manifest()
		if diff := cmp.Diff(m, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
		if (parts > 1) != (name == "several parts") {
			t.Errorf("%s: %d parts", name, parts)
		}
	}
}

func TestManifestIsBounded(t *testing.T) {
	b, err := proto.Marshal(&wirepb.ManifestPart{Files: []*wirepb.File{{Name: strings.Repeat("x", 3<<20), Sha256: make([]byte, 32)}}})
	if err != nil {
		t.Fatal(err)
	}
	var r wire.ManifestReader
	for range engine.ManifestBytesMax / len(b) {
		if err := r.Add(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Add(b); fault.KindOf(err) != fault.Exhausted {
		t.Errorf("over the bound: %v", err)
	}
}

func TestFilesThatAreNotRight(t *testing.T) {
	for name, f := range map[string]*wirepb.File{
		"negative rows":  {Name: "x", Rows: -1, Sha256: make([]byte, 32)},
		"negative bytes": {Name: "x", Bytes: -1, Sha256: make([]byte, 32)},
		"no digest":      {Name: "x"},
	} {
		b, err := proto.Marshal(&wirepb.ManifestPart{Files: []*wirepb.File{f}})
		if err != nil {
			t.Fatal(err)
		}
		var r wire.ManifestReader
		if err := r.Add(b); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A frame is released once, when the transport is done with it; small ones,
// which the transport does not hand back, at once.
func TestFramesAreReleasedOnce(t *testing.T) {
	for _, n := range []int{10, 100_000} {
		data, released := bytes.Repeat([]byte{7}, n), 0
		out, err := wire.Codec{}.Marshal(&wire.Frame{Message: engine.Message{Bytes: data, Release: func() { released++; clear(data) }}})
		if err != nil {
			t.Fatal(err)
		}
		if got := out.Materialize(); !bytes.Equal(got, bytes.Repeat([]byte{7}, n)) {
			t.Errorf("%d bytes: the frame changed", n)
		}
		out.Free()
		if released != 1 {
			t.Errorf("%d bytes: released %d times", n, released)
		}
	}
	msg := &wirepb.GetTable{Table: "a.b"}
	out, err := wire.Codec{}.Marshal(msg)
	if err != nil {
		t.Fatal(err)
	}
	var got wirepb.GetTable
	if err := (wire.Codec{}).Unmarshal(mem.BufferSlice{mem.SliceBuffer(out.Materialize())}, &got); err != nil || !proto.Equal(msg, &got) {
		t.Errorf("an ordinary message: %v, %v", &got, err)
	}
}

func TestDialWantsAnAddress(t *testing.T) {
	for _, uri := range []string{"", "127.0.0.1:1", "http://x", "grpc://", "grpc+tls://127.0.0.1:1"} {
		if c, err := wire.Dial(uri); err == nil {
			c.Close()
			t.Errorf("%q: no error", uri)
		}
	}
}

func FuzzManifest(f *testing.F) {
	b, _ := proto.Marshal(&wirepb.ManifestPart{Last: true, Files: []*wirepb.File{{Name: "x", Sha256: make([]byte, 32)}}})
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var r wire.ManifestReader
		if r.Add(b) == nil {
			_, _ = r.Manifest()
		}
	})
}

package ident_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// vectors are digests that other implementations are checked against. They stay
// as they are for ever: a digest that changes makes every retry another
// operation.
type vectors struct {
	Append, Ingest []frameVector
	Load           []loadVector
	PerFile        []perFileVector `json:"perfile"`
}

type frameVector struct {
	Name   string
	Frames [][3]string // header, body, application metadata, in hexadecimal
	Digest string
}

type loadVector struct {
	Name  string
	Files []struct {
		Bytes  int64
		SHA256 string
	}
	Options   json.RawMessage // as they are marshalled
	Canonical string          // as they are hashed
	Digest    string
}

type perFileVector struct {
	Op   string
	File int
	ID   string
}

const vectorsFile = "testdata/digests.json"

func readVectors(t *testing.T) (v vectors) {
	t.Helper()
	b, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Append) < 3 || len(v.Ingest) < 2 || len(v.Load) < 3 || len(v.PerFile) < 3 {
		t.Fatal("vectors are missing")
	}
	return v
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// u32 is the definition's length of what follows.
func u32(n int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }

// written is what the definition says is hashed: a domain, then parts.
func written(domain string, parts ...[]byte) string {
	d := sha256.Sum256(append([]byte("lake."+domain+".v1\x00"), bytes.Join(parts, nil)...))
	return hex.EncodeToString(d[:])
}

// Each vector is what this package computes and what the few lines here compute
// from the definition.
func TestDigestVectors(t *testing.T) {
	v := readVectors(t)
	frames := func(domain string, digest func() ident.FrameDigest, vs []frameVector) {
		for i, f := range vs {
			d := digest()
			var parts [][]byte
			for _, m := range f.Frames {
				header, body, meta := unhex(t, m[0]), unhex(t, m[1]), unhex(t, m[2])
				d.Add(header, body, meta)
				parts = append(parts, u32(len(header)), header, u32(len(body)), body, u32(len(meta)), meta)
			}
			compare(t, domain+" of "+f.Name, &vs[i].Digest, d.Sum().String(), written(domain, parts...))
		}
	}
	frames("append", ident.NewAppendDigest, v.Append)
	frames("ingest", ident.NewIngestDigest, v.Ingest)
	for i, l := range v.Load {
		parts := [][]byte{u32(len(l.Files))}
		var files []ident.Source
		for _, f := range l.Files {
			d, err := ident.ParseDigest(f.SHA256)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, ident.Source{Bytes: f.Bytes, SHA256: d})
			parts = append(parts, binary.LittleEndian.AppendUint64(nil, uint64(f.Bytes)), d[:])
		}
		parts = append(parts, u32(len(l.Canonical)), []byte(l.Canonical))
		got, err := ident.LoadDigest(files, l.Options)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, "load of "+l.Name, &v.Load[i].Digest, got.String(), written("load", parts...))
	}
	for i, p := range v.PerFile {
		op, err := ident.ParseOperation(p.Op)
		if err != nil {
			t.Fatal(err)
		}
		d := unhex(t, written("perfile", op[:], u32(p.File)))
		want := append(bytes.Clone(op[:6]), d[:10]...)
		want[6], want[8] = want[6]&0x0f|0x70, want[8]&0x3f|0x80
		compare(t, "perfile", &v.PerFile[i].ID, op.PerFile(p.File).String(), ident.OperationID(want).String())
	}
	if *update {
		b, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(vectorsFile, append(b, '\n'), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func compare(t *testing.T, name string, vector *string, got, defined string) {
	t.Helper()
	if got != defined {
		t.Errorf("%s: %s, by its definition %s", name, got, defined)
	}
	if *update {
		*vector = defined
	}
	if *vector != defined {
		t.Errorf("%s: %s, the vector is %s", name, defined, *vector)
	}
}

// What is framed differently is another input, whatever bytes it joins to.
func TestDigestsTellFramesApart(t *testing.T) {
	sums := map[ident.Digest]string{}
	for name, add := range map[string]func(d ident.FrameDigest){
		"no message":         func(ident.FrameDigest) {},
		"an empty message":   func(d ident.FrameDigest) { d.Add(nil, nil, nil) },
		"two empty messages": func(d ident.FrameDigest) { d.Add(nil, nil, nil); d.Add(nil, nil, nil) },
		"ab, c":              func(d ident.FrameDigest) { d.Add([]byte("ab"), []byte("c"), nil) },
		"a, bc":              func(d ident.FrameDigest) { d.Add([]byte("a"), []byte("bc"), nil) },
		"-, abc":             func(d ident.FrameDigest) { d.Add(nil, []byte("abc"), nil) },
		"-, -, abc":          func(d ident.FrameDigest) { d.Add(nil, nil, []byte("abc")) },
		"ab then c":          func(d ident.FrameDigest) { d.Add([]byte("ab"), nil, nil); d.Add([]byte("c"), nil, nil) },
	} {
		for kind, digest := range map[string]ident.FrameDigest{"append": ident.NewAppendDigest(), "ingest": ident.NewIngestDigest()} {
			add(digest)
			if other, ok := sums[digest.Sum()]; ok {
				t.Errorf("%s of %s is also %s", kind, name, other)
			}
			sums[digest.Sum()] = kind + " of " + name
		}
	}
}

func TestLoadDigestOfOptions(t *testing.T) {
	type options struct {
		Delimiter string `json:"delimiter,omitempty"`
		Header    bool   `json:"header"`
	}
	byStruct, err := ident.LoadDigest(nil, options{";", true})
	if err != nil {
		t.Fatal(err)
	}
	byMap, err := ident.LoadDigest(nil, map[string]any{"header": true, "delimiter": ";"})
	if err != nil {
		t.Fatal(err)
	}
	if byStruct != byMap {
		t.Error("the order in which options are marshalled has a part in the digest")
	}
	if other, err := ident.LoadDigest(nil, options{",", true}); err != nil || other == byStruct {
		t.Errorf("other options have the same digest, %v", err)
	}
	for _, bad := range []any{make(chan int), json.RawMessage(`{"a":1,"a":2}`), json.RawMessage(`{`)} {
		if _, err := ident.LoadDigest(nil, bad); fault.KindOf(err) != fault.Invalid {
			t.Errorf("LoadDigest of options %v = %v", bad, err)
		}
	}
}

func TestPerFileIsDeterministicAndDistinct(t *testing.T) {
	op, err := ident.NewOperation()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[ident.OperationID]int{op: -1}
	for i := range 10_000 {
		id := op.PerFile(i)
		if id != op.PerFile(i) {
			t.Fatalf("file %d has two ids", i)
		}
		if other, ok := seen[id]; ok {
			t.Fatalf("files %d and %d have one id", i, other)
		}
		seen[id] = i
		if !id.Time().Equal(op.Time()) {
			t.Fatalf("file %d is of %v", i, id.Time())
		}
		if _, err := ident.ParseOperation(id.String()); err != nil {
			t.Fatal(err)
		}
	}
}

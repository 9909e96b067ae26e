package delta

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/objects/mem"
)

// Whatever bytes a commit file holds, they are a commit or corruption; and what
// is a commit becomes a version that is readable or refused for a reason.
func FuzzCommit(f *testing.F) {
	for _, s := range []string{
		``,
		`{"commitInfo":{"timestamp":1,"txnId":"x","lake":{"format":1,"op":"y"}}}`,
		`{"commitInfo":{"timestamp":"1","operationParameters":{"a":true},"lake":7}}`,
		`{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}` + "\n" + `{"metaData":{"id":"x","format":{"provider":"parquet"},"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"n\",\"type\":\"long\",\"nullable\":true,\"metadata\":{\"lake.arrow\":\"AAAA\",\"lake.ids\":\"1\"}}]}","partitionColumns":[],"configuration":{}}}`,
		`{"add":{"path":"a%20b","partitionValues":{"p":null},"size":1,"stats":"{\"numRecords\":1,\"minValues\":{\"n\":1},\"nullCount\":{\"n\":0}}","tags":{"lake.sha256":"00"}}}`,
		`{"remove":{"path":"x","deletionVector":{"storageType":"u","pathOrInlineDv":"y","offset":3}}}`,
		`{"add":null}` + "\r\n\n" + `null`,
	} {
		f.Add([]byte(s))
	}
	base, err := parseCommit([]byte(`{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}
{"metaData":{"id":"x","format":{"provider":"parquet"},"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"n\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}","partitionColumns":[],"configuration":{}}}
{"add":{"path":"x","partitionValues":{},"size":1}}`))
	if err != nil {
		f.Fatal(err)
	}
	t0 := &table{New(mem.New(), Options{}), "t"}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parseCommit(b)
		if err != nil {
			if fault.KindOf(err) != fault.Corrupt {
				t.Errorf("%v is not corruption", err)
			}
			return
		}
		r := newReplay(t0, &state{version: -1})
		r.apply(base)
		r.apply(c)
		s := r.finish()
		if s.version != ident.Version(1) {
			t.Errorf("version %d", s.version)
		}
		if err := s.readable(); err != nil {
			switch fault.KindOf(err) {
			case fault.Corrupt, fault.Unsupported, fault.Exhausted:
			default:
				t.Errorf("refused for %v: %v", fault.KindOf(err), err)
			}
			return
		}
		_ = checkAppendable(s.protocol, s.metaData, s.fields)
		for _, file := range s.dataFiles() {
			if file.Bytes < 0 {
				t.Errorf("a file of %d bytes", file.Bytes)
			}
		}
	})
}

// A schemaString parses or is refused, and what parses can be written again as
// the same types.
func FuzzSchema(f *testing.F) {
	for _, s := range []string{
		`{"type":"struct","fields":[]}`,
		`{"type":"struct","fields":[{"name":"a","type":"decimal(38,10)","nullable":true,"metadata":{}}]}`,
		`{"type":"struct","fields":[{"name":"a","type":{"type":"array","elementType":{"type":"map","keyType":"string","valueType":{"type":"struct","fields":[{"name":"b","type":"timestamp_ntz","nullable":false}]},"valueContainsNull":true},"containsNull":false},"nullable":true}]}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		columns, _, err := parseSchema(s)
		if err != nil {
			return
		}
		for _, c := range columns {
			again, err := parseType(encodeType(c.Stored), c.Source, 0)
			if err != nil || again.String() != c.Stored.String() {
				t.Errorf("%s comes back as %v, %v", c.Stored, again, err)
			}
		}
	})
}

// Bytes that claim to be Parquet give rows or an error, and end nothing.
func FuzzParquetRows(f *testing.F) {
	paths, err := filepath.Glob("testdata/parquet/*.parquet")
	if err != nil {
		f.Fatal(err)
	}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, rows, done, err := ParquetRows(t.Context(), bytes.NewReader(b), int64(len(b)))
		for n := 0; err == nil && n < 10; n++ {
			var first bool
			for b, e := range rows {
				first, err = true, e
				if e == nil && b.NumRows() > readRowsMax {
					t.Errorf("a batch of %d rows", b.NumRows())
				}
				break
			}
			if !first {
				break
			}
		}
		if err != nil && fault.KindOf(err) != fault.Invalid {
			t.Errorf("%v is not fault.Invalid", err)
		}
		if done != nil {
			_ = done()
		}
	})
}

// Statistics of other writers are bounds or nothing.
func FuzzStats(f *testing.F) {
	f.Add(`{"numRecords":3,"minValues":{"i":1,"o":{"x.y":2}},"maxValues":{"ts":"2024-01-01T00:00:00.001Z"},"nullCount":{"i":0,"ts":0,"o":{"x.y":0}}}`)
	f.Fuzz(func(t *testing.T, s string) {
		_, stats := parseStats(s, leaves(statsColumns))
		for _, c := range stats {
			if _, err := json.Marshal(c); err != nil {
				t.Errorf("%+v: %v", c, err)
			}
			if c.Nulls < 0 {
				t.Errorf("%d nulls", c.Nulls)
			}
		}
	})
}

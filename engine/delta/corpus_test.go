package delta_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/delta"
	"github.com/lakeward/lake/engine/enginetest"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
)

// Tables of other writers are read right or refused: never half, and never
// wrongly. The corpus is tables of the real implementations' own test suites,
// with what an independent reader found in each.
func TestForeignTablesAreReadRightOrRefused(t *testing.T) {
	corpus := filepath.Join(shared(t), "data/delta-golden")
	entries, err := os.ReadDir(corpus)
	if err != nil {
		missing(t, "the corpus is not here: %v", err)
	}
	count := map[string]int{}
	for _, entry := range entries {
		b, err := os.ReadFile(filepath.Join(corpus, entry.Name(), "case.json"))
		if err != nil {
			continue
		}
		var want corpusCase
		if err := json.Unmarshal(b, &want); err != nil {
			t.Fatal(err)
		}
		t.Run(entry.Name(), func(t *testing.T) {
			count[want.Expect+": "+want.check(t, filepath.Join(corpus, entry.Name()))]++
		})
	}
	t.Log(count)
}

type corpusCase struct {
	Expect   string
	Version  *int64
	Rows     *int64
	Hash     string
	NumFiles *int `json:"num_files"`
}

// check opens the newest version of a table and returns what came of it.
func (c corpusCase) check(t *testing.T, dir string) string {
	s := openLocal(t, dir)
	e := delta.New(s, delta.Options{})
	version := int64(-1)
	if c.Version != nil {
		version = *c.Version
	} else if logs, err := filepath.Glob(filepath.Join(dir, "delta/_delta_log/*.json")); err == nil {
		for i := range logs {
			if len(filepath.Base(logs[i])) == 25 {
				version++
			}
		}
	}
	snap, err := e.Table("delta").Snapshot(t.Context(), ident.Version(version))
	if err != nil {
		k := fault.KindOf(err)
		t.Logf("%s: %v", c.Expect, fault.Public(err))
		switch {
		case c.Expect == "read" && !errors.Is(err, engine.ErrUnsupported), k != fault.Unsupported && k != fault.Corrupt && k != fault.NotFound:
			t.Errorf("refused as %v: %v", k, err)
		}
		return k.String()
	}
	if c.Expect == "reject-corrupt" {
		t.Errorf("a corrupt table was opened")
	}
	sc, err := snap.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c.NumFiles != nil && len(sc.Files) != *c.NumFiles {
		t.Errorf("%d files, want %d", len(sc.Files), *c.NumFiles)
	}
	if c.Expect == "log-only" {
		return "log read"
	}
	var h enginetest.Hash
	for b, err := range readScan(t.Context(), s, sc) {
		if err != nil {
			t.Logf("a data file does not read: %v", err)
			return "data file not read"
		}
		b, ok := project(t, b, sc.Columns)
		if !ok {
			return "data file of other types"
		}
		h.Add(b)
	}
	if c.Hash != "" && h.String() != c.Hash || c.Rows != nil && h.Rows != *c.Rows {
		t.Errorf("%d rows %s, want %d rows %s", h.Rows, &h, *c.Rows, c.Hash)
	}
	return "read"
}

// project brings a file's columns into the table's order, a missing one as null.
func project(t *testing.T, b arrow.RecordBatch, columns []engine.Column) (arrow.RecordBatch, bool) {
	var fields []arrow.Field
	var arrays []arrow.Array
	for _, c := range columns {
		var arr arrow.Array
		for i, f := range b.Schema().Fields() {
			if strings.EqualFold(f.Name, c.Source) {
				arr = b.Column(i)
			}
		}
		if arr == nil {
			arr = array.MakeArrayOfNull(memory.DefaultAllocator, c.Stored, int(b.NumRows()))
		}
		ts, isTime := arr.DataType().(*arrow.TimestampType)
		if !engine.SameType(arr.DataType(), c.Stored) && (!isTime || ts.Unit == arrow.Nanosecond && c.Stored.ID() == arrow.INT64) {
			t.Logf("column %s is %s in a file and %s in the table", c.Source, arr.DataType(), c.Stored)
			return nil, false
		}
		arrays = append(arrays, arr)
		fields = append(fields, arrow.Field{Name: c.Source, Type: arr.DataType(), Nullable: true})
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, b.NumRows()), true
}

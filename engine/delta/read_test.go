package delta_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/delta"
	"github.com/lakeward/lake/engine/enginetest"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/objects/mem"
)

// Files of other writers (testdata/make_parquet.py made them) give the rows that
// their writers' own readers see, in types that a table can have.
func TestParquetFilesOfOthers(t *testing.T) {
	paths, err := filepath.Glob("testdata/parquet/*.parquet")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".parquet"), func(t *testing.T) {
			var want struct {
				Rows  int64
				Hash  string
				Types []string
			}
			b, err := os.ReadFile(strings.TrimSuffix(path, "parquet") + "json")
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(b, &want); err != nil {
				t.Fatal(err)
			}
			f, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			schema, rows, done, err := delta.ParquetRows(t.Context(), bytes.NewReader(f), int64(len(f)))
			if err != nil {
				t.Fatal(err)
			}
			defer done()
			if schema.NumFields() != len(want.Types) {
				t.Errorf("%d columns, want %d", schema.NumFields(), len(want.Types))
			}
			t.Logf("%s, for pyarrow %s", schema, want.Types)
			var h enginetest.Hash
			var batches []arrow.RecordBatch
			for b, err := range rows {
				if err != nil {
					t.Fatal(err)
				}
				if err := engine.Compatible(schema, b.Schema()); err != nil {
					t.Error(err)
				}
				b.Retain()
				batches = append(batches, b)
				h.Add(b)
			}
			if h.Rows != want.Rows || h.String() != want.Hash {
				t.Errorf("%d rows %s, want %d rows %s", h.Rows, &h, want.Rows, want.Hash)
			}
			// And a table of that schema takes them, but for zones to come.
			exact, _, err := engine.NewSchema(schema)
			if err != nil {
				t.Fatal(err)
			}
			m, err := delta.New(mem.New(), delta.Options{}).Table("t").Stage(t.Context(), exact, enginetest.Rows(batches...))
			if errors.Is(err, engine.ErrUnsupported) && strings.Contains(err.Error(), `"tz"`) {
				return
			}
			if err != nil || m.Rows() != want.Rows {
				t.Errorf("Stage = %d rows, %v", m.Rows(), err)
			}
		})
	}
}

func TestDictionariesStayDictionaries(t *testing.T) {
	f, err := os.ReadFile("testdata/parquet/dictionary.parquet")
	if err != nil {
		t.Fatal(err)
	}
	schema, _, done, err := delta.ParquetRows(t.Context(), bytes.NewReader(f), int64(len(f)))
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	want := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	if got := schema.Field(1).Type; !engine.SameType(got, want) {
		t.Errorf("the column is %s, want %s", got, want)
	}
}

// readAll reads a file to its end or its first error.
func readAll(ctx context.Context, b []byte) (rows int64, err error) {
	_, batches, done, err := delta.ParquetRows(ctx, bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return 0, err
	}
	defer done()
	for b, err := range batches {
		if err != nil {
			return rows, err
		}
		rows += b.NumRows()
	}
	return rows, nil
}

func TestWhatIsNotParquetIsRefused(t *testing.T) {
	nested, err := os.ReadFile("testdata/parquet/nested.parquet")
	if err != nil {
		t.Fatal(err)
	}
	whole := func(b ...byte) []byte { return append([]byte("PAR1"), append(b, "PAR1"...)...) }
	for name, b := range map[string][]byte{
		"nothing":                   nil,
		"text":                      []byte("a,b\n1,2\n"),
		"only magic":                []byte("PAR1PAR1"),
		"a footer of no bytes":      whole(0, 0, 0, 0),
		"a footer of many bytes":    whole(0xff, 0xff, 0xff, 0x7f),
		"a footer of garbage":       whole(append(bytes.Repeat([]byte{0x15}, 64), 64, 0, 0, 0)...),
		"a negative footer":         whole(0xff, 0xff, 0xff, 0xff),
		"a zip":                     append([]byte("PK\x03\x04"), make([]byte, 100)...),
		"a file without its end":    nested[:len(nested)-1],
		"a file without its middle": append(append([]byte{}, nested[:20]...), nested[len(nested)-300:]...),
	} {
		if _, err := readAll(t.Context(), b); fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), "not a Parquet file") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// However it is cut or whatever bit is turned: rows or an error.
	for i := 0; i < len(nested); i += 5 {
		if _, err := readAll(t.Context(), nested[:i]); fault.KindOf(err) != fault.Invalid {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
	paths, err := filepath.Glob("testdata/parquet/*.parquet")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		step := max(1, len(b)/50)
		for i := 0; i < len(b); i += step {
			for _, flip := range []byte{0x01, 0xff} {
				broken := bytes.Clone(b)
				broken[i] ^= flip
				if _, err := readAll(t.Context(), broken); err != nil && fault.KindOf(err) != fault.Invalid {
					t.Errorf("%s: byte %d turned by %x: %v", path, i, flip, err)
				}
			}
		}
	}
}

func TestReadingStops(t *testing.T) {
	f, err := os.ReadFile("testdata/parquet/duckdb.parquet")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, rows, done, err := delta.ParquetRows(ctx, bytes.NewReader(f), int64(len(f)))
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	n := 0
	for _, err := range rows {
		n++
		if n == 2 {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("batch 2 = %v", err)
			}
			break
		}
		cancel()
	}
	for range rows { // may be left early
		break
	}
}

// Rows lie in a file as they must for the executor and for other readers.
func TestFilesAreLaidOutAsDesigned(t *testing.T) {
	schema := enginetest.Schema(t,
		arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int64},
		arrow.Field{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		arrow.Field{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true})
	st := mem.New()
	e := delta.New(st, delta.Options{Version: "1.0"})
	b := enginetest.Batch(t, schema, "["+strings.TrimSuffix(strings.Repeat(`{"n":1,"s":"abc","l":[1,2,3]},{"n":2,"s":null,"l":null},`, 50_000), ",")+"]")
	m, err := e.Table("t").Stage(t.Context(), schema, enginetest.Rows(b, b, b))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Files) != 1 || m.Rows() != 300_000 {
		t.Fatalf("%d files of %d rows", len(m.Files), m.Rows())
	}
	r, err := st.Open(t.Context(), "t/"+m.Files[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	pf, err := file.NewParquetReader(readSeekerAt(r))
	if err != nil {
		t.Fatal(err)
	}
	md := pf.MetaData()
	if got := md.GetCreatedBy(); got != "lake version 1.0" {
		t.Errorf("created by %q", got)
	}
	var sizes []int64
	for i := range md.NumRowGroups() {
		g := md.RowGroup(i)
		sizes = append(sizes, g.NumRows())
		for c := range g.NumColumns() {
			col, err := g.ColumnChunk(c)
			if err != nil {
				t.Fatal(err)
			}
			if col.Compression().String() != "ZSTD" {
				t.Errorf("column %d is compressed by %s", c, col.Compression())
			}
			if st, err := col.Statistics(); err != nil || st == nil || !st.HasMinMax() || !st.HasNullCount() {
				t.Errorf("column %d has no statistics: %v", c, err)
			}
			if col.BloomFilterOffset() != 0 {
				t.Errorf("column %d has a bloom filter of an unknown number of values", c)
			}
			if o := col.GetOffsetIndexLocation(); o == nil || o.Length == 0 {
				t.Errorf("column %d has no offset index", c)
			}
			if o := col.GetColumnIndexLocation(); o == nil || o.Length == 0 {
				t.Errorf("column %d has no column index", c)
			}
		}
	}
	if len(sizes) != 3 || sizes[0] != 122_880 || sizes[1] != 122_880 {
		t.Errorf("row groups of %d rows", sizes)
	}
}

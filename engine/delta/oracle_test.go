package delta_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/delta"
	"github.com/lakeward/lake/engine/enginetest"
	"github.com/lakeward/lake/objects"
	"github.com/lakeward/lake/objects/local"
)

// python returns a Python with the other implementations and the script that
// reads a table with one of them. Without them a test is skipped, but not where
// all tests are meant to run.
func python(t *testing.T) (interpreter, checkDelta string) {
	t.Helper()
	interpreter = os.Getenv("LAKE_PYTHON")
	if interpreter == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		interpreter = filepath.Join(home, ".cache/lake/venv/bin/python")
	}
	checkDelta = filepath.Join(shared(t), "tools/check_delta.py")
	for _, f := range []string{interpreter, checkDelta} {
		if _, err := os.Stat(f); err != nil {
			missing(t, "an independent reader is not here: %v", err)
		}
	}
	return interpreter, checkDelta
}

func shared(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("LAKE_SHARED")
	if dir == "" {
		dir = "../../../shared"
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// lines runs a script that prints lines of JSON, and decodes them.
func lines[T any](t *testing.T, interpreter string, args ...string) (out []T) {
	t.Helper()
	var errs bytes.Buffer
	c := exec.CommandContext(t.Context(), interpreter, args...)
	c.Stderr = &errs
	b, err := c.Output()
	if err != nil {
		t.Logf("%s: %v\n%s", filepath.Base(args[0]), err, errs.Bytes())
	}
	s := bufio.NewScanner(bytes.NewReader(b))
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		var v T
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			t.Fatalf("%s printed %q: %v", filepath.Base(args[0]), s.Bytes(), err)
		}
		out = append(out, v)
	}
	return out
}

// A seen is what an independent reader says of a table.
type seen struct {
	Error   string
	Version int64
	Rows    int64
	Hash    string
}

// A written is a table of ours and what is in it.
type written struct {
	name   string
	schema *arrow.Schema
	hash   *enginetest.Hash
	files  []string // paths
	folder string
}

// writeSamples makes a table of each kept type, in two commits, and one of all.
func writeSamples(t *testing.T, s *local.Store, dir string) (out []written) {
	e := delta.New(s, delta.Options{})
	var every []arrow.Field
	var everyColumns []arrow.Array
	const rows = 3
	for _, sample := range enginetest.Samples() {
		if slices.Contains(refused, sample.Name) {
			continue
		}
		schema := enginetest.Schema(t, sample.Field())
		b := sample.Batch(t, schema)
		out = append(out, writeTable(t, e, dir, sample.Name, schema, b, b.NewSlice(1, b.NumRows())))
		column := b.Column(0)
		if column.Len() < rows {
			both, err := array.Concatenate([]arrow.Array{column, column}, memory.DefaultAllocator)
			if err != nil {
				t.Fatal(err)
			}
			column = both
		}
		every = append(every, sample.Field())
		everyColumns = append(everyColumns, array.NewSlice(column, 0, rows))
	}
	schema := enginetest.Schema(t, every...)
	for i, f := range schema.Fields() { // the types with this schema's field ids
		everyColumns[i] = enginetest.WithType(everyColumns[i], f.Type)
	}
	return append(out, writeTable(t, e, dir, "every", schema, array.NewRecordBatch(schema, everyColumns, rows)))
}

// writeTable makes a table of batches, a commit each.
func writeTable(t *testing.T, e engine.Engine, dir, name string, schema *arrow.Schema, batches ...arrow.RecordBatch) written {
	t.Helper()
	at := objects.Location(name)
	w := written{name: name, schema: schema, hash: &enginetest.Hash{}, folder: filepath.Join(dir, name)}
	v, err := e.Create(t.Context(), at, schema, enginetest.NewOp(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		m, err := e.Table(at).Stage(t.Context(), schema, enginetest.Rows(b))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if v, err = e.Table(at).Commit(t.Context(), v, enginetest.NewOp(t), m); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, f := range m.Files {
			w.files = append(w.files, filepath.Join(dir, at.Join(f.Name)))
		}
		w.hash.Add(storedBatch(b))
	}
	return w
}

// storedBatch is a batch with nanoseconds as they are stored.
func storedBatch(b arrow.RecordBatch) arrow.RecordBatch {
	var fields []arrow.Field
	var columns []arrow.Array
	for i, c := range b.Columns() {
		c = enginetest.AsStored(c)
		columns = append(columns, c)
		fields = append(fields, arrow.Field{Name: b.ColumnName(i), Type: c.DataType(), Nullable: true})
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, b.NumRows())
}

// delta-rs reads what we write: the same rows, of every type that is kept.
func TestDeltaRSReadsOurTables(t *testing.T) {
	interpreter, checkDelta := python(t)
	dir := t.TempDir()
	tables := writeSamples(t, openLocal(t, dir), dir)
	args := []string{checkDelta, "--no-schema"}
	for _, w := range tables {
		args = append(args, w.folder)
	}
	got := lines[seen](t, interpreter, args...)
	if len(got) != len(tables) {
		t.Fatalf("%d tables were read of %d", len(got), len(tables))
	}
	for i, w := range tables {
		want := seen{Version: int64(len(w.files)), Rows: w.hash.Rows, Hash: w.hash.String()}
		if diff := cmp.Diff(want, got[i]); diff != "" {
			t.Errorf("%s (-want +delta-rs):\n%s", w.name, diff)
		}
	}
}

// pyarrow and DuckDB read our data files by themselves: the same rows, with the
// field ids of the exact schema, nested ones too.
func TestOtherParquetReadersReadOurFiles(t *testing.T) {
	interpreter, checkDelta := python(t)
	dir := t.TempDir()
	tables := writeSamples(t, openLocal(t, dir), dir)
	args := []string{"testdata/read_files.py", checkDelta}
	n := 0
	for _, w := range tables {
		args = append(args, w.files...)
		n += len(w.files)
	}
	type file struct {
		Rows        int64
		PyArrow     string
		DuckDB      string
		DuckDBRows  int64  `json:"duckdb_rows"`
		CreatedBy   string `json:"created_by"`
		Groups, IDs any
	}
	got := lines[file](t, interpreter, args...)
	if len(got) != n {
		t.Fatalf("%d files were read of %d", len(got), n)
	}
	i := 0
	for _, w := range tables {
		var rows int64
		for range w.files {
			f := got[i]
			i++
			rows += f.Rows
			if f.PyArrow != f.DuckDB || f.Rows != f.DuckDBRows {
				t.Errorf("%s: pyarrow reads %d rows %s, DuckDB %d rows %s", w.name, f.Rows, f.PyArrow, f.DuckDBRows, f.DuckDB)
			}
			if len(w.files) == 1 && f.PyArrow != w.hash.String() {
				t.Errorf("%s: pyarrow reads %s, want %s", w.name, f.PyArrow, w.hash)
			}
			if f.CreatedBy != "lake version dev" {
				t.Errorf("%s is created by %q", w.name, f.CreatedBy)
			}
			if ids := fmt.Sprint(f.IDs); ids != fmt.Sprint(exactIDs(w.schema)) {
				t.Errorf("%s has field ids %v, want %v", w.name, ids, exactIDs(w.schema))
			}
		}
		if rows != w.hash.Rows {
			t.Errorf("%s has %d rows, want %d", w.name, rows, w.hash.Rows)
		}
	}
}

// exactIDs are the field ids of a schema, depth first.
func exactIDs(s *arrow.Schema) (out []int) {
	var walk func(f arrow.Field)
	walk = func(f arrow.Field) {
		id, _ := engine.FieldID(f)
		out = append(out, id)
		switch t := f.Type.(type) {
		case *arrow.StructType:
			for _, c := range t.Fields() {
				walk(c)
			}
		case *arrow.MapType:
			walk(t.KeyField())
			walk(t.ItemField())
		case arrow.ListLikeType:
			walk(t.ElemField())
		}
	}
	for _, f := range s.Fields() {
		walk(f)
	}
	return out
}

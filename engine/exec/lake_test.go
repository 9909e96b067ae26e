package exec_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"google.golang.org/protobuf/proto"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/exec"
	"github.com/lakeward/lake/ident"
)

// A lake is a pool and the tables that its statements may read.
type lake struct {
	pool   *exec.Pool
	tables map[ident.Table]engine.Scan
	data   string // directory of the objects
}

// openLake opens a pool over an empty set of tables. small changes options.
func openLake(t testing.TB, small func(*exec.Options)) *lake {
	t.Helper()
	l := &lake{tables: map[ident.Table]engine.Scan{}, data: t.TempDir()}
	o := exec.Options{
		Dir: t.TempDir(), Slots: 2, Warm: 1, Threads: 2, MemoryBytes: 512 << 20,
		Logger: slog.New(slog.NewTextHandler(testWriter{t}, nil)),
		Place: func(_ context.Context, object, path string) error {
			return os.Link(filepath.Join(l.data, object), path)
		},
	}
	if small != nil {
		small(&o)
	}
	var err error
	if l.pool, err = exec.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", bytes.TrimSpace(p))
	return len(p), nil
}

// add makes a table of the columns with one file for each batch of rows.
// Batches have the stored types.
func (l *lake) add(t testing.TB, name string, columns []engine.Column, files ...arrow.RecordBatch) {
	t.Helper()
	table, err := ident.ParseTable(name)
	if err != nil {
		t.Fatal(err)
	}
	s := engine.Scan{Columns: columns}
	for _, b := range files {
		object := fmt.Sprintf("019afe5c-0000-7000-8000-%012d.parquet", len(l.tables)*100+len(s.Files))
		writeParquet(t, filepath.Join(l.data, object), b, max(1000, b.NumRows()/8))
		s.Files = append(s.Files, engine.DataFile{Object: object, File: engine.File{Name: object, Rows: b.NumRows()}})
	}
	l.tables[table] = s
}

func writeParquet(t testing.TB, path string, b arrow.RecordBatch, groupRows int64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := pqarrow.NewFileWriter(b.Schema(), f, parquet.NewWriterProperties(parquet.WithMaxRowGroupLength(groupRows)), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	for at := int64(0); at < b.NumRows(); at += groupRows {
		part := b.NewSlice(at, min(at+groupRows, b.NumRows()))
		err := w.Write(part)
		part.Release()
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// query binds the tables of a statement as a server would.
func (l *lake) query(ctx context.Context, sql string) (engine.Query, error) {
	names, err := l.pool.Tables(ctx, sql)
	if err != nil {
		return engine.Query{}, err
	}
	q := engine.Query{SQL: sql}
	for _, n := range names {
		s, ok := l.tables[n.Table]
		if v, asked := n.At.Version(); asked && ok && int(v) < len(s.Files) { // each file is a version
			s.Files = s.Files[:v]
		}
		if ok {
			q.Tables = append(q.Tables, engine.Binding{Table: n.Table, At: n.At, Scan: s})
		}
	}
	return q, nil
}

// rows starts a statement.
func (l *lake) rows(ctx context.Context, sql string) (engine.Rows, error) {
	q, err := l.query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return l.pool.Query(ctx, q)
}

// A result is all of a statement's rows.
type result struct {
	schema  *arrow.Schema
	batches []arrow.RecordBatch
	rows    int64
}

// run reads a statement to its end.
func (l *lake) run(ctx context.Context, sql string) (result, error) {
	r, err := l.rows(ctx, sql)
	if err != nil {
		return result{}, err
	}
	defer r.Close()
	return collect(ctx, r)
}

func collect(ctx context.Context, r engine.Rows) (result, error) {
	var res result
	rd, err := flight.NewRecordReader(messages{ctx, r})
	if err != nil {
		return res, err
	}
	defer rd.Release()
	res.schema = rd.Schema()
	for rd.Next() {
		b := rd.RecordBatch()
		b.Retain()
		res.batches = append(res.batches, b)
		res.rows += b.NumRows()
	}
	if err := rd.Err(); err != nil && err != io.EOF {
		return res, err
	}
	return res, nil
}

// messages lets Arrow's own Flight reader read rows.
type messages struct {
	ctx  context.Context
	rows engine.Rows
}

func (m messages) Recv() (*flight.FlightData, error) {
	msg, err := m.rows.Next(m.ctx)
	if err != nil {
		return nil, err
	}
	defer msg.Release()
	var d flight.FlightData
	if err := proto.Unmarshal(msg.Bytes, &d); err != nil {
		return nil, err
	}
	return &d, nil
}

// column returns one column of a result in one piece.
func (r result) column(t testing.TB, i int) arrow.Array {
	t.Helper()
	var parts []arrow.Array
	for _, b := range r.batches {
		parts = append(parts, b.Column(i))
	}
	if len(parts) == 0 {
		return array.MakeArrayOfNull(memory.DefaultAllocator, r.schema.Field(i).Type, 0)
	}
	a, err := array.Concatenate(parts, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// plain is a column stored as what it is.
func plain(name string, t arrow.DataType) engine.Column {
	return engine.Column{Source: name, Stored: t, Exact: arrow.Field{Name: name, Type: t, Nullable: true}}
}

// numbers is a batch of n rows: id 0 to n-1, and a text of it.
func numbers(n int) arrow.RecordBatch {
	ids := array.NewInt64Builder(memory.DefaultAllocator)
	texts := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range n {
		ids.Append(int64(i))
		texts.Append(fmt.Sprintf("row %d", i))
	}
	return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil), []arrow.Array{ids.NewArray(), texts.NewArray()}, int64(n))
}

var numberColumns = []engine.Column{plain("id", arrow.PrimitiveTypes.Int64), plain("name", arrow.BinaryTypes.String)}

package exec_test

import (
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeward/lake/engine"
)

func BenchmarkSmallQuery(b *testing.B) {
	l := openLake(b, nil)
	l.add(b, "numbers", numberColumns, numbers(1000))
	for b.Loop() {
		if _, err := l.run(b.Context(), "SELECT id, name FROM numbers WHERE id = 77"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTables(b *testing.B) {
	l := openLake(b, nil)
	for b.Loop() {
		if _, err := l.pool.Tables(b.Context(), "SELECT id, name FROM numbers WHERE id = 77"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDescribe(b *testing.B) {
	l := openLake(b, nil)
	l.add(b, "numbers", numberColumns, numbers(1000))
	q, err := l.query(b.Context(), "SELECT id, name FROM numbers WHERE id = 77")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := l.pool.Describe(b.Context(), q); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkQuery(b *testing.B) {
	l := openLake(b, nil)
	l.add(b, "numbers", numberColumns, numbers(1000))
	q, err := l.query(b.Context(), "SELECT id, name FROM numbers WHERE id = 77")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r, err := l.pool.Query(b.Context(), q)
		if err != nil {
			b.Fatal(err)
		}
		drain(b, r)
	}
}

// BenchmarkStream relays 5 million rows of five columns.
func BenchmarkStream(b *testing.B) {
	l := openLake(b, nil)
	const rows = 1_000_000
	names := []string{"a", "b", "c", "d"}
	var fields []arrow.Field
	var arrays []arrow.Array
	var columns []engine.Column
	for range names {
		ints := array.NewInt64Builder(memory.DefaultAllocator)
		for i := range rows {
			ints.Append(int64(i) * 7919)
		}
		arrays = append(arrays, ints.NewArray())
	}
	texts := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range rows {
		texts.Append([]string{"some text of a row", "another one, longer than that"}[i%2])
	}
	arrays, names = append(arrays, texts.NewArray()), append(names, "e")
	for i, n := range names {
		fields = append(fields, arrow.Field{Name: n, Type: arrays[i].DataType(), Nullable: true})
		columns = append(columns, plain(n, arrays[i].DataType()))
	}
	batch := array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, rows)
	l.add(b, "wide", columns, batch, batch, batch, batch, batch)
	var bytes int64
	for b.Loop() {
		r, err := l.rows(b.Context(), "FROM wide")
		if err != nil {
			b.Fatal(err)
		}
		bytes = drain(b, r)
	}
	b.SetBytes(bytes)
}

func drain(b *testing.B, r engine.Rows) (bytes int64) {
	defer r.Close()
	for {
		m, err := r.Next(b.Context())
		if err == io.EOF {
			return bytes
		}
		if err != nil {
			b.Fatal(err)
		}
		bytes += int64(len(m.Bytes))
		m.Release()
	}
}

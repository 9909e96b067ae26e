package delta_test

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/delta"
	"github.com/lakeward/lake/engine/enginetest"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/objects/mem"
)

// benchRows is eight columns as loads have them: keys, groups, measurements,
// names that repeat, texts that do not, and times.
func benchRows(b *testing.B, rows int) (*arrow.Schema, arrow.RecordBatch) {
	schema := enginetest.Schema(b,
		arrow.Field{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		arrow.Field{Name: "k", Type: arrow.PrimitiveTypes.Int64},
		arrow.Field{Name: "grp", Type: arrow.PrimitiveTypes.Int64},
		arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Float64},
		arrow.Field{Name: "y", Type: arrow.PrimitiveTypes.Float64},
		arrow.Field{Name: "name", Type: arrow.BinaryTypes.String},
		arrow.Field{Name: "note", Type: arrow.BinaryTypes.String},
		arrow.Field{Name: "ts", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}})
	r := rand.New(rand.NewPCG(1, 2))
	rb := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range rows {
		rb.Field(0).(*array.Int64Builder).Append(int64(i))
		rb.Field(1).(*array.Int64Builder).Append(int64(i) * 7919 % 1_000_003)
		rb.Field(2).(*array.Int64Builder).Append(int64(i) % 1000)
		rb.Field(3).(*array.Float64Builder).Append(r.Float64())
		rb.Field(4).(*array.Float64Builder).Append(r.Float64() * 1000)
		rb.Field(5).(*array.StringBuilder).Append(fmt.Sprintf("name_%d", i%5000))
		sum := md5.Sum(fmt.Append(nil, i))
		rb.Field(6).(*array.StringBuilder).Append(hex.EncodeToString(sum[:]))
		rb.Field(7).(*array.TimestampBuilder).Append(arrow.Timestamp(1_704_067_200_000_000 + int64(i)*1000))
	}
	return schema, rb.NewRecordBatch()
}

// BenchmarkStage encodes rows that are in memory.
func BenchmarkStage(b *testing.B) {
	const rows = 8 * 122_880
	schema, batch := benchRows(b, rows)
	table := delta.New(mem.New(), delta.Options{}).Table("t")
	var bytes int64
	for b.Loop() {
		m, err := table.Stage(b.Context(), schema, enginetest.Rows(batch))
		if err != nil {
			b.Fatal(err)
		}
		bytes = m.Bytes()
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(bytes)/rows, "bytes/row")
}

// BenchmarkLoadParquet reads a Parquet file of another writer, the one that
// LAKE_BENCH_PARQUET names, and stages its rows.
func BenchmarkLoadParquet(b *testing.B) {
	f, err := os.Open(os.Getenv("LAKE_BENCH_PARQUET"))
	if err != nil {
		b.Skip("LAKE_BENCH_PARQUET names no file: ", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	table := delta.New(openLocal(b, b.TempDir()), delta.Options{}).Table("t")
	var rows int64
	for b.Loop() {
		schema, batches, done, err := delta.ParquetRows(b.Context(), f, info.Size())
		if err != nil {
			b.Fatal(err)
		}
		if schema, _, err = engine.NewSchema(schema); err != nil {
			b.Fatal(err)
		}
		m, err := table.Stage(b.Context(), schema, batches)
		if err != nil {
			b.Fatal(err)
		}
		rows = m.Rows()
		if err := done(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkCommit appends to a table of many versions.
func BenchmarkCommit(b *testing.B) {
	schema := numbers(b)
	e := delta.New(mem.New(), delta.Options{})
	if _, err := e.Create(b.Context(), "t", schema, enginetest.NewOp(b)); err != nil {
		b.Fatal(err)
	}
	table := e.Table("t")
	v := ident.Version(0)
	for b.Loop() {
		m, err := table.Stage(b.Context(), schema, enginetest.Rows(enginetest.Batch(b, schema, `[{"n":1}]`)))
		if err != nil {
			b.Fatal(err)
		}
		if v, err = table.Commit(b.Context(), v, enginetest.NewOp(b), m); err != nil {
			b.Fatal(err)
		}
	}
}

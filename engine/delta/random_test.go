package delta_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/lakeward/lake/engine/delta"
	"github.com/lakeward/lake/engine/enginetest"
	"github.com/lakeward/lake/objects/mem"
)

// randomType returns a type that is kept, nested up to the depth.
func randomType(r *rand.Rand, depth int) arrow.DataType {
	field := func(name string) arrow.Field {
		return arrow.Field{Name: name, Type: randomType(r, depth-1), Nullable: r.IntN(3) > 0}
	}
	if depth > 0 {
		switch r.IntN(8) {
		case 0, 1:
			fields := make([]arrow.Field, 1+r.IntN(3))
			for i := range fields {
				fields[i] = field(fmt.Sprintf("f%d", i))
			}
			return arrow.StructOf(fields...)
		case 2:
			return arrow.ListOfField(field("item"))
		case 3:
			return arrow.LargeListOfField(field("element"))
		case 4:
			return arrow.FixedSizeListOfField(int32(1+r.IntN(3)), field("item"))
		case 5:
			key := field("key")
			key.Type, key.Nullable = arrow.PrimitiveTypes.Int32, false
			return arrow.MapOfFields(key, field("value"))
		}
	}
	leaves := []arrow.DataType{
		arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
		arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
		arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString,
		arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary, arrow.FixedWidthTypes.Date32,
		&arrow.Decimal128Type{Precision: 7, Scale: 2}, &arrow.Decimal128Type{Precision: 30, Scale: 5},
		&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String},
	}
	return leaves[r.IntN(len(leaves))]
}

// fill appends n random values, some of them null where that may be. Lists that
// are null keep elements below them, as Arrow allows.
func fill(r *rand.Rand, b array.Builder, nullable bool, n int) {
	for range n {
		if nullable && r.IntN(4) == 0 {
			if l, ok := b.(*array.ListBuilder); ok && r.IntN(2) == 0 {
				l.Append(false)
				fill(r, l.ValueBuilder(), l.Type().(*arrow.ListType).ElemField().Nullable, r.IntN(3))
				continue
			}
			b.AppendNull()
			continue
		}
		one(r, b)
	}
}

func one(r *rand.Rand, b array.Builder) {
	text := strings.Repeat(string(rune('a'+r.IntN(5))), r.IntN(4))
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(r.IntN(2) == 0)
	case *array.Int8Builder:
		b.Append(int8(r.Int()))
	case *array.Int16Builder:
		b.Append(int16(r.Int()))
	case *array.Int32Builder:
		b.Append(int32(r.Int()))
	case *array.Int64Builder:
		b.Append(int64(r.Uint64()))
	case *array.Uint8Builder:
		b.Append(uint8(r.Int()))
	case *array.Uint16Builder:
		b.Append(uint16(r.Int()))
	case *array.Uint32Builder:
		b.Append(uint32(r.Int()))
	case *array.Uint64Builder:
		b.Append(r.Uint64())
	case *array.Float32Builder:
		b.Append(float32(r.NormFloat64()))
	case *array.Float64Builder:
		b.Append([]float64{r.NormFloat64(), math.NaN(), math.Inf(1), 0, math.Copysign(0, -1)}[r.IntN(5)])
	case *array.StringBuilder:
		b.Append(text)
	case *array.LargeStringBuilder:
		b.Append(text)
	case *array.BinaryBuilder: // of both binary types
		b.Append([]byte(text))
	case *array.Date32Builder:
		b.Append(arrow.Date32(r.IntN(100_000) - 50_000))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(int64(r.IntN(19_999_999) - 9_999_999)))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(r.Int64N(1<<52) - 1<<51))
	case *array.BinaryDictionaryBuilder:
		if err := b.AppendString(text); err != nil {
			panic(err)
		}
	case *array.StructBuilder:
		b.Append(true)
		for i := range b.NumField() {
			fill(r, b.FieldBuilder(i), b.Type().(*arrow.StructType).Field(i).Nullable, 1)
		}
	case *array.ListBuilder:
		b.Append(true)
		fill(r, b.ValueBuilder(), b.Type().(*arrow.ListType).ElemField().Nullable, r.IntN(4))
	case *array.LargeListBuilder:
		b.Append(true)
		fill(r, b.ValueBuilder(), b.Type().(*arrow.LargeListType).ElemField().Nullable, r.IntN(4))
	case *array.FixedSizeListBuilder:
		t := b.Type().(*arrow.FixedSizeListType)
		b.Append(true)
		fill(r, b.ValueBuilder(), t.ElemField().Nullable, int(t.Len()))
	case *array.MapBuilder:
		b.Append(true)
		n := r.IntN(3)
		for i := range n {
			b.KeyBuilder().(*array.Int32Builder).Append(int32(i))
		}
		fill(r, b.ItemBuilder(), b.Type().(*arrow.MapType).ItemField().Nullable, n)
	default:
		panic(fmt.Sprintf("no random value of %T", b))
	}
}

// Random columns of random types, cut at random places, come back as they were:
// by our own reading of the files, and by pyarrow's and DuckDB's.
func TestRandomColumnsComeBack(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		fields := make([]arrow.Field, 1+r.IntN(3))
		for i := range fields {
			fields[i] = arrow.Field{Name: fmt.Sprintf("c%d", i), Type: randomType(r, 3), Nullable: r.IntN(3) > 0}
		}
		schema := enginetest.Schema(t, fields...)
		s := mem.New()
		e := delta.New(s, delta.Options{RowGroupRows: 40, FileBytes: 3000})
		batches, want := randomBatches(r, schema)
		m, err := e.Table("t").Stage(t.Context(), schema, enginetest.Rows(batches...))
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, schema, err)
		}
		if _, err := e.Create(t.Context(), "t", schema, enginetest.NewOp(t)); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Table("t").Commit(t.Context(), 0, enginetest.NewOp(t), m); err != nil {
			t.Fatal(err)
		}
		snap, err := e.Table("t").Snapshot(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		sc, err := snap.Scan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := make([][]string, len(fields))
		for b, err := range readScan(t.Context(), s, sc) {
			if err != nil {
				t.Fatalf("seed %d: %s: %v", seed, schema, err)
			}
			for i, c := range b.Columns() {
				got[i] = append(got[i], enginetest.Canonical(c)...)
			}
		}
		for i := range want {
			if diff := cmp.Diff(want[i], got[i]); diff != "" {
				t.Errorf("seed %d: column %s (-want +got):\n%s", seed, schema.Field(i), diff)
			}
		}
	}
}

func randomBatches(r *rand.Rand, schema *arrow.Schema) (batches []arrow.RecordBatch, want [][]string) {
	want = make([][]string, schema.NumFields())
	for range 1 + r.IntN(4) {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		n := r.IntN(100)
		for i, f := range schema.Fields() {
			fill(r, b.Field(i), f.Nullable, n)
		}
		batch := b.NewRecordBatch()
		from := r.Int64N(int64(n) + 1)
		batch = batch.NewSlice(from, from+r.Int64N(int64(n)-from+1))
		batches = append(batches, batch)
		for i, c := range batch.Columns() {
			want[i] = append(want[i], enginetest.Canonical(c)...)
		}
	}
	return batches, want
}

func TestOthersReadRandomColumns(t *testing.T) {
	interpreter, checkDelta := python(t)
	dir := t.TempDir()
	e := delta.New(openLocal(t, dir), delta.Options{RowGroupRows: 40})
	var tables []written
	args := []string{"testdata/read_files.py", checkDelta}
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 2))
		fields := make([]arrow.Field, 1+r.IntN(3))
		for i := range fields {
			fields[i] = arrow.Field{Name: fmt.Sprintf("c%d", i), Type: randomType(r, 3), Nullable: r.IntN(3) > 0}
		}
		schema := enginetest.Schema(t, fields...)
		batches, _ := randomBatches(r, schema)
		batches = slices.DeleteFunc(batches, func(b arrow.RecordBatch) bool { return b.NumRows() == 0 })
		if len(batches) == 0 {
			continue
		}
		w := writeTable(t, e, dir, fmt.Sprintf("t%d", seed), schema, batches[0])
		tables = append(tables, w)
		args = append(args, w.files...)
	}
	type file struct {
		PyArrow, DuckDB string
		Rows            int64
	}
	got := lines[file](t, interpreter, args...)
	if len(got) != len(tables) {
		t.Fatalf("%d files were read of %d", len(got), len(tables))
	}
	for i, w := range tables {
		want := file{w.hash.String(), w.hash.String(), w.hash.Rows}
		if diff := cmp.Diff(want, got[i]); diff != "" {
			t.Errorf("%s (-want +got): %s\n%s", filepath.Base(w.folder), w.schema, diff)
		}
	}
}

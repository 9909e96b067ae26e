package exec_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeward/lake/engine"
)

// exactColumns lists registered types with the types that engines store them
// as. The values of each are made by fill and stored by store.
var exactColumns = []struct {
	name   string
	exact  arrow.DataType
	stored arrow.DataType
}{
	{"bool", arrow.FixedWidthTypes.Boolean, arrow.FixedWidthTypes.Boolean},
	{"int8", arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int8},
	{"uint8", arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Int16},
	{"uint16", arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Int32},
	{"uint32", arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int64},
	{"uint64", arrow.PrimitiveTypes.Uint64, &arrow.Decimal128Type{Precision: 20}},
	{"float16", arrow.FixedWidthTypes.Float16, arrow.PrimitiveTypes.Float32},
	{"utf8", arrow.BinaryTypes.String, arrow.BinaryTypes.String},
	{"large_utf8", arrow.BinaryTypes.LargeString, arrow.BinaryTypes.String},
	{"large_binary", arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.Binary},
	{"utf8_view", arrow.BinaryTypes.StringView, arrow.BinaryTypes.String},
	{"fixed_size_binary", &arrow.FixedSizeBinaryType{ByteWidth: 5}, arrow.BinaryTypes.Binary},
	{"date32", arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date32},
	{"date64", arrow.FixedWidthTypes.Date64, arrow.FixedWidthTypes.Date32},
	{"decimal128", &arrow.Decimal128Type{Precision: 30, Scale: 4}, &arrow.Decimal128Type{Precision: 30, Scale: 4}},
	{"decimal256", &arrow.Decimal256Type{Precision: 30, Scale: 4}, &arrow.Decimal128Type{Precision: 30, Scale: 4}},
	{"timestamp_us", &arrow.TimestampType{Unit: arrow.Microsecond}, &arrow.TimestampType{Unit: arrow.Microsecond}},
	{"timestamp_us_utc", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}},
	{"timestamp_us_paris", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "Europe/Paris"}, &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}},
	{"timestamp_ms", &arrow.TimestampType{Unit: arrow.Millisecond}, &arrow.TimestampType{Unit: arrow.Microsecond}},
	{"timestamp_s_utc", &arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"}, &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}},
	{"timestamp_ns", &arrow.TimestampType{Unit: arrow.Nanosecond}, arrow.PrimitiveTypes.Int64},
	{"timestamp_ns_utc", &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}, arrow.PrimitiveTypes.Int64},
	{"time32_s", arrow.FixedWidthTypes.Time32s, arrow.PrimitiveTypes.Int64},
	{"time32_ms", arrow.FixedWidthTypes.Time32ms, arrow.PrimitiveTypes.Int64},
	{"time64_us", arrow.FixedWidthTypes.Time64us, arrow.PrimitiveTypes.Int64},
	{"time64_ns", arrow.FixedWidthTypes.Time64ns, arrow.PrimitiveTypes.Int64},
	{"duration_ns", arrow.FixedWidthTypes.Duration_ns, arrow.PrimitiveTypes.Int64},
	{"dictionary", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}, arrow.BinaryTypes.String},
	{"dictionary_int8", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, arrow.BinaryTypes.String},
	{"dictionary_large", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint16, ValueType: arrow.BinaryTypes.LargeString}, arrow.BinaryTypes.String},
	{"dictionary_int64", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.PrimitiveTypes.Int64}, arrow.PrimitiveTypes.Int64},
	{"list_item", arrow.ListOf(arrow.PrimitiveTypes.Int32), arrow.ListOf(arrow.PrimitiveTypes.Int32)},
	{"list_named", arrow.ListOfField(arrow.Field{Name: "joint", Type: arrow.PrimitiveTypes.Uint8, Nullable: true}), arrow.ListOf(arrow.PrimitiveTypes.Int16)},
	{"large_list", arrow.LargeListOf(arrow.BinaryTypes.LargeString), arrow.ListOf(arrow.BinaryTypes.String)},
	{"fixed_size_list", arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32), arrow.ListOf(arrow.PrimitiveTypes.Float32)},
	{"fixed_size_list_of_half", arrow.FixedSizeListOf(2, arrow.FixedWidthTypes.Float16), arrow.ListOf(arrow.PrimitiveTypes.Float32)},
	{"struct", arrow.StructOf(
		arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Uint16, Nullable: true},
		arrow.Field{Name: "b c", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}, Nullable: true},
	), arrow.StructOf(
		arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		arrow.Field{Name: "b c", Type: arrow.BinaryTypes.String, Nullable: true},
	)},
	{"list_of_struct", arrow.ListOf(arrow.StructOf(
		arrow.Field{Name: "at", Type: &arrow.TimestampType{Unit: arrow.Nanosecond}, Nullable: true},
		arrow.Field{Name: "v", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float64), Nullable: true},
	)), arrow.ListOf(arrow.StructOf(
		arrow.Field{Name: "at", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		arrow.Field{Name: "v", Type: arrow.ListOf(arrow.PrimitiveTypes.Float64), Nullable: true},
	))},
	{"map", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Uint32), arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64)},
}

// fill appends the value of a seed to builders of the exact and of the stored
// type, null for some seeds.
func fill(exact, stored array.Builder, seed int) {
	if seed%11 == 3 {
		exact.AppendNull()
		if l, ok := stored.(*array.ListBuilder); ok {
			l.AppendNull()
			return
		}
		stored.AppendNull()
		return
	}
	small := seed % 100
	text := fmt.Sprintf("t%d", small)
	switch b := stored.(type) {
	case *array.BooleanBuilder:
		b.Append(seed%2 == 0)
		exact.(*array.BooleanBuilder).Append(seed%2 == 0)
		return
	case *array.StringBuilder:
		b.Append(text)
	case *array.BinaryBuilder:
		b.Append([]byte(fmt.Sprintf("%05d", seed)))
	case *array.Int8Builder:
		b.Append(int8(small))
	case *array.Int16Builder:
		b.Append(int16(small + 150))
	case *array.Int32Builder:
		b.Append(int32(small + 50000))
	case *array.Int64Builder:
		b.Append(int64(small * 800))
	case *array.Float32Builder:
		b.Append(float32(small) / 4)
	case *array.Float64Builder:
		b.Append(float64(small) / 4)
	case *array.Date32Builder:
		b.Append(arrow.Date32(small))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(int64(small) * 10))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(int64(seed) * 1_000_000))
	}
	switch b := exact.(type) {
	case *array.StringBuilder:
		b.Append(text)
	case *array.LargeStringBuilder:
		b.Append(text)
	case *array.StringViewBuilder:
		b.Append(text)
	case *array.BinaryBuilder: // also large
		b.Append([]byte(fmt.Sprintf("%05d", seed)))
	case *array.FixedSizeBinaryBuilder:
		b.Append([]byte(fmt.Sprintf("%05d", seed)))
	case *array.BinaryDictionaryBuilder:
		_ = b.AppendString(text)
	case *array.Int64DictionaryBuilder:
		_ = b.Append(int64(small * 800))
	case *array.Int8Builder:
		b.Append(int8(small))
	case *array.Int32Builder:
		b.Append(int32(small + 50000))
	case *array.Int64Builder:
		b.Append(int64(small * 800))
	case *array.Uint8Builder:
		b.Append(uint8(small + 150))
	case *array.Uint16Builder:
		b.Append(uint16(small + 50000))
	case *array.Uint32Builder:
		b.Append(uint32(small * 800))
	case *array.Uint64Builder:
		b.Append(uint64(small * 10))
	case *array.Float16Builder:
		b.Append(float16.New(float32(small) / 4))
	case *array.Float32Builder:
		b.Append(float32(small) / 4)
	case *array.Float64Builder:
		b.Append(float64(small) / 4)
	case *array.Date32Builder:
		b.Append(arrow.Date32(small))
	case *array.Date64Builder:
		b.Append(arrow.Date64(int64(small) * 86_400_000))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(int64(small) * 10))
	case *array.Decimal256Builder:
		b.Append(decimal256.FromI64(int64(small) * 10))
	case *array.TimestampBuilder:
		switch t := b.Type().(*arrow.TimestampType); t.Unit {
		case arrow.Nanosecond:
			b.Append(arrow.Timestamp(small * 800))
		default:
			b.Append(arrow.Timestamp(int64(seed) * 1_000_000 / int64(t.Unit.Multiplier()/arrow.Microsecond.Multiplier())))
		}
	case *array.Time32Builder:
		b.Append(arrow.Time32(small * 800))
	case *array.Time64Builder:
		b.Append(arrow.Time64(small * 800))
	case *array.DurationBuilder:
		b.Append(arrow.Duration(small * 800))
	case *array.ListBuilder:
		fillList(b, b.ValueBuilder(), stored, seed, seed%4)
	case *array.LargeListBuilder:
		fillList(b, b.ValueBuilder(), stored, seed, seed%4)
	case *array.FixedSizeListBuilder:
		fillList(b, b.ValueBuilder(), stored, seed, int(b.Type().(*arrow.FixedSizeListType).Len()))
	case *array.StructBuilder:
		s := stored.(*array.StructBuilder)
		b.Append(true)
		s.Append(true)
		for i := range b.NumField() {
			fill(b.FieldBuilder(i), s.FieldBuilder(i), seed+i*7+1)
		}
	case *array.MapBuilder:
		s := stored.(*array.MapBuilder)
		b.Append(true)
		s.Append(true)
		for i := range seed % 3 {
			k := fmt.Sprintf("k%d", i)
			b.KeyBuilder().(*array.StringBuilder).Append(k)
			s.KeyBuilder().(*array.StringBuilder).Append(k)
			fill(b.ItemBuilder(), s.ItemBuilder(), seed+i)
		}
	}
}

func fillList(exact interface{ Append(bool) }, values array.Builder, stored array.Builder, seed, n int) {
	s := stored.(*array.ListBuilder)
	exact.Append(true)
	s.Append(true)
	for i := range n {
		fill(values, s.ValueBuilder(), seed+i+1)
	}
}

// made is one column of n values in both types.
func made(exact, stored arrow.DataType, n int, seed int) (e, s arrow.Array) {
	if d, ok := exact.(*arrow.DictionaryType); ok && d.ValueType.ID() == arrow.LARGE_STRING {
		exact = &arrow.DictionaryType{IndexType: d.IndexType, ValueType: arrow.BinaryTypes.String} // Arrow has no builder of the other
	}
	eb, sb := array.NewBuilder(memory.DefaultAllocator, exact), array.NewBuilder(memory.DefaultAllocator, stored)
	for i := range n {
		fill(eb, sb, seed+i)
	}
	return eb.NewArray(), sb.NewArray()
}

func TestBareColumnsHaveTheirRegisteredTypes(t *testing.T) {
	l := openLake(t, nil)
	const rows = 5000 // in row groups of 1000, with nulls
	var columns []engine.Column
	var storedFields []arrow.Field
	var exactArrays, storedArrays []arrow.Array
	for _, c := range exactColumns {
		e, s := made(c.exact, c.stored, rows, rand.IntN(50))
		exactArrays, storedArrays = append(exactArrays, e), append(storedArrays, s)
		storedFields = append(storedFields, arrow.Field{Name: c.name, Type: c.stored, Nullable: true})
		columns = append(columns, engine.Column{Source: c.name, Stored: c.stored, Exact: arrow.Field{
			Name: c.name, Type: c.exact,
			Metadata: arrow.MetadataFrom(map[string]string{"unit": "m", engine.FieldIDKey: "7"}),
		}})
	}
	l.add(t, "m", columns, array.NewRecordBatch(arrow.NewSchema(storedFields, nil), storedArrays, rows))

	for _, sql := range []string{
		"SELECT * FROM m",
		"SELECT m.* FROM main.m WHERE true",
		"WITH c AS (SELECT * FROM m) SELECT x.* FROM (SELECT * FROM c) AS x",
	} {
		q, err := l.query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		described, err := l.pool.Describe(t.Context(), q)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		res, err := l.run(t.Context(), sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if !described.Result.Equal(res.schema) {
			t.Errorf("%s: Describe says\n%s\nQuery gives\n%s", sql, described.Result, res.schema)
		}
		if len(res.batches) < 2 {
			t.Errorf("%s: %d batches, so that no later one was tried", sql, len(res.batches))
		}
		for i, c := range exactColumns {
			f := res.schema.Field(i)
			want := arrow.Field{Name: c.name, Type: c.exact, Nullable: true, Metadata: arrow.MetadataFrom(map[string]string{"unit": "m"})}
			if !f.Equal(want) {
				t.Errorf("%s: column %s is %v, want %v", sql, c.name, f, want)
				continue
			}
			at := 0
			for _, b := range res.batches {
				got := b.Column(i)
				for k := range got.Len() {
					if g, w := got.ValueStr(k), exactArrays[i].ValueStr(at); g != w {
						t.Fatalf("%s: column %s row %d is %s, want %s", sql, c.name, at, g, w)
					}
					at++
				}
			}
			if at != rows {
				t.Errorf("%s: column %s has %d rows", sql, c.name, at)
			}
		}
	}
}

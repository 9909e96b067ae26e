package enginetest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// A Sample is a type and values of it that are at its edges.
type Sample struct {
	Name     string
	Type     arrow.DataType
	Values   string // as JSON; empty for types that have no values here
	Metadata arrow.Metadata
}

// Field returns the sample as a column that may be null.
func (s Sample) Field() arrow.Field {
	return arrow.Field{Name: s.Name, Type: s.Type, Nullable: true, Metadata: s.Metadata}
}

// Batch returns the sample's values as rows of one column, with the field ids
// of schema, which has just this column.
func (s Sample) Batch(t testing.TB, schema *arrow.Schema) arrow.RecordBatch {
	t.Helper()
	arr := s.array(t, schema.Field(0).Type)
	return array.NewRecordBatch(schema, []arrow.Array{arr}, int64(arr.Len()))
}

func (s Sample) array(t testing.TB, typ arrow.DataType) arrow.Array {
	t.Helper()
	if d, ok := typ.(*arrow.DictionaryType); ok { // arrow-go builds few of them
		return dictionaryOf(t, d, s.array(t, d.ValueType))
	}
	arr, _, err := array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader(s.Values))
	if err != nil {
		t.Fatalf("values of %s: %v", s.Name, err)
	}
	return arr
}

// dictionaryOf makes a dictionary array of values. Every other null is one of
// the indices, the rest are values of the dictionary.
func dictionaryOf(t testing.TB, typ *arrow.DictionaryType, values arrow.Array) arrow.Array {
	t.Helper()
	var indices []string
	for i := range values.Len() {
		if values.IsNull(i) && i%2 == 0 {
			indices = append(indices, "null")
		} else {
			indices = append(indices, strconv.Itoa(i))
		}
	}
	index, _, err := array.FromJSON(memory.DefaultAllocator, typ.IndexType, strings.NewReader("["+strings.Join(indices, ",")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	return array.NewDictionaryArray(typ, index, values)
}

// Samples returns the types of Arrow, each of which an engine keeps or refuses.
func Samples() []Sample {
	list := arrow.ListOf(arrow.PrimitiveTypes.Int32)
	item := arrow.StructOf(
		arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Uint8, Nullable: true},
		arrow.Field{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
	)
	timestamp := func(u arrow.TimeUnit, zone string) arrow.DataType {
		return &arrow.TimestampType{Unit: u, TimeZone: zone}
	}
	dictionary := func(index, value arrow.DataType) arrow.DataType {
		return &arrow.DictionaryType{IndexType: index, ValueType: value}
	}
	return []Sample{
		{Name: "bool", Type: arrow.FixedWidthTypes.Boolean, Values: `[true,false,null,true]`},
		{Name: "int8", Type: arrow.PrimitiveTypes.Int8, Values: `[-128,127,0,null]`},
		{Name: "int16", Type: arrow.PrimitiveTypes.Int16, Values: `[-32768,32767,null]`},
		{Name: "int32", Type: arrow.PrimitiveTypes.Int32, Values: `[-2147483648,2147483647,null]`},
		{Name: "int64", Type: arrow.PrimitiveTypes.Int64, Values: `[-9223372036854775808,9223372036854775807,null]`},
		{Name: "uint8", Type: arrow.PrimitiveTypes.Uint8, Values: `[0,255,128,null]`},
		{Name: "uint16", Type: arrow.PrimitiveTypes.Uint16, Values: `[0,65535,32768,null]`},
		{Name: "uint32", Type: arrow.PrimitiveTypes.Uint32, Values: `[0,4294967295,2147483648,null]`},
		{Name: "uint64", Type: arrow.PrimitiveTypes.Uint64, Values: `[0,18446744073709551615,9223372036854775808,null]`},
		{Name: "float32", Type: arrow.PrimitiveTypes.Float32, Values: `[0.1,-3.4028235e38,1e-45,-0.0,null]`},
		{Name: "float64", Type: arrow.PrimitiveTypes.Float64, Values: `[0.1,-1.7976931348623157e308,5e-324,-0.0,1e16,123456.5,null]`},
		{Name: "utf8", Type: arrow.BinaryTypes.String, Values: `["","a","ä€😀","quote \" and \\ and \n",null,"~"]`},
		{Name: "large_utf8", Type: arrow.BinaryTypes.LargeString, Values: `["","a","ä€😀",null]`},
		{Name: "binary", Type: arrow.BinaryTypes.Binary, Values: `["","AAH/","YQ==",null]`},
		{Name: "large_binary", Type: arrow.BinaryTypes.LargeBinary, Values: `["","AAH/",null]`},
		{Name: "date32", Type: arrow.FixedWidthTypes.Date32, Values: `["1970-01-01","0001-01-01","9999-12-31","1969-12-31",null]`},
		{Name: "decimal9", Type: &arrow.Decimal128Type{Precision: 9, Scale: 2}, Values: `["0.00","-9999999.99","9999999.99","0.05",null]`},
		{Name: "decimal18", Type: &arrow.Decimal128Type{Precision: 18, Scale: 0}, Values: `["0","-999999999999999999","999999999999999999",null]`},
		{Name: "decimal38", Type: &arrow.Decimal128Type{Precision: 38, Scale: 10}, Values: `["0.0000000001","-9999999999999999999999999999.9999999999","1.0000000000",null]`},
		{Name: "timestamp_us_utc", Type: timestamp(arrow.Microsecond, "UTC"), Values: `["1970-01-01T00:00:00.000001Z","0001-01-01T00:00:00Z","9999-12-31T23:59:59.999999Z",null]`},
		{Name: "timestamp_us", Type: timestamp(arrow.Microsecond, ""), Values: `["1970-01-01 00:00:00.000001","1969-12-31 23:59:59.999999",null]`},
		{Name: "timestamp_ns", Type: timestamp(arrow.Nanosecond, ""), Values: `["1970-01-01 00:00:00.000000001","1969-12-31 23:59:59.999999999","2262-04-11 23:47:16.854775807",null]`},
		{Name: "timestamp_ns_zone", Type: timestamp(arrow.Nanosecond, "Europe/Berlin"), Values: `["2024-01-01T00:00:00.123456789Z",null]`},
		{Name: "list", Type: list, Values: `[[1,2,3],[],null,[null],[4,null]]`},
		{Name: "large_list", Type: arrow.LargeListOf(arrow.BinaryTypes.LargeString), Values: `[["a",null],[],null,["b"]]`},
		{Name: "list_of_list", Type: arrow.ListOf(list), Values: `[[[1],[],null,[2,3]],[],null,[null],[[null]]]`},
		{Name: "fixed_size_list", Type: arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32), Values: `[[1,2,3],null,[null,5,6],null,[7,8,9]]`},
		{Name: "fixed_size_list_not_null", Type: arrow.FixedSizeListOfField(2, arrow.Field{Name: "item", Type: arrow.PrimitiveTypes.Int64}), Values: `[[1,2],null,[3,4]]`},
		{Name: "struct", Type: item, Values: `[{"n":255,"tags":["a",null]},{"n":null,"tags":null},null,{"n":0,"tags":[]}]`},
		{Name: "list_of_struct", Type: arrow.ListOf(item), Values: `[[{"n":1,"tags":["a"]},null,{"n":null,"tags":[]}],[],null]`},
		{Name: "map", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64), Values: `[[{"key":"a","value":1},{"key":"b","value":null}],[],null]`},
		{Name: "map_of_struct", Type: arrow.MapOf(arrow.PrimitiveTypes.Int32, item), Values: `[[{"key":1,"value":{"n":1,"tags":["x"]}},{"key":2,"value":null}],null,[]]`},
		{Name: "deep", Type: arrow.StructOf(arrow.Field{Name: "a", Type: arrow.ListOf(arrow.StructOf(arrow.Field{Name: "b", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Uint16), Nullable: true})), Nullable: true}), Values: `[{"a":[{"b":[1,2]},{"b":null},null]},{"a":null},null,{"a":[]}]`},
		{Name: "dictionary_utf8", Type: dictionary(arrow.PrimitiveTypes.Int8, arrow.BinaryTypes.String), Values: `["a","b",null,"a",""]`},
		{Name: "dictionary_large_utf8", Type: dictionary(arrow.PrimitiveTypes.Uint32, arrow.BinaryTypes.LargeString), Values: `["a","b",null,"a"]`},
		{Name: "dictionary_int64", Type: dictionary(arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64), Values: `[10,20,null,10]`},
		{Name: "dictionary_uint64", Type: dictionary(arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Uint64), Values: `[18446744073709551615,0,null]`},
		{Name: "dictionary_float64", Type: dictionary(arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Float64), Values: `[0.5,null,0.5,-1]`},
		{Name: "dictionary_decimal", Type: dictionary(arrow.PrimitiveTypes.Int8, &arrow.Decimal128Type{Precision: 10, Scale: 2}), Values: `["1.50",null,"2.00"]`},
		{Name: "list_of_dictionary", Type: arrow.ListOf(dictionary(arrow.PrimitiveTypes.Int8, arrow.BinaryTypes.String)), Values: `[["a","b"],null,["a",null],[]]`},

		{Name: "timestamp_s", Type: timestamp(arrow.Second, "UTC"), Values: `["2024-01-01T00:00:00Z",null]`},
		{Name: "timestamp_ms", Type: timestamp(arrow.Millisecond, "UTC"), Values: `["2024-01-01T00:00:00Z",null]`},
		{Name: "timestamp_us_zone", Type: timestamp(arrow.Microsecond, "Europe/Berlin"), Values: `["2024-01-01T00:00:00Z",null]`},
		{Name: "list_of_timestamp_ns", Type: arrow.ListOf(timestamp(arrow.Nanosecond, "")), Values: `[["2024-01-01 00:00:00.000000001"],null]`},
		{Name: "dictionary_of_timestamp_ns", Type: dictionary(arrow.PrimitiveTypes.Int8, timestamp(arrow.Nanosecond, ""))},
		{Name: "dictionary_of_list", Type: dictionary(arrow.PrimitiveTypes.Int8, list)},
		{Name: "float16", Type: arrow.FixedWidthTypes.Float16},
		{Name: "time32", Type: arrow.FixedWidthTypes.Time32ms},
		{Name: "time64", Type: arrow.FixedWidthTypes.Time64us},
		{Name: "duration", Type: arrow.FixedWidthTypes.Duration_ns},
		{Name: "date64", Type: arrow.FixedWidthTypes.Date64},
		{Name: "fixed_size_binary", Type: &arrow.FixedSizeBinaryType{ByteWidth: 16}},
		{Name: "decimal32", Type: &arrow.Decimal32Type{Precision: 5, Scale: 2}},
		{Name: "decimal64", Type: &arrow.Decimal64Type{Precision: 15, Scale: 2}},
		{Name: "decimal256", Type: &arrow.Decimal256Type{Precision: 50, Scale: 2}},
		{Name: "decimal_negative_scale", Type: &arrow.Decimal128Type{Precision: 5, Scale: -2}},
		{Name: "utf8_view", Type: arrow.BinaryTypes.StringView},
		{Name: "binary_view", Type: arrow.BinaryTypes.BinaryView},
		{Name: "list_view", Type: arrow.ListViewOf(arrow.PrimitiveTypes.Int32)},
		{Name: "large_list_view", Type: arrow.LargeListViewOf(arrow.PrimitiveTypes.Int32)},
		{Name: "run_end_encoded", Type: arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String)},
		{Name: "uuid", Type: extensions.NewUUIDType()},
		{Name: "extension_unknown", Type: arrow.BinaryTypes.Binary, Metadata: arrow.NewMetadata([]string{"ARROW:extension:name"}, []string{"geoarrow.wkb"})},
		{Name: "month_interval", Type: arrow.FixedWidthTypes.MonthInterval},
		{Name: "day_time_interval", Type: arrow.FixedWidthTypes.DayTimeInterval},
		{Name: "month_day_nano_interval", Type: arrow.FixedWidthTypes.MonthDayNanoInterval},
		{Name: "dense_union", Type: arrow.DenseUnionOf([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int32}}, []arrow.UnionTypeCode{0})},
		{Name: "sparse_union", Type: arrow.SparseUnionOf([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int32}}, []arrow.UnionTypeCode{0})},
		{Name: "null", Type: arrow.Null},
		{Name: "struct_without_fields", Type: arrow.StructOf()},
		{Name: "struct_of_float16", Type: arrow.StructOf(arrow.Field{Name: "half", Type: arrow.FixedWidthTypes.Float16, Nullable: true})},
	}
}

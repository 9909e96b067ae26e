package sdk_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/sdk"
)

func field(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

func TestParseSchema(t *testing.T) {
	us := &arrow.TimestampType{Unit: arrow.Microsecond}
	utc := &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	for text, want := range map[string][]arrow.Field{
		"id BIGINT": {field("id", arrow.PrimitiveTypes.Int64)},
		"id bigint not null, name VARCHAR": {
			{Name: "id", Type: arrow.PrimitiveTypes.Int64},
			field("name", arrow.BinaryTypes.String),
		},
		` "a ""b"", c" INTEGER , größe DOUBLE`:                    {field(`a "b", c`, arrow.PrimitiveTypes.Int32), field("größe", arrow.PrimitiveTypes.Float64)},
		"a UTINYINT, b USMALLINT, c UINTEGER, d UBIGINT":          {field("a", arrow.PrimitiveTypes.Uint8), field("b", arrow.PrimitiveTypes.Uint16), field("c", arrow.PrimitiveTypes.Uint32), field("d", arrow.PrimitiveTypes.Uint64)},
		"pose FLOAT[7], tags VARCHAR[], grid INT[3][]":            {field("pose", arrow.FixedSizeListOf(7, arrow.PrimitiveTypes.Float32)), field("tags", arrow.ListOf(arrow.BinaryTypes.String)), field("grid", arrow.ListOf(arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Int32)))},
		"t TIMESTAMP, z TIMESTAMP WITH TIME ZONE, n TIMESTAMP_NS": {field("t", us), field("z", utc), field("n", &arrow.TimestampType{Unit: arrow.Nanosecond})},
		"d DECIMAL(10,2), e NUMERIC(5), f DECIMAL":                {field("d", &arrow.Decimal128Type{Precision: 10, Scale: 2}), field("e", &arrow.Decimal128Type{Precision: 5}), field("f", &arrow.Decimal128Type{Precision: 18, Scale: 3})},
		"s STRUCT(x DOUBLE, y STRUCT(z INT)[])":                   {field("s", arrow.StructOf(field("x", arrow.PrimitiveTypes.Float64), field("y", arrow.ListOf(arrow.StructOf(field("z", arrow.PrimitiveTypes.Int32))))))},
		"m MAP(VARCHAR, BIGINT[])":                                {field("m", arrow.MapOf(arrow.BinaryTypes.String, arrow.ListOf(arrow.PrimitiveTypes.Int64)))},
	} {
		got, err := sdk.ParseSchema(text)
		if want := arrow.NewSchema(want, nil); err != nil || !got.Equal(want) {
			t.Errorf("%s:\n%v (%v)\nwant\n%v", text, got, err, want)
		}
	}
}

func TestParseSchemaSaysWhereItStops(t *testing.T) {
	for text, says := range map[string]string{
		"":                          "a column's name",
		"id":                        "a type",
		"id NUMBER":                 `"NUMBER" where a type`,
		"id BIGINT name VARCHAR":    `"name" where a comma`,
		"id BIGINT,":                "a column's name",
		"id BIGINT NOT":             "NULL",
		`"id BIGINT`:                "a closing quote",
		"p FLOAT[":                  "a length or ]",
		"p FLOAT[0]":                "a length or ]",
		"s STRUCT(x)":               "a type",
		"s STRUCT(x INT":            `the end where )`,
		"m MAP(INT)":                `")" where ,`,
		"d DECIMAL(39)":             "DECIMAL(39,0)",
		"d DECIMAL(5,6)":            "DECIMAL(5,6)",
		"t TIMESTAMP WITH LOCAL":    "TIME",
		"id BIGINT; DROP TABLE x":   `";"`,
		strings.Repeat("x", 65<<10): "over the bound",
		"a " + strings.Repeat("STRUCT(b ", 40) + "INT" + strings.Repeat(")", 40): "nested more than",
	} {
		_, err := sdk.ParseSchema(text)
		if k := fault.KindOf(err); k != fault.Invalid && k != fault.Exhausted || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60s: %v, want it to say %q", text, err, says)
		}
	}
}

func FuzzParseSchema(f *testing.F) {
	f.Add(`a STRUCT("x ""y" INT[3], m MAP(VARCHAR, DECIMAL(3,1))) NOT NULL`)
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := sdk.ParseSchema(text); err == nil && s.NumFields() == 0 {
			t.Errorf("%q is a schema without columns", text)
		}
	})
}

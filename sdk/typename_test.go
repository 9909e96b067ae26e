package sdk_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeward/lake/sdk"
)

// A schema that is parsed is named as it was written.
func TestTypeNameIsWhatParseSchemaReads(t *testing.T) {
	for _, want := range []string{
		"BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
		"FLOAT", "DOUBLE", "VARCHAR", "BLOB", "DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_NS", "DECIMAL(18,3)",
		"DOUBLE[7]", "VARCHAR[]", "FLOAT[2][]", "MAP(VARCHAR, BIGINT[])", `STRUCT(a BIGINT, "B c" STRUCT(d DATE)[])`,
	} {
		schema, err := sdk.ParseSchema("c " + want)
		if err != nil {
			t.Fatal(err)
		}
		if got := sdk.TypeName(schema.Field(0).Type); got != want {
			t.Errorf("%s is named %s", want, got)
		}
	}
	for want, typ := range map[string]arrow.DataType{
		"VARCHAR":   &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.LargeString},
		"BLOB":      &arrow.FixedSizeBinaryType{ByteWidth: 4},
		"BIGINT[]":  arrow.LargeListOf(arrow.PrimitiveTypes.Int64),
		"float16":   arrow.FixedWidthTypes.Float16,
		"TIMESTAMP": &arrow.TimestampType{Unit: arrow.Second},
	} {
		if got := sdk.TypeName(typ); got != want {
			t.Errorf("%s is named %s, want %s", typ, got, want)
		}
	}
}

package sdk

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// TypeName is the name that SQL has for a column's type, as ParseSchema reads
// it. Types that SQL does not tell apart have one name: a large string is a
// VARCHAR too. One without a name in SQL has Arrow's.
func TypeName(t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return TypeName(t.ValueType)
	case *arrow.FixedSizeListType:
		return fmt.Sprintf("%s[%d]", TypeName(t.Elem()), t.Len())
	case *arrow.MapType:
		return "MAP(" + TypeName(t.KeyType()) + ", " + TypeName(t.ItemType()) + ")"
	case arrow.ListLikeType:
		return TypeName(t.Elem()) + "[]"
	case *arrow.StructType:
		fields := make([]string, t.NumFields())
		for i, f := range t.Fields() {
			fields[i] = QuoteName(f.Name) + " " + TypeName(f.Type)
		}
		return "STRUCT(" + strings.Join(fields, ", ") + ")"
	case arrow.DecimalType:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.GetPrecision(), t.GetScale())
	case *arrow.TimestampType:
		switch {
		case t.TimeZone != "":
			return "TIMESTAMPTZ"
		case t.Unit == arrow.Nanosecond:
			return "TIMESTAMP_NS"
		}
		return "TIMESTAMP"
	}
	if name, ok := typeNames[t.ID()]; ok {
		return name
	}
	return t.String()
}

var typeNames = map[arrow.Type]string{
	arrow.BOOL: "BOOLEAN",
	arrow.INT8: "TINYINT", arrow.INT16: "SMALLINT", arrow.INT32: "INTEGER", arrow.INT64: "BIGINT",
	arrow.UINT8: "UTINYINT", arrow.UINT16: "USMALLINT", arrow.UINT32: "UINTEGER", arrow.UINT64: "UBIGINT",
	arrow.FLOAT32: "FLOAT", arrow.FLOAT64: "DOUBLE",
	arrow.STRING: "VARCHAR", arrow.LARGE_STRING: "VARCHAR", arrow.STRING_VIEW: "VARCHAR",
	arrow.BINARY: "BLOB", arrow.LARGE_BINARY: "BLOB", arrow.BINARY_VIEW: "BLOB", arrow.FIXED_SIZE_BINARY: "BLOB",
	arrow.DATE32: "DATE", arrow.DATE64: "DATE",
}

// QuoteName is a name as SQL text has it: in double quotes, unless it is a
// plain word of lower case.
func QuoteName(name string) string {
	plain := name != "" && (name[0] < '0' || name[0] > '9')
	for _, c := range []byte(name) {
		plain = plain && (c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9')
	}
	if plain {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

package sqlapi

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
)

// A sqlType is a type of columns as XDBC describes it.
type sqlType struct {
	name     string
	code     int32 // java.sql.Types and SQL's own data_type
	size     int32 // digits, characters or bytes; 0 is no fixed one
	quote    string
	unsigned bool
	number   bool
	scaleMax int32
}

// The codes of java.sql.Types.
const (
	codeTinyint   = -6
	codeBigint    = -5
	codeVarbinary = -3
	codeDecimal   = 3
	codeInteger   = 4
	codeSmallint  = 5
	codeFloat     = 6
	codeDouble    = 8
	codeVarchar   = 12
	codeBoolean   = 16
	codeDate      = 91
	codeTime      = 92
	codeTimestamp = 93
	codeOther     = 1111
	codeStruct    = 2002
	codeArray     = 2003
	codeWithZone  = 2014
)

// sqlTypes are the types that a table's column can have, by DuckDB's names,
// in order of code as XDBC asks.
var sqlTypes = []sqlType{
	{name: "TINYINT", code: codeTinyint, size: 3, number: true},
	{name: "BIGINT", code: codeBigint, size: 19, number: true},
	{name: "UBIGINT", code: codeBigint, size: 20, number: true, unsigned: true},
	{name: "BLOB", code: codeVarbinary, quote: "'"},
	{name: "DECIMAL", code: codeDecimal, size: 38, number: true, scaleMax: 38},
	{name: "INTEGER", code: codeInteger, size: 10, number: true},
	{name: "UINTEGER", code: codeInteger, size: 10, number: true, unsigned: true},
	{name: "SMALLINT", code: codeSmallint, size: 5, number: true},
	{name: "USMALLINT", code: codeSmallint, size: 5, number: true, unsigned: true},
	{name: "UTINYINT", code: codeSmallint, size: 3, number: true, unsigned: true},
	{name: "FLOAT", code: codeFloat, size: 7, number: true},
	{name: "DOUBLE", code: codeDouble, size: 15, number: true},
	{name: "VARCHAR", code: codeVarchar, quote: "'"},
	{name: "BOOLEAN", code: codeBoolean, size: 1},
	{name: "DATE", code: codeDate, size: 10, quote: "'"},
	{name: "TIME", code: codeTime, size: 15, quote: "'"},
	{name: "TIMESTAMP", code: codeTimestamp, size: 26, quote: "'"},
	{name: "TIMESTAMP_NS", code: codeTimestamp, size: 29, quote: "'"},
	{name: "STRUCT", code: codeStruct},
	{name: "LIST", code: codeArray},
	{name: "TIMESTAMP WITH TIME ZONE", code: codeWithZone, size: 32, quote: "'"},
	{name: "MAP", code: codeOther},
}

// describeType adds what XDBC knows of a type to a column's metadata.
func describeType(m *flightsql.ColumnMetadataBuilder, t arrow.DataType) {
	name := typeName(t)
	m.TypeName(name)
	if d, ok := t.(arrow.DecimalType); ok {
		m.Precision(d.GetPrecision()).Scale(d.GetScale())
		return
	}
	for _, s := range sqlTypes {
		if s.name == name && s.size > 0 {
			m.Precision(s.size).Scale(0)
		}
	}
}

var typeNames = map[arrow.Type]string{
	arrow.BOOL: "BOOLEAN", arrow.INT8: "TINYINT", arrow.INT16: "SMALLINT", arrow.INT32: "INTEGER", arrow.INT64: "BIGINT",
	arrow.UINT8: "UTINYINT", arrow.UINT16: "USMALLINT", arrow.UINT32: "UINTEGER", arrow.UINT64: "UBIGINT",
	arrow.FLOAT16: "FLOAT", arrow.FLOAT32: "FLOAT", arrow.FLOAT64: "DOUBLE",
	arrow.STRING: "VARCHAR", arrow.LARGE_STRING: "VARCHAR", arrow.STRING_VIEW: "VARCHAR",
	arrow.BINARY: "BLOB", arrow.LARGE_BINARY: "BLOB", arrow.BINARY_VIEW: "BLOB", arrow.FIXED_SIZE_BINARY: "BLOB",
	arrow.DATE32: "DATE", arrow.DATE64: "DATE", arrow.TIME32: "TIME", arrow.TIME64: "TIME",
	arrow.DECIMAL32: "DECIMAL", arrow.DECIMAL64: "DECIMAL", arrow.DECIMAL128: "DECIMAL", arrow.DECIMAL256: "DECIMAL",
	arrow.LIST: "LIST", arrow.LARGE_LIST: "LIST", arrow.FIXED_SIZE_LIST: "LIST", arrow.LIST_VIEW: "LIST",
	arrow.STRUCT: "STRUCT", arrow.MAP: "MAP",
}

func typeName(t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.TimestampType:
		switch {
		case t.TimeZone != "":
			return "TIMESTAMP WITH TIME ZONE"
		case t.Unit == arrow.Nanosecond:
			return "TIMESTAMP_NS"
		}
		return "TIMESTAMP"
	case *arrow.DictionaryType:
		return typeName(t.ValueType)
	case arrow.ExtensionType:
		return typeName(t.StorageType())
	}
	if n, ok := typeNames[t.ID()]; ok {
		return n
	}
	return "OTHER"
}

func (d *discovery) GetFlightInfoXdbcTypeInfo(_ context.Context, _ flightsql.GetXdbcTypeInfo, desc *arrowflight.FlightDescriptor) (*arrowflight.FlightInfo, error) {
	return about(desc, schema_ref.XdbcTypeInfo)
}

// What XDBC calls a type that can be null and that any comparison takes.
const (
	xdbcNullable   = 1
	xdbcSearchable = 3
)

func (d *discovery) DoGetXdbcTypeInfo(ctx context.Context, cmd flightsql.GetXdbcTypeInfo) (*arrow.Schema, <-chan arrowflight.StreamChunk, error) {
	types := sqlTypes
	if code := cmd.GetDataType(); code != nil {
		types = nil
		for _, t := range sqlTypes {
			if t.code == *code {
				types = append(types, t)
			}
		}
	}
	return answer(ctx, schema_ref.XdbcTypeInfo, len(types), func(b *array.RecordBuilder, i int) {
		t := types[i]
		number := func(column int, v int32, ok bool) {
			if f := b.Field(column).(*array.Int32Builder); ok {
				f.Append(v)
			} else {
				f.AppendNull()
			}
		}
		flag := func(column int, v bool) { b.Field(column).(*array.BooleanBuilder).Append(v) }
		text(b, 0, t.name)
		number(1, t.code, true)
		number(2, t.size, t.size > 0)
		for _, column := range []int{3, 4} {
			if t.quote == "" {
				b.Field(column).AppendNull()
			} else {
				text(b, column, t.quote)
			}
		}
		params := b.Field(5).(*array.ListBuilder)
		if t.name == "DECIMAL" {
			params.Append(true)
			params.ValueBuilder().(*array.StringBuilder).AppendValues([]string{"precision", "scale"}, nil)
		} else {
			params.AppendNull()
		}
		number(6, xdbcNullable, true)
		flag(7, t.name == "VARCHAR")
		number(8, xdbcSearchable, true)
		if t.number {
			flag(9, t.unsigned)
		} else {
			b.Field(9).AppendNull()
		}
		flag(10, false)
		flag(11, false)
		text(b, 12, t.name)
		number(13, 0, t.number)
		number(14, t.scaleMax, t.number)
		number(15, t.code, true)
		number(16, 0, false)
		number(17, 10, t.number)
		number(18, 0, false)
	})
}

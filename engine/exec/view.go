package exec

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
)

// A form is how the engine sees a column of a table.
type form struct {
	read  string         // SQL type that the Parquet reader is asked for
	as    string         // SQL expression of the column, %s for its quoted name
	arrow arrow.DataType // what the engine hands over for it
}

// engineZone is what the engine may call UTC.
const engineZone = "Etc/UTC"

// formOf chooses the engine's type for a column: the exact one where the
// engine has it, so that comparisons mean what they should and files are
// pruned, else the stored one.
func formOf(c engine.Column) (form, error) {
	exact, stored := storage(c.Exact.Type), storage(c.Stored)
	if stored.ID() == arrow.INT64 {
		if f, ok := formOfTicks(exact); ok {
			return f, nil
		}
	}
	sql, t, ok := sqlType(exact, stored)
	if !ok {
		return form{}, fault.Newf(fault.Unsupported, "column %q has the type %s, stored as %s, which queries cannot read yet; leave the table's column out, or store it as another type", c.Exact.Name, c.Exact.Type, c.Stored)
	}
	return form{read: sql, as: "%s", arrow: t}, nil
}

// formOfTicks is the form of times that are stored as counts of their unit.
// What the engine cannot hold stays a count.
func formOfTicks(exact arrow.DataType) (form, bool) {
	switch t := exact.(type) {
	case *arrow.TimestampType:
		if t.Unit == arrow.Nanosecond {
			return form{"BIGINT", "make_timestamp_ns(%s)", &arrow.TimestampType{Unit: arrow.Nanosecond}}, true
		}
	case *arrow.Time32Type:
		perUnit := "1000000"
		if t.Unit == arrow.Millisecond {
			perUnit = "1000"
		}
		return form{"BIGINT", "CAST(make_timestamp(%s * " + perUnit + ") AS TIME)", arrow.FixedWidthTypes.Time64us}, true
	case *arrow.Time64Type:
		if t.Unit == arrow.Microsecond {
			return form{"BIGINT", "CAST(make_timestamp(%s) AS TIME)", arrow.FixedWidthTypes.Time64us}, true
		}
		return form{"BIGINT", "CAST(make_timestamp_ns(%s) AS TIME_NS)", arrow.FixedWidthTypes.Time64ns}, true
	}
	return form{}, false
}

// storage is the type under an extension type.
func storage(t arrow.DataType) arrow.DataType {
	if e, ok := t.(arrow.ExtensionType); ok {
		return e.StorageType()
	}
	return t
}

var plainTypes = map[arrow.Type]string{
	arrow.BOOL: "BOOLEAN", arrow.INT8: "TINYINT", arrow.INT16: "SMALLINT", arrow.INT32: "INTEGER", arrow.INT64: "BIGINT",
	arrow.UINT8: "UTINYINT", arrow.UINT16: "USMALLINT", arrow.UINT32: "UINTEGER", arrow.UINT64: "UBIGINT",
	arrow.FLOAT32: "FLOAT", arrow.FLOAT64: "DOUBLE", arrow.STRING: "VARCHAR", arrow.BINARY: "BLOB", arrow.DATE32: "DATE",
}

// sqlType returns the engine's type for values of an exact type, found in
// files as stored, and the Arrow type that it comes back as.
func sqlType(exact, stored arrow.DataType) (string, arrow.DataType, bool) {
	exact, stored = storage(exact), storage(stored)
	if name, ok := plainTypes[exact.ID()]; ok {
		return name, exact, true
	}
	switch t := exact.(type) {
	case *arrow.LargeStringType, *arrow.StringViewType:
		return "VARCHAR", arrow.BinaryTypes.String, true
	case *arrow.LargeBinaryType, *arrow.BinaryViewType, *arrow.FixedSizeBinaryType:
		return "BLOB", arrow.BinaryTypes.Binary, true
	case *arrow.Float16Type:
		return "FLOAT", arrow.PrimitiveTypes.Float32, true
	case *arrow.Date64Type:
		return "DATE", arrow.FixedWidthTypes.Date32, true
	case *arrow.DictionaryType:
		return sqlType(t.ValueType, stored)
	case *arrow.RunEndEncodedType:
		return sqlType(t.Encoded(), stored)
	case arrow.DecimalType:
		if t.GetPrecision() > 38 {
			return "", nil, false
		}
		return fmt.Sprintf("DECIMAL(%d,%d)", t.GetPrecision(), t.GetScale()),
			&arrow.Decimal128Type{Precision: t.GetPrecision(), Scale: t.GetScale()}, true
	case *arrow.TimestampType:
		return timestampType(t, stored)
	case *arrow.Time32Type, *arrow.Time64Type, *arrow.DurationType:
		if stored.ID() == arrow.INT64 {
			return "BIGINT", arrow.PrimitiveTypes.Int64, true
		}
		return "TIME", arrow.FixedWidthTypes.Time64us, exact.ID() != arrow.DURATION
	}
	return nestedType(exact, stored)
}

func timestampType(t *arrow.TimestampType, stored arrow.DataType) (string, arrow.DataType, bool) {
	switch {
	case stored.ID() == arrow.INT64: // below the top level, where no expression can turn it
		return "BIGINT", arrow.PrimitiveTypes.Int64, true
	case t.TimeZone != "":
		return "TIMESTAMP WITH TIME ZONE", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, t.Unit != arrow.Nanosecond
	}
	names := [...]string{arrow.Second: "TIMESTAMP_S", arrow.Millisecond: "TIMESTAMP_MS", arrow.Microsecond: "TIMESTAMP", arrow.Nanosecond: "TIMESTAMP_NS"}
	return names[t.Unit], t, true
}

func nestedType(exact, stored arrow.DataType) (string, arrow.DataType, bool) {
	switch t := exact.(type) {
	case *arrow.FixedSizeListType:
		sql, elem, ok := sqlType(t.Elem(), elemOf(stored))
		return fmt.Sprintf("%s[%d]", sql, t.Len()), arrow.FixedSizeListOf(t.Len(), orNull(elem)), ok
	case *arrow.MapType:
		m, isMap := stored.(*arrow.MapType)
		if !isMap {
			return "", nil, false
		}
		key, k, ok1 := sqlType(t.KeyType(), m.KeyType())
		item, v, ok2 := sqlType(t.ItemType(), m.ItemType())
		return "MAP(" + key + ", " + item + ")", arrow.MapOf(orNull(k), orNull(v)), ok1 && ok2
	case arrow.ListLikeType: // lists of any length, and views of them
		sql, elem, ok := sqlType(t.Elem(), elemOf(stored))
		return sql + "[]", arrow.ListOf(orNull(elem)), ok
	case *arrow.StructType:
		s, ok := stored.(*arrow.StructType)
		if !ok || s.NumFields() != t.NumFields() {
			return "", nil, false
		}
		columns, fields := make([]string, t.NumFields()), make([]arrow.Field, t.NumFields())
		for i, f := range t.Fields() {
			sql, child, ok := sqlType(f.Type, s.Field(i).Type)
			if !ok {
				return "", nil, false
			}
			columns[i] = quoteName(f.Name) + " " + sql
			fields[i] = arrow.Field{Name: f.Name, Type: child, Nullable: true}
		}
		return "STRUCT(" + strings.Join(columns, ", ") + ")", arrow.StructOf(fields...), true
	}
	return "", nil, false
}

func elemOf(t arrow.DataType) arrow.DataType {
	if l, ok := t.(arrow.ListLikeType); ok {
		return l.Elem()
	}
	return arrow.Null
}

// orNull keeps type constructors from panicking; the type is not used.
func orNull(t arrow.DataType) arrow.DataType {
	if t == nil {
		return arrow.Null
	}
	return t
}

// viewSQL is the query that a table stands for: its files, or no rows.
func viewSQL(columns []engine.Column, paths []string) (string, error) {
	var selected, schema, empty []string
	for _, c := range columns {
		f, err := formOf(c)
		if err != nil {
			return "", err
		}
		name := quoteName(c.Exact.Name)
		selected = append(selected, fmt.Sprintf(f.as, quoteName(c.Source))+" AS "+name)
		schema = append(schema, fmt.Sprintf("%s: {'name': %s, 'type': %s, 'default_value': NULL}", quoteText(c.Source), quoteText(c.Source), quoteText(f.read)))
		empty = append(empty, fmt.Sprintf(f.as, "CAST(NULL AS "+f.read+")")+" AS "+name)
	}
	if len(paths) == 0 {
		return "SELECT " + strings.Join(empty, ", ") + " WHERE false", nil
	}
	files := make([]string, len(paths))
	for i, p := range paths {
		files[i] = quoteText(p)
	}
	return "SELECT " + strings.Join(selected, ", ") +
		" FROM read_parquet([" + strings.Join(files, ", ") + "], schema := MAP{" + strings.Join(schema, ", ") + "})", nil
}

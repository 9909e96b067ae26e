package delta

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
)

// extensionKey is the field metadata by which Arrow marks an extension type
// that this process has no code for.
const extensionKey = "ARROW:extension:name"

// nestingMax bounds the depth of a column's type.
const nestingMax = 32

// Names that Parquet gives to what has no name in Arrow.
const (
	elementName = "element"
	keyName     = "key"
	valueName   = "value"
)

// utc is the only zone that Delta's timestamp has.
const utc = "UTC"

// storedField returns the field that data files hold for an exact one: the
// nearest type that Delta has, with field ids and no other metadata. What
// cannot be kept exactly is refused by its path.
func storedField(f arrow.Field) (arrow.Field, error) { return stored(f, f.Name, 0) }

func stored(f arrow.Field, path string, depth int) (arrow.Field, error) {
	out := arrow.Field{Name: f.Name, Nullable: f.Nullable}
	if id, ok := f.Metadata.GetValue(engine.FieldIDKey); ok {
		out.Metadata = arrow.NewMetadata([]string{engine.FieldIDKey}, []string{id})
	}
	if depth > nestingMax {
		return out, refuse(path, "is nested more than %d deep; flatten it", nestingMax)
	}
	if name, ok := f.Metadata.GetValue(extensionKey); ok {
		return out, refuseExtension(path, name)
	}
	var err error
	switch t := f.Type.(type) {
	case arrow.ExtensionType:
		err = refuseExtension(path, t.ExtensionName())
	case *arrow.StructType:
		out.Type, err = storedStruct(t, path, depth)
	case *arrow.MapType:
		out.Type, err = storedMap(t, path, depth)
	case *arrow.ListType, *arrow.LargeListType, *arrow.FixedSizeListType:
		elem := t.(arrow.ListLikeType).ElemField()
		elem.Name = elementName
		if elem, err = stored(elem, path+"."+elementName, depth+1); err == nil {
			out.Type = arrow.ListOfField(elem)
		}
	case *arrow.DictionaryType:
		out.Type, err = storedDictionary(t, path)
	default:
		out.Type, err = storedPlain(t, path, depth)
	}
	return out, err
}

func storedStruct(t *arrow.StructType, path string, depth int) (arrow.DataType, error) {
	if t.NumFields() == 0 {
		return nil, refuse(path, "is a struct without fields, which Parquet cannot hold; give it one or leave the column out")
	}
	seen := map[string]bool{}
	fields := make([]arrow.Field, t.NumFields())
	for i, f := range t.Fields() {
		if folded := strings.ToLower(f.Name); f.Name == "" || seen[folded] {
			return nil, refuse(path, "has two fields of the name %q, or one without a name; rename them", f.Name)
		} else {
			seen[folded] = true
		}
		var err error
		if fields[i], err = stored(f, path+"."+f.Name, depth+1); err != nil {
			return nil, err
		}
	}
	return arrow.StructOf(fields...), nil
}

func storedMap(t *arrow.MapType, path string, depth int) (arrow.DataType, error) {
	key, item := t.KeyField(), t.ItemField()
	key.Name, key.Nullable, item.Name = keyName, false, valueName
	key, err := stored(key, path+"."+keyName, depth+1)
	if err != nil {
		return nil, err
	}
	if item, err = stored(item, path+"."+valueName, depth+1); err != nil {
		return nil, err
	}
	return arrow.MapOfFields(key, item), nil
}

// storedDictionary refuses values that are more than their bytes: the exact
// type is rebuilt from a plain column in one step.
func storedDictionary(t *arrow.DictionaryType, path string) (arrow.DataType, error) {
	switch v := t.ValueType.(type) {
	case arrow.NestedType, *arrow.DictionaryType, arrow.ExtensionType:
		return nil, refuse(path, "is a dictionary of %s, which cannot be kept; decode the dictionary", v)
	case *arrow.TimestampType:
		if v.Unit == arrow.Nanosecond {
			return nil, refuse(path, "is a dictionary of %s, which cannot be kept; decode the dictionary", v)
		}
	}
	return storedPlain(t.ValueType, path, 0)
}

func storedPlain(t arrow.DataType, path string, depth int) (arrow.DataType, error) {
	switch t := t.(type) {
	case *arrow.BooleanType, *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type,
		*arrow.Float32Type, *arrow.Float64Type, *arrow.StringType, *arrow.BinaryType, *arrow.Date32Type:
		return t, nil
	case *arrow.LargeStringType:
		return arrow.BinaryTypes.String, nil
	case *arrow.LargeBinaryType:
		return arrow.BinaryTypes.Binary, nil
	case *arrow.Uint8Type:
		return arrow.PrimitiveTypes.Int16, nil
	case *arrow.Uint16Type:
		return arrow.PrimitiveTypes.Int32, nil
	case *arrow.Uint32Type:
		return arrow.PrimitiveTypes.Int64, nil
	case *arrow.Uint64Type:
		return uint64Decimal, nil
	case *arrow.Decimal128Type:
		if t.Precision < 1 || t.Scale < 0 || t.Scale > t.Precision {
			return nil, refuse(path, "is %s; cast it to a decimal whose scale is between 0 and its precision", t)
		}
		return t, nil
	case *arrow.TimestampType:
		return storedTimestamp(t, path, depth)
	}
	return nil, refuseType(path, t)
}

// uint64Decimal is the smallest Delta type that has every uint64.
var uint64Decimal = &arrow.Decimal128Type{Precision: 20, Scale: 0}

func storedTimestamp(t *arrow.TimestampType, path string, depth int) (arrow.DataType, error) {
	switch {
	case t.Unit == arrow.Microsecond && (t.TimeZone == "" || t.TimeZone == utc):
		return t, nil
	case t.Unit == arrow.Nanosecond && depth == 0:
		return arrow.PrimitiveTypes.Int64, nil
	case t.Unit == arrow.Nanosecond:
		return nil, refuse(path, "is %s inside of a nested column, which cannot be kept yet; make it a column of its own, or cast it to timestamp[us, tz=UTC]", t)
	}
	return nil, refuse(path, "is %s, which cannot be kept yet; cast it to timestamp[us, tz=UTC] or timestamp[ns]", t)
}

// remedies says what to do about a type that is refused now; the types that
// are not here have no form that would keep them.
var remedies = map[arrow.Type]string{
	arrow.FLOAT16:           "cast it to float32",
	arrow.TIME32:            "cast it to int64",
	arrow.TIME64:            "cast it to int64",
	arrow.DURATION:          "cast it to int64",
	arrow.DATE64:            "cast it to date32",
	arrow.FIXED_SIZE_BINARY: "cast it to binary",
	arrow.STRING_VIEW:       "cast it to utf8",
	arrow.BINARY_VIEW:       "cast it to binary",
	arrow.LIST_VIEW:         "cast it to list",
	arrow.LARGE_LIST_VIEW:   "cast it to list",
	arrow.RUN_END_ENCODED:   "decode it to its values",
	arrow.DECIMAL32:         "cast it to decimal128",
	arrow.DECIMAL64:         "cast it to decimal128",
}

func refuseType(path string, t arrow.DataType) error {
	switch t.ID() {
	case arrow.NULL:
		return refuse(path, "has the type null, which holds nothing; give it a type or leave it out")
	case arrow.DECIMAL256:
		return refuse(path, "is %s; cast it to a decimal of at most 38 digits, or to text", t)
	}
	if r, ok := remedies[t.ID()]; ok {
		return refuse(path, "is %s, which cannot be kept yet; %s", t, r)
	}
	return refuse(path, "is %s, which cannot be kept; cast it to columns of plain types or to text", t)
}

func refuseExtension(path, name string) error {
	return refuse(path, "has the extension type %.80q, which cannot be kept yet; cast it to its storage type and take off its metadata %s", name, extensionKey)
}

func refuse(path, format string, args ...any) error {
	return fault.Detail(engine.ErrUnsupported, "column %q "+format, append([]any{path}, args...)...)
}

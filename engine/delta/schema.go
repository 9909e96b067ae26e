package delta

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
)

// idsKey is the metadata of a top-level Delta field that keeps the field ids of
// its exact Arrow field: decimal, separated by commas, the field's own first and
// then depth first. List elements and map entries have ids but no metadata of
// their own in a Delta schema, which is why they are kept here.
const idsKey = "lake.ids"

// schemaStringMax bounds a Delta schema that is parsed, in bytes.
const schemaStringMax = 16 << 20

// A deltaStruct is Delta's struct type, and thereby a table's schema.
type deltaStruct struct {
	Type   string       `json:"type"`
	Fields []deltaField `json:"fields"`
}

type deltaField struct {
	Name     string                     `json:"name"`
	Type     json.RawMessage            `json:"type"`
	Nullable bool                       `json:"nullable"`
	Metadata map[string]json.RawMessage `json:"metadata"`
}

type deltaArray struct {
	Type         string          `json:"type"`
	ElementType  json.RawMessage `json:"elementType"`
	ContainsNull bool            `json:"containsNull"`
}

type deltaMap struct {
	Type              string          `json:"type"`
	KeyType           json.RawMessage `json:"keyType"`
	ValueType         json.RawMessage `json:"valueType"`
	ValueContainsNull bool            `json:"valueContainsNull"`
}

// encodeSchema returns the schemaString of a table with this exact schema, and
// whether a column needs timestampNtz.
func encodeSchema(schema *arrow.Schema) (text string, ntz bool, err error) {
	out := deltaStruct{Type: "struct", Fields: make([]deltaField, schema.NumFields())}
	for i, f := range schema.Fields() {
		s, err := storedField(f)
		if err != nil {
			return "", false, err
		}
		ntz = ntz || usesNTZ(s.Type)
		d := encodeField(s)
		d.Metadata[engine.ExactFieldKey] = mustJSON(engine.EncodeField(f))
		if ids := fieldIDs(f); ids != "" {
			d.Metadata[idsKey] = mustJSON(ids)
		}
		out.Fields[i] = d
	}
	return string(mustJSON(out)), ntz, nil
}

func encodeField(f arrow.Field) deltaField {
	return deltaField{Name: f.Name, Type: encodeType(f.Type), Nullable: f.Nullable, Metadata: map[string]json.RawMessage{}}
}

// encodeType returns the Delta type of a stored one.
func encodeType(t arrow.DataType) json.RawMessage {
	switch t := t.(type) {
	case *arrow.StructType:
		s := deltaStruct{Type: "struct"}
		for _, f := range t.Fields() {
			s.Fields = append(s.Fields, encodeField(f))
		}
		return mustJSON(s)
	case *arrow.ListType:
		return mustJSON(deltaArray{"array", encodeType(t.Elem()), t.ElemField().Nullable})
	case *arrow.MapType:
		return mustJSON(deltaMap{"map", encodeType(t.KeyType()), encodeType(t.ItemType()), t.ItemField().Nullable})
	case *arrow.Decimal128Type:
		return mustJSON(fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale))
	case *arrow.TimestampType:
		if t.TimeZone == "" {
			return mustJSON("timestamp_ntz")
		}
		return mustJSON("timestamp")
	}
	for name, plain := range plainTypes {
		if plain.ID() == t.ID() {
			return mustJSON(name)
		}
	}
	panic("delta: no form for a stored type " + t.String())
}

var plainTypes = map[string]arrow.DataType{
	"boolean": arrow.FixedWidthTypes.Boolean,
	"byte":    arrow.PrimitiveTypes.Int8,
	"short":   arrow.PrimitiveTypes.Int16,
	"integer": arrow.PrimitiveTypes.Int32,
	"long":    arrow.PrimitiveTypes.Int64,
	"float":   arrow.PrimitiveTypes.Float32,
	"double":  arrow.PrimitiveTypes.Float64,
	"string":  arrow.BinaryTypes.String,
	"binary":  arrow.BinaryTypes.Binary,
	"date":    arrow.FixedWidthTypes.Date32,
}

// mustJSON marshals what has no way to fail.
func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("delta: " + err.Error())
	}
	return b
}

func usesNTZ(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.TimestampType:
		return t.TimeZone == ""
	case arrow.NestedType:
		return slices.ContainsFunc(t.Fields(), func(f arrow.Field) bool { return usesNTZ(f.Type) })
	}
	return false
}

// fieldIDs returns a field's ids as idsKey keeps them, or "" if any is missing.
func fieldIDs(f arrow.Field) string {
	var ids []string
	ok := true
	var walk func(f arrow.Field)
	walk = func(f arrow.Field) {
		id, has := engine.FieldID(f)
		ok = ok && has
		ids = append(ids, strconv.Itoa(id))
		for _, c := range children(f.Type) {
			walk(c)
		}
	}
	walk(f)
	if !ok {
		return ""
	}
	return strings.Join(ids, ",")
}

// children returns the fields below a type that have ids, in order: those that
// engine.NewSchema numbers.
func children(t arrow.DataType) []arrow.Field {
	switch t := t.(type) {
	case *arrow.StructType:
		return t.Fields()
	case *arrow.MapType:
		return []arrow.Field{t.KeyField(), t.ItemField()}
	case *arrow.ListType, *arrow.LargeListType, *arrow.FixedSizeListType:
		return []arrow.Field{t.(arrow.ListLikeType).ElemField()}
	}
	return nil
}

// withIDs puts ids back on a field, or returns it as it is if they are not of
// its shape.
func withIDs(f arrow.Field, text string) arrow.Field {
	ids := strings.Split(text, ",")
	for _, id := range ids {
		if n, err := strconv.Atoi(id); err != nil || n < 1 || strconv.Itoa(n) != id {
			return f
		}
	}
	if len(ids) != countFields(f) {
		return f
	}
	var put func(f arrow.Field) arrow.Field
	put = func(f arrow.Field) arrow.Field {
		keys, values := slices.Clone(f.Metadata.Keys()), slices.Clone(f.Metadata.Values())
		f.Metadata = arrow.NewMetadata(append(keys, engine.FieldIDKey), append(values, ids[0]))
		ids = ids[1:]
		switch t := f.Type.(type) {
		case *arrow.StructType:
			fields := make([]arrow.Field, t.NumFields())
			for i, c := range t.Fields() {
				fields[i] = put(c)
			}
			f.Type = arrow.StructOf(fields...)
		case *arrow.MapType:
			key := put(t.KeyField())
			m := arrow.MapOfFields(key, put(t.ItemField()))
			m.KeysSorted = t.KeysSorted
			f.Type = m
		case *arrow.ListType:
			f.Type = arrow.ListOfField(put(t.ElemField()))
		case *arrow.LargeListType:
			f.Type = arrow.LargeListOfField(put(t.ElemField()))
		case *arrow.FixedSizeListType:
			f.Type = arrow.FixedSizeListOfField(t.Len(), put(t.ElemField()))
		}
		return f
	}
	return put(f)
}

func countFields(f arrow.Field) int {
	n := 1
	for _, c := range children(f.Type) {
		n += countFields(c)
	}
	return n
}

// parseSchema derives a table's columns from its schemaString. The exact field
// in a column's metadata holds as long as it has the column's name and would be
// stored as the type that the schema now says; otherwise, and in tables of
// other writers, the exact type is the stored one.
func parseSchema(text string) ([]engine.Column, []deltaField, error) {
	if len(text) > schemaStringMax {
		return nil, nil, fault.Newf(fault.Exhausted, "the table's schema has %d bytes, more than the bound of %d", len(text), schemaStringMax)
	}
	var s deltaStruct
	if err := json.Unmarshal([]byte(text), &s); err != nil || s.Type != "struct" {
		return nil, nil, fault.New(fault.Corrupt, "the table's schema is not a Delta struct type")
	}
	columns := make([]engine.Column, len(s.Fields))
	seen := map[string]bool{}
	for i, f := range s.Fields {
		folded := strings.ToLower(f.Name)
		if f.Name == "" || seen[folded] {
			return nil, nil, fault.Newf(fault.Corrupt, "the table's schema has two columns %.80q, or one without a name", f.Name)
		}
		seen[folded] = true
		t, err := parseType(f.Type, f.Name, 0)
		if err != nil {
			return nil, nil, err
		}
		columns[i] = engine.Column{Source: f.Name, Stored: t, Exact: exactField(f, t)}
	}
	return columns, s.Fields, nil
}

func exactField(f deltaField, t arrow.DataType) arrow.Field {
	native := arrow.Field{Name: f.Name, Type: t, Nullable: f.Nullable}
	var text, ids string
	if json.Unmarshal(f.Metadata[engine.ExactFieldKey], &text) != nil {
		return native
	}
	exact, err := engine.DecodeField(text)
	if err != nil || exact.Name != f.Name {
		return native
	}
	if s, err := storedField(exact); err != nil || !engine.SameType(s.Type, t) {
		return native
	}
	exact.Nullable = f.Nullable
	if json.Unmarshal(f.Metadata[idsKey], &ids) == nil {
		exact = withIDs(exact, ids)
	}
	return exact
}

var decimalForm = regexp.MustCompile(`^decimal\( *([0-9]{1,2}) *, *([0-9]{1,2}) *\)$`)

// parseType returns the Arrow type of the values in data files.
func parseType(raw json.RawMessage, path string, depth int) (arrow.DataType, error) {
	if depth > nestingMax {
		return nil, refuse(path, "is nested more than %d deep, which cannot be read", nestingMax)
	}
	var name string
	if json.Unmarshal(raw, &name) == nil {
		return parsePlainType(name, path)
	}
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return nil, fault.Newf(fault.Corrupt, "column %.80q of the table's schema has no type", path)
	}
	switch kind.Type {
	case "struct":
		var s deltaStruct
		if err := json.Unmarshal(raw, &s); err != nil || len(s.Fields) == 0 {
			return nil, fault.Newf(fault.Corrupt, "column %.80q of the table's schema is a struct without fields", path)
		}
		fields := make([]arrow.Field, len(s.Fields))
		for i, f := range s.Fields {
			t, err := parseType(f.Type, path+"."+f.Name, depth+1)
			if err != nil {
				return nil, err
			}
			fields[i] = arrow.Field{Name: f.Name, Type: t, Nullable: f.Nullable}
		}
		return arrow.StructOf(fields...), nil
	case "array":
		var a deltaArray
		if err := json.Unmarshal(raw, &a); err != nil {
			return nil, fault.Newf(fault.Corrupt, "column %.80q of the table's schema is not an array type", path)
		}
		t, err := parseType(a.ElementType, path+"."+elementName, depth+1)
		if err != nil {
			return nil, err
		}
		return arrow.ListOfField(arrow.Field{Name: elementName, Type: t, Nullable: a.ContainsNull}), nil
	case "map":
		var m deltaMap
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, fault.Newf(fault.Corrupt, "column %.80q of the table's schema is not a map type", path)
		}
		k, err := parseType(m.KeyType, path+"."+keyName, depth+1)
		if err != nil {
			return nil, err
		}
		v, err := parseType(m.ValueType, path+"."+valueName, depth+1)
		if err != nil {
			return nil, err
		}
		return arrow.MapOfFields(arrow.Field{Name: keyName, Type: k}, arrow.Field{Name: valueName, Type: v, Nullable: m.ValueContainsNull}), nil
	}
	return nil, refuse(path, "has the Delta type %.80q, which cannot be read yet; leave the column out of the table", kind.Type)
}

func parsePlainType(name, path string) (arrow.DataType, error) {
	if t, ok := plainTypes[name]; ok {
		return t, nil
	}
	switch name {
	case "timestamp":
		return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: utc}, nil
	case "timestamp_ntz":
		return &arrow.TimestampType{Unit: arrow.Microsecond}, nil
	case "decimal":
		return &arrow.Decimal128Type{Precision: 10, Scale: 0}, nil
	}
	if m := decimalForm.FindStringSubmatch(name); m != nil {
		p, _ := strconv.Atoi(m[1])
		s, _ := strconv.Atoi(m[2])
		if p >= 1 && p <= 38 && s <= p {
			return &arrow.Decimal128Type{Precision: int32(p), Scale: int32(s)}, nil
		}
	}
	return nil, refuse(path, "has the Delta type %.80q, which cannot be read yet; leave the column out of the table", name)
}

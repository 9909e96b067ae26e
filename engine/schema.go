package engine

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeward/lake/fault"
)

// FieldIDKey is the field metadata that carries a Parquet field id.
const FieldIDKey = "PARQUET:field_id"

// ExactFieldKey is the metadata of a stored top-level field under which an
// engine keeps its exact Arrow field, as EncodeField writes it.
const ExactFieldKey = "lake.arrow"

// parquetKeyPrefix begins the metadata keys that belong to data files.
const parquetKeyPrefix = "PARQUET:"

// SchemaBytesMax bounds an encoded schema; nestingMax its depth.
const (
	SchemaBytesMax = 128 << 10
	nestingMax     = 32
)

// NewSchema makes the exact schema of a new table from that of its first rows:
// names are checked, what belongs to the file it came from is taken off, and
// every field gets an id, depth first from 1. next is the first id not taken.
func NewSchema(s *arrow.Schema) (schema *arrow.Schema, next int, err error) {
	if s.NumFields() == 0 {
		return nil, 0, fault.New(fault.Invalid, "a table needs at least one column")
	}
	seen := map[string]string{}
	fields := make([]arrow.Field, s.NumFields())
	next = 1
	for i, f := range s.Fields() {
		folded := strings.ToLower(f.Name)
		if other, ok := seen[folded]; ok {
			return nil, 0, fault.Newf(fault.Invalid, "columns %q and %q differ only in case or not at all; rename one", other, f.Name)
		}
		if err := checkColumnName(f.Name); err != nil {
			return nil, 0, err
		}
		seen[folded] = f.Name
		if fields[i], err = number(f.Name, f, &next, nestingMax); err != nil {
			return nil, 0, err
		}
	}
	schema = arrow.NewSchema(fields, nil)
	if n := len(EncodeSchema(schema)); n > SchemaBytesMax {
		return nil, 0, fault.Newf(fault.Exhausted, "the schema takes %d bytes, more than the %d that a table may have; use fewer columns or less metadata", n, SchemaBytesMax)
	}
	return schema, next, nil
}

func checkColumnName(name string) error {
	const bytesMax = 255
	if name == "" || len(name) > bytesMax || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }) {
		return fault.Newf(fault.Invalid, "column name %.80q is not valid; use 1 to %d bytes of UTF-8 without control characters", name, bytesMax)
	}
	return nil
}

// number returns f without Parquet's metadata and with ids on it and on every
// field below it. It is, or lies below, the named column.
func number(column string, f arrow.Field, next *int, depth int) (arrow.Field, error) {
	if depth == 0 {
		return f, fault.Newf(fault.Exhausted, "column %q is nested more than %d deep; flatten it", column, nestingMax)
	}
	f = WithoutParquetKeys(f)
	keys, values := slices.Clone(f.Metadata.Keys()), slices.Clone(f.Metadata.Values())
	f.Metadata = arrow.NewMetadata(append(keys, FieldIDKey), append(values, strconv.Itoa(*next)))
	*next++
	t, err := mapChildren(f.Type, func(c arrow.Field) (arrow.Field, error) { return number(column, c, next, depth-1) })
	f.Type = t
	return f, err
}

// mapChildren rebuilds a nested type with each of its fields replaced; other
// types come back as they are. Map entries themselves are not a field.
func mapChildren(t arrow.DataType, each func(arrow.Field) (arrow.Field, error)) (arrow.DataType, error) {
	switch t := t.(type) {
	case *arrow.StructType:
		fields := make([]arrow.Field, t.NumFields())
		for i, f := range t.Fields() {
			var err error
			if fields[i], err = each(f); err != nil {
				return nil, err
			}
		}
		return arrow.StructOf(fields...), nil
	case *arrow.MapType:
		key, err := each(t.KeyField())
		if err != nil {
			return nil, err
		}
		item, err := each(t.ItemField())
		if err != nil {
			return nil, err
		}
		key.Nullable = false // as Arrow has it; MapOfFields insists
		m := arrow.MapOfFields(key, item)
		m.KeysSorted = t.KeysSorted
		return m, nil
	case *arrow.ListType:
		f, err := each(t.ElemField())
		return arrow.ListOfField(f), err
	case *arrow.LargeListType:
		f, err := each(t.ElemField())
		return arrow.LargeListOfField(f), err
	case *arrow.FixedSizeListType:
		f, err := each(t.ElemField())
		return arrow.FixedSizeListOfField(t.Len(), f), err
	}
	return t, nil
}

// FieldID returns the id that f carries.
func FieldID(f arrow.Field) (int, bool) {
	s, ok := f.Metadata.GetValue(FieldIDKey)
	if !ok {
		return 0, false
	}
	id, err := strconv.Atoi(s)
	return id, err == nil
}

// WithoutParquetKeys returns f as a reader of rows sees it: without the
// metadata of data files, on it and below it.
func WithoutParquetKeys(f arrow.Field) arrow.Field {
	var keys, values []string
	for i, k := range f.Metadata.Keys() {
		if !strings.HasPrefix(k, parquetKeyPrefix) {
			keys, values = append(keys, k), append(values, f.Metadata.Values()[i])
		}
	}
	f.Metadata = arrow.NewMetadata(keys, values)
	f.Type, _ = mapChildren(f.Type, func(c arrow.Field) (arrow.Field, error) { return WithoutParquetKeys(c), nil })
	return f
}

// Compatible refuses rows that are not of the table's exact schema: the same
// columns in the same order, by name and type. Metadata, the names of list
// elements and nullability are not compared; a null in a column that must not
// be null is found when it is staged.
func Compatible(table, rows *arrow.Schema) error {
	for i, want := range table.Fields() {
		if i >= rows.NumFields() {
			return fault.Detail(ErrSchema, "the rows lack the table's column %q (%s); add it", want.Name, typeText(want.Type))
		}
		got := rows.Field(i)
		switch {
		case got.Name != want.Name:
			return fault.Detail(ErrSchema, "column %d of the rows is %q where the table has %q; bring the columns into the table's order", i+1, got.Name, want.Name)
		case !SameType(got.Type, want.Type):
			return fault.Detail(ErrSchema, "column %q of the rows is %s where the table has %s; cast it", want.Name, typeText(got.Type), typeText(want.Type))
		}
	}
	if n := table.NumFields(); rows.NumFields() > n {
		return fault.Detail(ErrSchema, "the rows have a column %q that the table lacks; leave it out", rows.Field(n).Name)
	}
	return nil
}

func typeText(t arrow.DataType) string { return t.String() }

// SameType reports whether two types hold the same values: metadata,
// nullability and the names of list elements and map entries are not compared.
func SameType(a, b arrow.DataType) bool {
	if a.ID() != b.ID() {
		return false
	}
	switch a := a.(type) {
	case *arrow.StructType:
		b := b.(*arrow.StructType)
		if a.NumFields() != b.NumFields() {
			return false
		}
		for i, f := range a.Fields() {
			if f.Name != b.Field(i).Name || !SameType(f.Type, b.Field(i).Type) {
				return false
			}
		}
		return true
	case *arrow.MapType:
		b := b.(*arrow.MapType)
		return SameType(a.KeyType(), b.KeyType()) && SameType(a.ItemType(), b.ItemType())
	case *arrow.FixedSizeListType:
		b := b.(*arrow.FixedSizeListType)
		return a.Len() == b.Len() && SameType(a.Elem(), b.Elem())
	case *arrow.DictionaryType:
		b := b.(*arrow.DictionaryType)
		return a.Ordered == b.Ordered && SameType(a.IndexType, b.IndexType) && SameType(a.ValueType, b.ValueType)
	case arrow.ListLikeType:
		return SameType(a.Elem(), b.(arrow.ListLikeType).Elem())
	}
	return arrow.TypeEqual(a, b)
}

// EncodeSchema returns the Arrow IPC schema message of s.
func EncodeSchema(s *arrow.Schema) []byte {
	p := ipc.GetSchemaPayload(s, memory.DefaultAllocator)
	defer p.Release()
	var b bytes.Buffer
	_, _ = p.WritePayload(&b) // a bytes.Buffer takes every write
	return b.Bytes()
}

// DecodeSchema reads an Arrow IPC schema message of at most SchemaBytesMax.
func DecodeSchema(b []byte) (*arrow.Schema, error) {
	if len(b) > SchemaBytesMax {
		return nil, fault.Newf(fault.Exhausted, "a schema of %d bytes is over the bound of %d", len(b), SchemaBytesMax)
	}
	if err := VerifySchema(b); err != nil {
		return nil, err
	}
	r, err := ipc.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("%w: %v", errSchemaBytes, err)
	}
	defer r.Release()
	return r.Schema(), nil
}

var errSchemaBytes = fault.New(fault.Corrupt, "these bytes are not an Arrow schema")

// EncodeField is the text that an engine keeps under ExactFieldKey: base64 of
// the IPC schema message of this one field, without Parquet's metadata.
func EncodeField(f arrow.Field) string {
	return base64.StdEncoding.EncodeToString(EncodeSchema(arrow.NewSchema([]arrow.Field{WithoutParquetKeys(f)}, nil)))
}

// DecodeField reads what EncodeField wrote.
func DecodeField(s string) (arrow.Field, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return arrow.Field{}, fmt.Errorf("%w: %v", errSchemaBytes, err)
	}
	schema, err := DecodeSchema(b)
	if err != nil {
		return arrow.Field{}, err
	}
	if schema.NumFields() != 1 {
		return arrow.Field{}, fmt.Errorf("%w: %d fields", errSchemaBytes, schema.NumFields())
	}
	return schema.Field(0), nil
}

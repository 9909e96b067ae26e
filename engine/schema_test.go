package engine_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/enginetest"
	"github.com/lakeward/lake/fault"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func meta(pairs ...string) arrow.Metadata {
	var keys, values []string
	for i := 0; i < len(pairs); i += 2 {
		keys, values = append(keys, pairs[i]), append(values, pairs[i+1])
	}
	return arrow.NewMetadata(keys, values)
}

// ids returns the field ids of a schema with the path of each.
func ids(s *arrow.Schema) (out []string) {
	var walk func(path string, f arrow.Field)
	walk = func(path string, f arrow.Field) {
		id, _ := engine.FieldID(f)
		out = append(out, fmt.Sprintf("%d %s", id, path))
		switch t := f.Type.(type) {
		case *arrow.StructType:
			for _, c := range t.Fields() {
				walk(path+"."+c.Name, c)
			}
		case *arrow.MapType:
			walk(path+".key", t.KeyField())
			walk(path+".value", t.ItemField())
		case arrow.ListLikeType:
			walk(path+".element", t.ElemField())
		}
	}
	for _, f := range s.Fields() {
		walk(f.Name, f)
	}
	return out
}

func TestNewSchemaNumbersFieldsDepthFirst(t *testing.T) {
	in := arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int64, Metadata: meta("PARQUET:field_id", "77", "unit", "m", "PARQUET:x", "y")},
		{Name: "s", Type: arrow.StructOf(
			arrow.Field{Name: "x", Type: arrow.ListOf(arrow.BinaryTypes.String)},
			arrow.Field{Name: "y", Type: arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32), Metadata: meta("PARQUET:field_id", "1")},
		)},
		{Name: "m", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.LargeListOf(arrow.PrimitiveTypes.Int8))},
		{Name: "d", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}},
	}, ptr(meta("pandas", "{}")))
	got, next, err := engine.NewSchema(in)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"1 a", "2 s", "3 s.x", "4 s.x.element", "5 s.y", "6 s.y.element",
		"7 m", "8 m.key", "9 m.value", "10 m.value.element", "11 d",
	}
	if diff := cmp.Diff(want, ids(got)); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
	if next != 12 {
		t.Errorf("the next id is %d", next)
	}
	if got.HasMetadata() {
		t.Error("metadata of the file is in the schema")
	}
	if unit, ok := got.Field(0).Metadata.GetValue("unit"); !ok || unit != "m" {
		t.Error("metadata of a column is lost")
	}
	if _, ok := got.Field(0).Metadata.GetValue("PARQUET:x"); ok {
		t.Error("metadata of the file is on a column")
	}
	// Numbering again gives the same schema, and the one that came in is as it was.
	again, _, err := engine.NewSchema(got)
	if err != nil || !again.Equal(got) || again.String() != got.String() {
		t.Errorf("numbered again it is %s, %v", again, err)
	}
	if id, _ := engine.FieldID(in.Field(0)); id != 77 {
		t.Error("the schema given was changed")
	}
	for i, f := range got.Fields() {
		if f := engine.WithoutParquetKeys(f); strings.Contains(fmt.Sprint(f), "PARQUET") {
			t.Errorf("field %d without Parquet's keys is %s", i, f)
		}
	}
}

func ptr[T any](v T) *T { return &v }

func TestNewSchemaRefuses(t *testing.T) {
	column := func(name string) arrow.Field { return arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64} }
	deep := arrow.DataType(arrow.PrimitiveTypes.Int64)
	for range 40 {
		deep = arrow.ListOf(deep)
	}
	var wide []arrow.Field
	for i := range 3000 {
		wide = append(wide, column(fmt.Sprintf("column_with_a_name_%d", i)))
	}
	for _, tt := range []struct {
		name   string
		fields []arrow.Field
		kind   fault.Kind
		says   string
	}{
		{"no columns", nil, fault.Invalid, "at least one column"},
		{"two columns of a name", []arrow.Field{column("a"), column("a")}, fault.Invalid, `"a" and "a"`},
		{"two names that differ in case", []arrow.Field{column("Größe"), column("größe")}, fault.Invalid, "case"},
		{"no name", []arrow.Field{column("")}, fault.Invalid, "not valid"},
		{"a name with a line break", []arrow.Field{column("a\nb")}, fault.Invalid, "not valid"},
		{"a name with a zero", []arrow.Field{column("a\x00")}, fault.Invalid, "not valid"},
		{"a name that is not UTF-8", []arrow.Field{column("a\xff")}, fault.Invalid, "not valid"},
		{"a long name", []arrow.Field{column(strings.Repeat("x", 256))}, fault.Invalid, "not valid"},
		{"a deep column", []arrow.Field{{Name: "deep", Type: deep}}, fault.Exhausted, `"deep"`},
		{"too many columns", wide, fault.Exhausted, "131072"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := engine.NewSchema(arrow.NewSchema(tt.fields, nil))
			if fault.KindOf(err) != tt.kind || !strings.Contains(fault.Public(err), tt.says) {
				t.Errorf("NewSchema = %v, want a %v error that says %q", err, tt.kind, tt.says)
			}
		})
	}
}

func TestCompatible(t *testing.T) {
	column := func(name string, typ arrow.DataType) arrow.Field { return arrow.Field{Name: name, Type: typ} }
	i64, text := arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String
	table := arrow.NewSchema([]arrow.Field{column("id", i64), column("l", arrow.ListOf(text))}, nil)
	for _, tt := range []struct {
		name string
		rows []arrow.Field
		says []string // nothing: no error
	}{
		{"the same", table.Fields(), nil},
		{
			"other names of elements, nullability and metadata",
			[]arrow.Field{
				{Name: "id", Type: i64, Nullable: true, Metadata: meta("a", "b")},
				column("l", arrow.ListOfField(arrow.Field{Name: "element", Type: text, Metadata: meta("PARQUET:field_id", "9")})),
			},
			nil,
		},
		{"a column too few", []arrow.Field{column("id", i64)}, []string{`"l"`, "list<item: utf8", "add it"}},
		{"none", nil, []string{`"id"`, "add it"}},
		{"a column too many", append(slices.Clone(table.Fields()), column("x", i64)), []string{`"x"`, "leave it out"}},
		{"another order", []arrow.Field{table.Field(1), table.Field(0)}, []string{"column 1", `"l"`, `"id"`, "order"}},
		{"another type", []arrow.Field{column("id", arrow.PrimitiveTypes.Int32), table.Field(1)}, []string{`"id"`, "int32", "int64", "cast it"}},
		{"another case", []arrow.Field{column("ID", i64), table.Field(1)}, []string{`"ID"`, `"id"`}},
		{"another element", []arrow.Field{table.Field(0), column("l", arrow.ListOf(i64))}, []string{`"l"`, "int64", "utf8"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := engine.Compatible(table, arrow.NewSchema(tt.rows, nil))
			if tt.says == nil && err != nil || tt.says != nil && !errors.Is(err, engine.ErrSchema) {
				t.Fatalf("Compatible = %v", err)
			}
			for _, s := range tt.says {
				if !strings.Contains(fault.Public(err), s) {
					t.Errorf("the error %q does not say %s", fault.Public(err), s)
				}
			}
		})
	}
}

func TestSameType(t *testing.T) {
	i32, i64, text := arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String
	field := func(name string, typ arrow.DataType) arrow.Field { return arrow.Field{Name: name, Type: typ} }
	dictionary := func(index, value arrow.DataType, ordered bool) arrow.DataType {
		return &arrow.DictionaryType{IndexType: index, ValueType: value, Ordered: ordered}
	}
	for _, tt := range []struct {
		a, b arrow.DataType
		same bool
	}{
		{i64, i64, true},
		{i64, i32, false},
		{arrow.ListOfField(field("item", i64)), arrow.ListOfField(field("element", i64)), true},
		{arrow.ListOf(i64), arrow.ListOf(i32), false},
		{arrow.ListOf(i64), arrow.LargeListOf(i64), false},
		{arrow.LargeListOfField(field("a", i64)), arrow.LargeListOfField(arrow.Field{Name: "b", Type: i64, Nullable: true, Metadata: meta("x", "y")}), true},
		{arrow.FixedSizeListOf(2, i64), arrow.FixedSizeListOf(3, i64), false},
		{arrow.FixedSizeListOf(2, i64), arrow.FixedSizeListOfNonNullable(2, i64), true},
		{arrow.StructOf(field("a", i64)), arrow.StructOf(field("b", i64)), false},
		{arrow.StructOf(field("a", i64)), arrow.StructOf(field("a", i64), field("b", i64)), false},
		{arrow.StructOf(field("a", arrow.ListOfField(field("item", i64)))), arrow.StructOf(arrow.Field{Name: "a", Type: arrow.ListOfField(field("element", i64)), Nullable: true}), true},
		{arrow.MapOf(text, i64), arrow.MapOfFields(field("k", text), field("v", i64)), true},
		{arrow.MapOf(text, i64), arrow.MapOf(text, i32), false},
		{dictionary(i32, text, false), dictionary(i32, text, false), true},
		{dictionary(i32, text, false), dictionary(i64, text, false), false},
		{dictionary(i32, text, false), dictionary(i32, text, true), false},
		{dictionary(i32, text, false), text, false},
		{&arrow.TimestampType{Unit: arrow.Microsecond}, &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, false},
		{&arrow.TimestampType{Unit: arrow.Microsecond}, &arrow.TimestampType{Unit: arrow.Nanosecond}, false},
		{&arrow.Decimal128Type{Precision: 10, Scale: 2}, &arrow.Decimal128Type{Precision: 10, Scale: 3}, false},
		{&arrow.FixedSizeBinaryType{ByteWidth: 2}, &arrow.FixedSizeBinaryType{ByteWidth: 3}, false},
		{arrow.RunEndEncodedOf(i32, text), arrow.RunEndEncodedOf(i32, text), true},
		{arrow.RunEndEncodedOf(i32, text), arrow.RunEndEncodedOf(i64, text), false},
	} {
		if engine.SameType(tt.a, tt.b) != tt.same || engine.SameType(tt.b, tt.a) != tt.same {
			t.Errorf("SameType(%s, %s) is not %v", tt.a, tt.b, tt.same)
		}
	}
}

// What stands in tables under lake.arrow is read for ever: each field of the
// golden file decodes to the sample it was made of.
func TestExactFieldsOfGoldenFileDecode(t *testing.T) {
	const file = "testdata/lake.arrow.json"
	golden := map[string]string{}
	if *update {
		for _, s := range enginetest.Samples() {
			golden[s.Name] = engine.EncodeField(s.Field())
		}
		b, err := json.MarshalIndent(golden, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(b, '\n'), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	for _, s := range enginetest.Samples() {
		f, err := engine.DecodeField(golden[s.Name])
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		if f.Name != s.Name || !f.Nullable || f.Type.String() != s.Type.String() || f.Metadata.String() != s.Field().Metadata.String() {
			t.Errorf("%s decodes to %s", s.Name, f)
		}
	}
}

func TestFieldsComeBackWithoutParquetKeys(t *testing.T) {
	in := arrow.Field{Name: "l", Type: arrow.ListOfField(arrow.Field{Name: "item", Type: arrow.PrimitiveTypes.Int8, Metadata: meta("PARQUET:field_id", "2", "a", "b")}), Metadata: meta("PARQUET:field_id", "1", "unit", "m")}
	got, err := engine.DecodeField(engine.EncodeField(in))
	if err != nil {
		t.Fatal(err)
	}
	want := arrow.Field{Name: "l", Type: arrow.ListOfField(arrow.Field{Name: "item", Type: arrow.PrimitiveTypes.Int8, Metadata: meta("a", "b")}), Metadata: meta("unit", "m")}
	if got.String() != want.String() || !got.Equal(want) {
		t.Errorf("%s, want %s", got, want)
	}
}

func encoded() []byte {
	return engine.EncodeSchema(arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int64, Metadata: meta("k", "v")},
		{Name: "s", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.ListOf(arrow.BinaryTypes.String)})},
		{Name: "u", Type: arrow.DenseUnionOf([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int32}}, []arrow.UnionTypeCode{0})},
		{Name: "d", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}},
	}, ptr(meta("file", "x"))))
}

// A schema from outside cannot make the process ask for memory that it does not
// have: turned at any byte it is a schema or an error.
func TestDecodeSchemaOfBrokenBytes(t *testing.T) {
	b := encoded()
	if s, err := engine.DecodeSchema(b); err != nil || s.NumFields() != 4 {
		t.Fatalf("DecodeSchema = %v, %v", s, err)
	}
	for i := range b {
		for _, v := range []byte{b[i] ^ 1, b[i] ^ 0x80, 0xff, 0x7f, 0} {
			broken := bytes.Clone(b)
			broken[i] = v
			if _, err := engine.DecodeSchema(broken); err != nil && fault.KindOf(err) != fault.Corrupt {
				t.Errorf("byte %d as %x: %v", i, v, err)
			}
		}
		if _, err := engine.DecodeSchema(b[:i]); i < len(b)-8 && fault.KindOf(err) != fault.Corrupt {
			t.Errorf("cut at %d: %v", i, err)
		}
		if i+4 <= len(b) { // any offset or length as the largest
			broken := bytes.Clone(b)
			binary.LittleEndian.PutUint32(broken[i:], 0x7fffffff)
			if _, err := engine.DecodeSchema(broken); err != nil && fault.KindOf(err) != fault.Corrupt {
				t.Errorf("word %d: %v", i, err)
			}
		}
	}
	if _, err := engine.DecodeSchema(make([]byte, engine.SchemaBytesMax+1)); fault.KindOf(err) != fault.Exhausted {
		t.Errorf("a long schema: %v", err)
	}
	for _, s := range []string{"", "!", "AAAA", base64.StdEncoding.EncodeToString(b)} {
		if _, err := engine.DecodeField(s); fault.KindOf(err) != fault.Corrupt {
			t.Errorf("DecodeField(%.10q) = %v", s, err)
		}
	}
}

func FuzzDecodeSchema(f *testing.F) {
	f.Add(encoded())
	f.Add([]byte{})
	for _, s := range enginetest.Samples() {
		b, err := base64.StdEncoding.DecodeString(engine.EncodeField(s.Field()))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := engine.DecodeSchema(b)
		if err != nil {
			if k := fault.KindOf(err); k != fault.Corrupt && k != fault.Exhausted {
				t.Errorf("%v is %v", err, k)
			}
			return
		}
		if exact, _, err := engine.NewSchema(s); err == nil {
			if _, err := engine.DecodeSchema(engine.EncodeSchema(exact)); err != nil {
				t.Errorf("%s does not come back: %v", exact, err)
			}
		}
	})
}

func TestManifestTotals(t *testing.T) {
	m := engine.Manifest{Files: []engine.File{{Rows: 1, Bytes: 10}, {Rows: 2, Bytes: 20}}}
	if m.Rows() != 3 || m.Bytes() != 30 {
		t.Errorf("%d rows of %d bytes", m.Rows(), m.Bytes())
	}
}

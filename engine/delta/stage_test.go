package delta_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/delta"
	"github.com/lakeward/lake/engine/enginetest"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/objects/mem"
)

// Another writer appends to a table of ours, and we to it again.
func TestDeltaRSAppendsToOurTable(t *testing.T) {
	interpreter, checkDelta := python(t)
	dir := t.TempDir()
	s := openLocal(t, dir)
	e := delta.New(s, delta.Options{})
	schema := enginetest.Schema(t,
		arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int64},
		arrow.Field{Name: "u", Type: arrow.PrimitiveTypes.Uint8, Nullable: true},
		arrow.Field{Name: "f", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), Nullable: true})
	w := writeTable(t, e, dir, "t", schema, enginetest.Batch(t, schema, `[{"n":1,"u":255,"f":[1,2]}]`))
	type answer struct{ Version int64 }
	got := lines[answer](t, interpreter, "testdata/append.py", w.folder, `[{"n":2,"u":7,"f":[3,null]},{"n":3,"u":null,"f":null}]`)
	if len(got) != 1 {
		t.Fatal("delta-rs could not append")
	}
	table := e.Table("t")
	m, err := table.Stage(t.Context(), schema, enginetest.Rows(enginetest.Batch(t, schema, `[{"n":4}]`)))
	if err != nil {
		t.Fatal(err)
	}
	v, err := table.Commit(t.Context(), 1, enginetest.NewOp(t), m) // after the foreign version
	if err != nil || v != 3 {
		t.Fatalf("Commit = %d, %v", v, err)
	}
	snap, err := table.Snapshot(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	sc, err := snap.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range schema.Fields() {
		if !engine.SameType(sc.Columns[i].Exact.Type, f.Type) {
			t.Errorf("column %s is %s after delta-rs has written", f.Name, sc.Columns[i].Exact.Type)
		}
	}
	var rows [][]string
	for b, err := range readScan(t.Context(), s, sc) {
		if err != nil {
			t.Fatal(err)
		}
		for r := range int(b.NumRows()) {
			var row []string
			for _, c := range b.Columns() {
				row = append(row, enginetest.Canonical(c)[r])
			}
			rows = append(rows, row)
		}
	}
	want := [][]string{{"1", "255", "[1.0,2.0]"}, {"2", "7", "[3.0,~]"}, {"3", "~", "~"}, {"4", "~", "~"}}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	for _, f := range sc.Files {
		if f.Rows < 1 || len(f.Stats) == 0 {
			t.Errorf("file %s has %d rows and %d statistics", f.Name, f.Rows, len(f.Stats))
		}
	}
	read := lines[seen](t, interpreter, checkDelta, "--no-schema", w.folder)
	if len(read) != 1 || read[0].Rows != 4 || read[0].Version != 3 || read[0].Error != "" {
		t.Errorf("delta-rs then reads %+v", read)
	}
}

// stageColumn stages one column and returns its manifest.
func stageColumn(t *testing.T, o delta.Options, arrays ...arrow.Array) (engine.Manifest, error) {
	t.Helper()
	schema := enginetest.Schema(t, arrow.Field{Name: "c", Type: arrays[0].DataType(), Nullable: true})
	var batches []arrow.RecordBatch
	for _, a := range arrays {
		batches = append(batches, array.NewRecordBatch(schema, []arrow.Array{enginetest.WithType(a, schema.Field(0).Type)}, int64(a.Len())))
	}
	return delta.New(mem.New(), o).Table("t").Stage(t.Context(), schema, enginetest.Rows(batches...))
}

func texts(values ...string) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.AppendValues(values, nil)
	return b.NewArray()
}

func TestRowsThatWouldBeKeptWronglyAreRefused(t *testing.T) {
	decimal := func(typ *arrow.Decimal128Type, v decimal128.Num) arrow.Array {
		b := array.NewDecimal128Builder(memory.DefaultAllocator, typ)
		b.Append(v)
		return b.NewArray()
	}
	ints := func(values ...int32) *memory.Buffer {
		return memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(values))
	}
	child := array.NewData(arrow.PrimitiveTypes.Int32, 2, []*memory.Buffer{nil, ints(1, 2)}, nil, 0, 0)
	for _, tt := range []struct {
		name string
		arr  arrow.Array
		says string
	}{
		{"text that is not UTF-8", texts("a", "\xff"), "UTF-8"},
		{"text that is cut within a character", texts("\xe2\x82", "\xac"), "UTF-8"},
		{"a decimal of too many digits, of 32 bits", decimal(&arrow.Decimal128Type{Precision: 5, Scale: 2}, decimal128.FromI64(100_000)), "digits"},
		{"a decimal of too many digits, of 64 bits", decimal(&arrow.Decimal128Type{Precision: 18, Scale: 2}, decimal128.FromI64(math.MaxInt64)), "digits"},
		{"a decimal of too many digits, of 128 bits", decimal(&arrow.Decimal128Type{Precision: 25, Scale: 2}, decimal128.New(math.MaxInt64, 0)), "digits"},
		{
			"offsets beyond the elements",
			array.NewListData(array.NewData(arrow.ListOf(arrow.PrimitiveTypes.Int32), 1, []*memory.Buffer{nil, ints(0, 1_000_000)}, []arrow.ArrayData{child}, 0, 0)), "malformed",
		},
		{
			"offsets that go back",
			array.NewListData(array.NewData(arrow.ListOf(arrow.PrimitiveTypes.Int32), 2, []*memory.Buffer{nil, ints(0, 2, 1)}, []arrow.ArrayData{child}, 0, 0)), "malformed",
		},
		{
			"indices beyond the dictionary",
			array.NewDictionaryArray(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String},
				array.MakeFromData(array.NewData(arrow.PrimitiveTypes.Int32, 1, []*memory.Buffer{nil, ints(9)}, nil, 0, 0)), texts("a")), "dictionary",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := stageColumn(t, delta.Options{}, tt.arr)
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), tt.says) {
				t.Errorf("Stage = %+v, %v, want a fault.Invalid error that says %q", m, err, tt.says)
			}
		})
	}
	// What lies below a null does not matter.
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.AppendValues([]string{"a", "\xff"}, []bool{true, false})
	if _, err := stageColumn(t, delta.Options{}, b.NewArray()); err != nil {
		t.Error(err)
	}
}

func TestFilesAndRowGroupsHaveBounds(t *testing.T) {
	wide := strings.Repeat("0123456789abcdef", 1<<12) // 64 KiB
	var values []string
	for i := range 64 {
		values = append(values, fmt.Sprintf("%d%s", i, wide))
	}
	m, err := stageColumn(t, delta.Options{RowGroupBytes: 1 << 20, FileBytes: 1}, texts(values...))
	if err != nil {
		t.Fatal(err)
	}
	// A file for each row group, of at most 1 MiB of text: 15 rows.
	if len(m.Files) != 5 || m.Rows() != 64 {
		t.Errorf("%d files of %d rows", len(m.Files), m.Rows())
	}
	for i, f := range m.Files {
		if f.Rows > 15 {
			t.Errorf("file %d has %d rows", i, f.Rows)
		}
		if s := f.Stats[0]; s.Min.Kind != engine.TextValue || len(s.Min.Text) > 64 || len(s.Max.Text) > 64 || s.Max.Text < s.Min.Text {
			t.Errorf("file %d has bounds %q and %q", i, s.Min.Text, s.Max.Text)
		}
	}
	// One row that is over the bound by itself is a row group.
	if m, err := stageColumn(t, delta.Options{RowGroupBytes: 10}, texts(wide, wide, "")); err != nil || m.Rows() != 3 {
		t.Errorf("wide rows: %d rows, %v", m.Rows(), err)
	}
	// Small batches make full row groups.
	var small []arrow.Array
	for i := range 500 {
		small = append(small, texts(fmt.Sprint(i), "x"))
	}
	if m, err := stageColumn(t, delta.Options{RowGroupRows: 300, FileBytes: 1}, small...); err != nil || len(m.Files) != 4 || m.Files[0].Rows != 300 || m.Files[3].Rows != 100 {
		t.Errorf("%d files, %v", len(m.Files), err)
	}
}

// A dictionary of long values does not unfold in memory all at once.
func TestLongDictionaryValues(t *testing.T) {
	values := texts(strings.Repeat("a", 1<<20), strings.Repeat("b", 1<<20))
	b := array.NewInt8Builder(memory.DefaultAllocator)
	for i := range 40 {
		b.Append(int8(i % 2))
	}
	m, err := stageColumn(t, delta.Options{}, array.NewDictionaryArray(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, b.NewArray(), values))
	if err != nil || m.Rows() != 40 {
		t.Fatalf("%d rows, %v", m.Rows(), err)
	}
	if m.Bytes() > 1<<22 {
		t.Errorf("two values take %d bytes", m.Bytes())
	}
}

// Statistics are bounds of the values that are there, of every row group.
func TestStagedStatistics(t *testing.T) {
	schema := enginetest.Schema(t,
		arrow.Field{Name: "u", Type: arrow.PrimitiveTypes.Uint64, Nullable: true},
		arrow.Field{Name: "o", Type: arrow.StructOf(
			arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
			arrow.Field{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true},
		), Nullable: true},
		arrow.Field{Name: "ns", Type: &arrow.TimestampType{Unit: arrow.Nanosecond}, Nullable: true},
		arrow.Field{Name: "bin", Type: arrow.BinaryTypes.Binary, Nullable: true})
	m, err := delta.New(mem.New(), delta.Options{RowGroupRows: 2}).Table("t").Stage(t.Context(), schema, enginetest.Rows(enginetest.Batch(t, schema, `[
		{"u":5,"o":{"x":1.5,"l":[1]},"ns":"1970-01-01 00:00:00.000000007"},
		{"u":null,"o":null,"ns":"1970-01-01 00:00:00.000000003"},
		{"u":18446744073709551615,"o":{"x":-2,"l":null},"ns":null,"bin":"AA=="},
		{"u":7,"o":{"x":null,"l":[]},"ns":null}]`)))
	if err != nil {
		t.Fatal(err)
	}
	value := func(k engine.ValueKind, n int64, f float64, text string) engine.Value {
		return engine.Value{Kind: k, Int: n, Float: f, Text: text}
	}
	want := []engine.ColumnStats{
		{Path: []string{"u"}, Nulls: 1, Min: value(engine.DecimalValue, 0, 0, "5"), Max: value(engine.DecimalValue, 0, 0, "18446744073709551615")},
		{Path: []string{"o", "x"}, Nulls: 2, Min: value(engine.FloatValue, 0, -2, ""), Max: value(engine.FloatValue, 0, 1.5, "")},
		{Path: []string{"ns"}, Nulls: 2, Min: value(engine.IntValue, 3, 0, ""), Max: value(engine.IntValue, 7, 0, "")},
		{Path: []string{"bin"}, Nulls: 3},
	}
	if diff := cmp.Diff(want, m.Files[0].Stats); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
}

// The engine does not need the exact schema to be one that it made.
func TestStageOfASchemaThatCannotBeKept(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: arrow.FixedWidthTypes.Float16}}, nil)
	_, err := delta.New(mem.New(), delta.Options{}).Table("t").Stage(t.Context(), schema, enginetest.Rows())
	if !errors.Is(err, engine.ErrUnsupported) {
		t.Errorf("Stage = %v", err)
	}
}

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/lakeward/lake/fault"
)

// batches is a result in memory, which may end in an error.
type batches struct {
	schema *arrow.Schema
	all    []arrow.RecordBatch
	err    error
}

func (b batches) Schema() *arrow.Schema { return b.schema }

func (b batches) Batches() iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for _, r := range b.all {
			if !yield(r, nil) {
				return
			}
		}
		if b.err != nil {
			yield(nil, b.err)
		}
	}
}

// of returns a result whose rows are JSON, one batch for each line.
func of(t testing.TB, fields []arrow.Field, lines ...string) batches {
	t.Helper()
	out := batches{schema: arrow.NewSchema(fields, nil)}
	for _, line := range lines {
		b, _, err := array.RecordFromJSON(memory.DefaultAllocator, out.schema, strings.NewReader(line))
		if err != nil {
			t.Fatal(err)
		}
		out.all = append(out.all, b)
	}
	return out
}

func column(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

func printed(t testing.TB, p printer, r result) string {
	t.Helper()
	var b bytes.Buffer
	p.out = bufio.NewWriter(&b)
	if _, err := p.rows(r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var two = []arrow.Field{column("id", arrow.PrimitiveTypes.Int64), column("name", arrow.BinaryTypes.String)}

func TestPrintTellsNullsFromTexts(t *testing.T) {
	r := of(t, two, `[{"id":1,"name":"a,b"},{"id":null,"name":null}]`, `[{"id":3,"name":""},{"id":4,"name":"NULL"}]`)
	for _, tt := range []struct {
		p    printer
		want string
	}{
		{printer{format: formatTable}, "  id  name\n────  ──────\n   1  a,b\nNULL  NULL\n   3  \n   4  \"NULL\"\n(4 rows)\n"},
		{printer{format: formatTable, color: true}, "  id  name\n────  ──────\n   1  a,b\n\x1b[2mNULL\x1b[0m  \x1b[2mNULL\x1b[0m\n   3  \n   4  \"NULL\"\n(4 rows)\n"},
		{printer{format: formatCSV}, "id,name\n1,\"a,b\"\n,\n3,\"\"\n4,NULL\n"},
		{printer{format: formatNDJSON}, "{\"id\":1,\"name\":\"a,b\"}\n{\"id\":null,\"name\":null}\n{\"id\":3,\"name\":\"\"}\n{\"id\":4,\"name\":\"NULL\"}\n"},
	} {
		if got := printed(t, tt.p, r); got != tt.want {
			t.Errorf("%+v:\n%s\nwant\n%s", tt.p, got, tt.want)
		}
	}
}

func TestPrintFitsTheTerminal(t *testing.T) {
	r := of(t, two, fmt.Sprintf(`[{"id":1,"name":%q},{"id":2,"name":"日本語の長い名前です"}]`, strings.Repeat("x", 100)))
	for _, tt := range []struct {
		width int
		want  string
	}{
		{0, "id  name\n──  " + strings.Repeat("─", 60) + "\n 1  " + strings.Repeat("x", 59) + "…\n 2  日本語の長い名前です\n(2 rows)\n"},
		{20, "id  name\n──  " + strings.Repeat("─", 16) + "\n 1  xxxxxxxxxxxxxxx…\n 2  日本語の長い名…\n(2 rows)\n"},
		{9, "─ row 1\nid   │ 1\nname │ xxxxx…\n─ row 2\nid   │ 2\nname │ 日本…\n(2 rows)\n"},
	} {
		if got := printed(t, printer{format: formatTable, width: tt.width}, r); got != tt.want {
			t.Errorf("width %d:\n%s\nwant\n%s", tt.width, got, tt.want)
		}
	}
}

func TestPrintKeepsTheTerminalSafe(t *testing.T) {
	r := of(t, two, `[{"id":1,"name":"a\u001b[2Jb\nc\u202e"}]`)
	if got := printed(t, printer{format: formatTable}, r); strings.ContainsAny(got, "\x1b\u202e") || !strings.Contains(got, "a�[2Jb�c�") {
		t.Errorf("%q", got)
	}
}

func TestPrintStreamsLongTables(t *testing.T) {
	var rows []string
	for i := range tableLookahead + 1 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"name":"a"}`, i))
	}
	rows = append(rows, `{"id":1,"name":"longer than the first"}`)
	got := printed(t, printer{format: formatTable}, of(t, two, "["+strings.Join(rows, ",")+"]"))
	lines := strings.Split(got, "\n")
	if want := fmt.Sprintf("(%d rows)", len(rows)); lines[len(lines)-2] != want || !strings.HasSuffix(lines[len(lines)-3], "longer than the first") {
		t.Errorf("the end is %q", lines[len(lines)-3:])
	}
	if got := printed(t, printer{format: formatTable}, of(t, two)); got != "id  name\n──  ────\n(0 rows)\n" {
		t.Errorf("nothing is printed as %q", got)
	}
}

// Binary formats come back with the types they had.
func TestPrintArrowAndParquet(t *testing.T) {
	fields := []arrow.Field{
		column("u", arrow.PrimitiveTypes.Uint8), column("s", arrow.BinaryTypes.LargeString),
		column("v", arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)), column("t", &arrow.TimestampType{Unit: arrow.Nanosecond}),
	}
	r := of(t, fields, `[{"u":1,"s":"a","v":[1,2],"t":"2024-01-01 00:00:00.000000001"}]`, `[{"u":null,"s":null,"v":null,"t":null}]`)
	want := printed(t, printer{format: formatNDJSON}, r)

	stream, err := ipc.NewReader(strings.NewReader(printed(t, printer{format: formatArrow}, r)))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Release()
	back := batches{schema: stream.Schema()}
	for stream.Next() {
		b := stream.RecordBatch()
		b.Retain()
		back.all = append(back.all, b)
	}
	if got := printed(t, printer{format: formatNDJSON}, back); got != want || !back.schema.Equal(r.schema) || stream.Err() != nil {
		t.Errorf("arrow: %s of %s (%v), want %s of %s", got, back.schema, stream.Err(), want, r.schema)
	}

	f, err := file.NewParquetReader(strings.NewReader(printed(t, printer{format: formatParquet}, r)))
	if err != nil {
		t.Fatal(err)
	}
	pq, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	table, err := pq.ReadTable(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer table.Release()
	for i, f := range table.Schema().Fields() {
		if !arrow.TypeEqual(f.Type, fields[i].Type) {
			t.Errorf("parquet: column %s is %s, want %s", f.Name, f.Type, fields[i].Type)
		}
	}
	back = batches{schema: table.Schema()}
	all := array.NewTableReader(table, 0)
	defer all.Release()
	for all.Next() {
		b := all.RecordBatch()
		b.Retain()
		back.all = append(back.all, b)
	}
	if got := printed(t, printer{format: formatNDJSON}, back); got != want {
		t.Errorf("parquet: %s, want %s", got, want)
	}
}

func TestPrintParquetInBoundedRowGroups(t *testing.T) {
	var rows []string
	for i := range 1000 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"name":"a"}`, i))
	}
	r := of(t, two, "["+strings.Join(rows, ",")+"]")
	r.all = slices.Repeat(r.all, 300)
	f, err := file.NewParquetReader(strings.NewReader(printed(t, printer{format: formatParquet}, r)))
	if err != nil {
		t.Fatal(err)
	}
	if n := f.NumRowGroups(); n < 3 || f.NumRows() != 300_000 {
		t.Errorf("%d rows in %d row groups", f.NumRows(), n)
	}
	for i := range f.NumRowGroups() {
		if n := f.MetaData().RowGroups[i].NumRows; n > rowGroupRowsMax {
			t.Errorf("a row group of %d rows", n)
		}
	}
}

// A file appears when it is complete, and not at all otherwise.
func TestOutputFileIsWholeOrAbsent(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out.parquet")
	lost := fault.New(fault.Unavailable, "lost")
	for _, fails := range []error{lost, nil} {
		out, err := openSink(name, formatParquet)
		if err != nil {
			t.Fatal(err)
		}
		r := of(t, two, `[{"id":1,"name":"a"}]`)
		r.err = fails
		_, err = printer{out: out.Writer, format: formatParquet}.rows(r)
		if err = out.end(err); !errors.Is(err, fails) {
			t.Errorf("%v, want %v", err, fails)
		}
		entries, err := os.ReadDir(filepath.Dir(name))
		if err != nil || fails != nil && len(entries) != 0 || fails == nil && (len(entries) != 1 || entries[0].Name() != "out.parquet") {
			t.Errorf("after %v there is %v (%v)", fails, entries, err)
		}
	}
	if _, err := openSink(filepath.Join(name, "x"), formatCSV); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a folder that is a file: %v", err)
	}
}

func TestScriptStopsAtTheFirstErrorWithItsNumber(t *testing.T) {
	bad := fault.New(fault.Invalid, "no such column")
	for _, tt := range []struct {
		name, text string
		ran        []string
		says       string
	}{
		{"all run", "a;\nb", []string{"a", "b"}, ""},
		{"the second fails", "a;\n\nbad; c;", []string{"a", "bad"}, "statement 2, in line 3: no such column"},
		{"an open quote runs nothing", "a; 'b;", []string{"a"}, "statement 2"},
		{"an open comment", "a; /* b;", []string{"a"}, "close it"},
		{"an endless statement", strings.Repeat("x", statementBytesMax+1), nil, "longer than"},
	} {
		var ran []string
		err := script(strings.NewReader(tt.text), func(sql string) error {
			if ran = append(ran, sql); sql == "bad" {
				return bad
			}
			return nil
		})
		if !slices.Equal(ran, tt.ran) || tt.says == "" && err != nil || !strings.Contains(fmt.Sprint(err), tt.says) {
			t.Errorf("%s: ran %q, %v", tt.name, ran, err)
		}
	}
}

package exec_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/exec"
)

// A sharedTable is one that both engines read. Each row is one JSON object.
type sharedTable struct {
	name   string
	fields []arrow.Field
	files  [][]string // rows of each; none for a table without files
}

func field(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

var sharedTables = []sharedTable{
	{"main.people", []arrow.Field{
		field("id", arrow.PrimitiveTypes.Int64), field("name", arrow.BinaryTypes.String), field("born", arrow.FixedWidthTypes.Date32),
		field("height", arrow.PrimitiveTypes.Float64), field("team", arrow.BinaryTypes.String),
	}, [][]string{{
		`{"id": 1, "name": "Ada", "born": "1815-12-10", "height": 1.65, "team": "red"}`,
		`{"id": 2, "name": "Alan", "born": "1912-06-23", "height": 1.8, "team": "blue"}`,
		`{"id": 3, "name": "Grace", "born": "1906-12-09", "height": 1.5, "team": "red"}`,
	}, {
		`{"id": 4, "name": "Edsger", "born": "1930-05-11", "height": null, "team": null}`,
		`{"id": 5, "name": "Barbara", "born": null, "height": 1.75, "team": "blue"}`,
	}}},
	{"ns.orders", []arrow.Field{
		field("id", arrow.PrimitiveTypes.Int64), field("person_id", arrow.PrimitiveTypes.Int64),
		field("amount", &arrow.Decimal128Type{Precision: 10, Scale: 2}), field("at", &arrow.TimestampType{Unit: arrow.Microsecond}),
		field("tags", arrow.ListOf(arrow.BinaryTypes.String)),
	}, [][]string{{
		`{"id": 1, "person_id": 1, "amount": "9.50", "at": "2020-01-01T00:00:00", "tags": ["a", "b"]}`,
		`{"id": 2, "person_id": 1, "amount": "20.00", "at": "2020-01-02T10:30:00.5", "tags": []}`,
		`{"id": 3, "person_id": 3, "amount": "7.25", "at": null, "tags": null}`,
		`{"id": 4, "person_id": 9, "amount": null, "at": "2021-06-01T00:00:00", "tags": ["c", null]}`,
	}}},
	{"other.orders", []arrow.Field{
		field("id", arrow.PrimitiveTypes.Int64), field("note", arrow.BinaryTypes.String),
	}, [][]string{{`{"id": 2, "note": "two"}`, `{"id": 3, "note": null}`, `{"id": 8, "note": "eight"}`}}},
	{"ns.events", []arrow.Field{
		field("ts", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}), field("robot", arrow.BinaryTypes.String),
		field("joints", arrow.ListOf(arrow.PrimitiveTypes.Float64)),
		field("pose", arrow.StructOf(field("x", arrow.PrimitiveTypes.Float64), field("y", arrow.PrimitiveTypes.Float64))),
		field("attrs", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32)),
		field("payload", arrow.BinaryTypes.String), field("raw", arrow.BinaryTypes.Binary), field("ok", arrow.FixedWidthTypes.Boolean),
		field("small", arrow.PrimitiveTypes.Int16), field("f", arrow.PrimitiveTypes.Float32),
	}, [][]string{{
		`{"ts": "2024-05-01T10:00:00Z", "robot": "r1", "joints": [1.0, 2.0, 3.0], "pose": {"x": 1.0, "y": 2.0}, "attrs": [{"key": "a", "value": 1}], "payload": "{\"k\": 1}", "raw": "AAEC", "ok": true, "small": 7, "f": 0.5}`,
		`{"ts": "2024-05-01T10:59:00Z", "robot": "r1", "joints": [], "pose": {"x": -1.0, "y": null}, "attrs": [], "payload": "{\"k\": \"1\"}", "raw": "", "ok": false, "small": null, "f": 1.5}`,
		`{"ts": null, "robot": "r2", "joints": null, "pose": null, "attrs": null, "payload": null, "raw": null, "ok": null, "small": -3, "f": null}`,
	}}},
	{"ns.nothing", []arrow.Field{field("a", arrow.PrimitiveTypes.Int64), field("b", arrow.BinaryTypes.String)}, nil},
}

// Statements are rebuilt from the checked tree before they run. What a caller
// gets must be what his own text means.
func TestLakeAnswersAsThePlainEngine(t *testing.T) {
	one := func(o *exec.Options) { o.Threads = 1 } // or aggregates see rows in any order
	l := openLake(t, one)
	plain := openPlain(t)
	share(t, l, plain)
	files, err := filepath.Glob("testdata/sql/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	ran, answered := 0, 0
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for i, sql := range strings.Split(string(b), "\n") {
			if sql == "" || strings.HasPrefix(sql, "#") {
				continue
			}
			ran++
			t.Run(fmt.Sprintf("%s:%d", filepath.Base(f), i+1), func(t *testing.T) {
				if compare(t, l, plain, sql) {
					answered++
				}
			})
		}
	}
	if answered < 300 {
		t.Errorf("only %d of %d statements had an answer", answered, ran)
	}
}

func openPlain(t *testing.T) *exec.Plain {
	t.Helper()
	plain, err := exec.OpenPlain()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plain.Close)
	return plain
}

func share(t *testing.T, l *lake, plain *exec.Plain) {
	t.Helper()
	must := func(sql string) {
		if err := plain.Exec(sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	must("SET TimeZone = 'UTC'")
	must("SET threads = 1")
	must("ATTACH ':memory:' AS lake")
	must("USE lake")
	for _, s := range []string{"ns", "other", "tpch"} {
		must("CREATE SCHEMA " + s)
	}
	for _, st := range append(tpchTables(), sharedTables...) {
		schema := arrow.NewSchema(st.fields, nil)
		var columns []engine.Column
		for _, f := range st.fields {
			columns = append(columns, engine.Column{Source: f.Name, Stored: f.Type, Exact: f})
		}
		var batches []arrow.RecordBatch
		for _, rows := range st.files {
			b, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader("["+strings.Join(rows, ",")+"]"))
			if err != nil {
				t.Fatalf("%s: %v", st.name, err)
			}
			batches = append(batches, b)
		}
		l.add(t, st.name, columns, batches...)
		var paths []string
		for _, s := range l.tables {
			for _, f := range s.Files {
				if len(s.Columns) == len(columns) && &s.Columns[0] == &columns[0] {
					paths = append(paths, "'"+filepath.Join(l.data, f.Object)+"'")
				}
			}
		}
		if paths == nil {
			must("CREATE TABLE " + st.name + " (a BIGINT, b VARCHAR)")
			continue
		}
		must("CREATE VIEW " + st.name + " AS FROM read_parquet([" + strings.Join(paths, ", ") + "])")
	}
}

// compare reports whether the statement has an answer; it may fail on both.
func compare(t *testing.T, l *lake, plain *exec.Plain, sql string) bool {
	wantSchema, wantRows, wantErr := plain.Query(sql)
	got, err := l.run(t.Context(), sql)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%s\nlake: %v\nplain: %v", sql, err, wantErr)
	}
	if err != nil {
		t.Logf("%s\nlake: %v\nplain: %v", sql, err, wantErr)
		return false
	}
	q, err := l.query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	if described, err := l.pool.Describe(t.Context(), q); err != nil || !described.Result.Equal(got.schema) {
		t.Errorf("%s\ndescribed as %v, %v\nbut is %v", sql, described.Result, err, got.schema)
	}
	if d := cmp.Diff(schemaText(wantSchema), schemaText(got.schema)); d != "" {
		t.Errorf("%s\nschema (-plain +lake):\n%s", sql, d)
	}
	want, have := rowTexts(wantRows), rowTexts(got.batches)
	if !ordered(sql) {
		slices.Sort(want)
		slices.Sort(have)
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("%s\nrows (-plain +lake):\n%s", sql, d)
	}
	return true
}

// ordered reports whether the last clause of a statement is ORDER BY, or its
// last words say so.
func ordered(sql string) bool {
	return strings.LastIndex(sql, "ORDER BY") > strings.LastIndex(sql, ")") || strings.HasSuffix(sql, "-- ordered")
}

// schemaText lists names and types; names below lists are not the engine's.
func schemaText(s *arrow.Schema) []string {
	var lines []string
	for _, f := range s.Fields() {
		lines = append(lines, f.Name+" "+typeText(f.Type))
	}
	return lines
}

func typeText(t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.StructType:
		var fields []string
		for _, f := range t.Fields() {
			fields = append(fields, f.Name+" "+typeText(f.Type))
		}
		return "struct<" + strings.Join(fields, ", ") + ">"
	case *arrow.MapType:
		return "map<" + typeText(t.KeyType()) + ", " + typeText(t.ItemType()) + ">"
	case *arrow.FixedSizeListType:
		return fmt.Sprintf("%s[%d]", typeText(t.Elem()), t.Len())
	case arrow.ListLikeType:
		return typeText(t.Elem()) + "[]"
	}
	return t.String()
}

func rowTexts(batches []arrow.RecordBatch) []string {
	var rows []string
	for _, b := range batches {
		for i := range int(b.NumRows()) {
			var cells []string
			for _, c := range b.Columns() {
				cells = append(cells, c.ValueStr(i))
			}
			rows = append(rows, strings.Join(cells, " | "))
		}
	}
	return rows
}

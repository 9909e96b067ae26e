package exec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
)

// listed runs a statement over a directory of two tables.
func (l *lake) listed(t *testing.T, sql string) string {
	t.Helper()
	q, err := l.query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	q.Directory = []engine.Listed{
		{Table: ident.Table{Namespace: "main", Name: "it"}, Schema: arrow.NewSchema([]arrow.Field{
			{Name: "id", Type: arrow.PrimitiveTypes.Int64}, field("it's \"quoted\"", arrow.BinaryTypes.String),
		}, nil)},
		{Table: ident.Table{Namespace: "ns", Name: "things"}, Schema: arrow.NewSchema([]arrow.Field{
			field("d", &arrow.Decimal128Type{Precision: 10, Scale: 2}), field("ts", &arrow.TimestampType{Unit: arrow.Nanosecond}),
			field("l", arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32)), field("w", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}),
		}, nil)},
	}
	r, err := l.pool.Query(t.Context(), q)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer r.Close()
	res, err := collect(t.Context(), r)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if d, err := l.pool.Describe(t.Context(), q); err != nil || !d.Result.Equal(res.schema) {
		t.Errorf("%s\ndescribed as %v, %v\nbut is %v", sql, d.Result, err, res.schema)
	}
	return strings.Join(rowTexts(res.batches), "; ")
}

func TestInformationSchema(t *testing.T) {
	l := openLake(t, nil)
	l.add(t, "ns.numbers", numberColumns, numbers(3))
	for _, tt := range []struct{ sql, want string }{
		{"SHOW TABLES", "it; ns.things"},
		{"SELECT schema_name FROM information_schema.schemata", "main; ns"},
		{"SELECT table_catalog, table_schema, table_name, table_type FROM information_schema.tables", "lake | main | it | BASE TABLE; lake | ns | things | BASE TABLE"},
		{
			"SELECT column_name, data_type, numeric_precision FROM information_schema.columns WHERE table_name = 'things'",
			"d | DECIMAL(10,2) | 10; ts | TIMESTAMP_NS | (null); l | FLOAT[3] | (null); w | VARCHAR | (null)",
		},
		{
			"SELECT c.column_name, is_nullable, ordinal_position FROM information_schema.columns AS c JOIN information_schema.tables AS t USING (table_schema, table_name) WHERE t.table_schema = 'main' ORDER BY ordinal_position",
			"id | NO | 1; it's \"quoted\" | YES | 2",
		},
		{"SELECT information_schema.tables.table_name FROM information_schema.tables ORDER BY 1 LIMIT 1", "it"},
		{"SELECT name, column_types FROM (SHOW ALL TABLES) WHERE schema = 'ns'", `things | ["DECIMAL(10,2)","TIMESTAMP_NS","FLOAT[3]","VARCHAR"]`},
		{"SELECT (SELECT count(*) FROM information_schema.columns) + count(*) FROM ns.numbers", "9"},
		{"WITH tables AS (SELECT 1 AS x) SELECT (SELECT count(*) FROM information_schema.tables), x FROM tables", "2 | 1"},
	} {
		if got := l.listed(t, tt.sql); got != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.sql, got, tt.want)
		}
	}
}

func TestInformationSchemaHasTheEnginesColumns(t *testing.T) {
	l := openLake(t, nil)
	plain := openPlain(t)
	for _, sql := range []string{
		"FROM information_schema.schemata LIMIT 0", "FROM information_schema.tables LIMIT 0", "FROM information_schema.columns LIMIT 0", "FROM (SHOW TABLES) LIMIT 0", "FROM (SHOW ALL TABLES) LIMIT 0",
	} {
		want, _, err := plain.Query(sql)
		if err != nil {
			t.Fatal(err)
		}
		res, err := l.run(t.Context(), sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if got, want := fmt.Sprint(schemaText(res.schema)), fmt.Sprint(schemaText(want)); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", sql, got, want)
		}
	}
}

func TestAListingIsBounded(t *testing.T) {
	l := openLake(t, nil)
	q := engine.Query{SQL: "SHOW TABLES"}
	for i := range 100_000 {
		q.Directory = append(q.Directory, engine.Listed{Table: ident.Table{Namespace: "main", Name: fmt.Sprintf("t_%050d", i)}, Schema: arrow.NewSchema(nil, nil)})
	}
	if _, err := l.pool.Query(t.Context(), q); fault.KindOf(err) != fault.Exhausted || !strings.Contains(fault.Public(err), "metadata calls") {
		t.Errorf("got %v", err)
	}
}

func TestExplain(t *testing.T) {
	l := openLake(t, nil)
	l.add(t, "ns.numbers", numberColumns, numbers(3000))
	l.add(t, "other.numbers", numberColumns, numbers(10))
	for _, tt := range []struct {
		sql  string
		says []string
	}{
		{"EXPLAIN SELECT name FROM ns.numbers WHERE id > 5", []string{"physical_plan", "READ_PARQUET", "id>5"}},
		{"/* why */ explain -- so\n SELECT count(*) FROM ns.numbers AS a JOIN other.numbers AS b ON a.id = b.id", []string{"HASH_JOIN", "id = id"}},
		{"EXPLAIN ANALYZE SELECT name FROM ns.numbers WHERE id = 77", []string{"analyzed_plan", "total: ", "1 rows"}},
		{"EXPLAIN SELECT ns.numbers.id, other.numbers.id FROM ns.numbers, other.numbers WHERE ns.numbers.id < other.numbers.id", []string{"JOIN"}},
		{"EXPLAIN SUMMARIZE ns.numbers", []string{"physical_plan"}},
	} {
		res, err := l.run(t.Context(), tt.sql)
		if err != nil {
			t.Errorf("%s: %v", tt.sql, err)
			continue
		}
		got := strings.Join(rowTexts(res.batches), "\n")
		for _, s := range tt.says {
			if !strings.Contains(got, s) {
				t.Errorf("%s: no %q in\n%s", tt.sql, s, got)
			}
		}
		for _, s := range []string{"__lake", "/in/", "/run/", ".parquet", "temp."} {
			if strings.Contains(got, s) {
				t.Errorf("%s: %q in\n%s", tt.sql, s, got)
			}
		}
		q, err := l.query(t.Context(), tt.sql)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := l.pool.Describe(t.Context(), q); err != nil || !d.Result.Equal(res.schema) {
			t.Errorf("%s: described as %v, %v", tt.sql, d.Result, err)
		}
	}
	_, err := l.run(t.Context(), "EXPLAIN SELECT nme FROM ns.numbers")
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), "LINE 1: EXPLAIN SELECT nme FROM ns.numbers\n                       ^") {
		t.Errorf("an error keeps its place: %v", err)
	}
}

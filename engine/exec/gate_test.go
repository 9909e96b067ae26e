package exec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lakeward/lake/engine/exec"
	"github.com/lakeward/lake/fault"
)

func TestTablesOfAStatement(t *testing.T) {
	l := openLake(t, nil)
	for _, tt := range []struct{ name, sql, tables string }{
		{"no table", "SELECT 1", ""},
		{"one part lies in main", "SELECT * FROM t", "main.t"},
		{"two parts", "SELECT * FROM ns.t", "ns.t"},
		{"three parts with the catalog", "SELECT * FROM lake.ns.t", "ns.t"},
		{"names fold to lower case, quoted ones too", `SELECT * FROM Lake.NS."T"`, "ns.t"},
		{"each once, in the order of the text", "SELECT * FROM b, a.x, b AS again, (FROM a.x)", "main.b a.x"},
		{"in every clause", "SELECT (SELECT max(i) FROM a) FROM b WHERE i IN (FROM c) GROUP BY ALL HAVING (SELECT true FROM d) ORDER BY (SELECT 1 FROM e) LIMIT (SELECT 1 FROM f)", "main.a main.b main.c main.d main.e main.f"},
		{"in join conditions", "FROM a JOIN b ON EXISTS (FROM c WHERE c.i = a.i)", "main.a main.b main.c"},
		{"in set operations", "FROM a UNION ALL FROM b EXCEPT FROM c", "main.a main.b main.c"},
		{"in arguments of table functions", "FROM unnest((SELECT list(i) FROM a))", "main.a"},
		{"in VALUES", "VALUES ((SELECT 1 FROM a))", "main.a"},
		{"in windows and filters", "SELECT sum(x) FILTER (x IN (FROM b)) OVER (PARTITION BY (SELECT 1 FROM c)) FROM a", "main.b main.c main.a"},
		{"in lambdas", "SELECT list_transform([1], lambda x: x + (SELECT 1 FROM b)) FROM a", "main.b main.a"},
		{"a CTE is no table", "WITH c AS (FROM a) FROM c", "main.a"},
		{"a CTE hides a table of its name", "WITH t AS (SELECT 1) FROM t", ""},
		{"a CTE is found without regard to case", "WITH Cte AS (SELECT 1) FROM cTE", ""},
		{"a CTE hides only names of one part", "WITH t AS (SELECT 1) FROM t, main.t", "main.t"},
		{"a CTE does not see itself", "WITH t AS (FROM t) FROM t", "main.t"},
		{"a CTE sees earlier ones", "WITH a AS (SELECT 1), b AS (FROM a) FROM b", ""},
		{"a CTE does not see later ones", "WITH a AS (FROM b), b AS (SELECT 1) FROM a", "main.b"},
		{"a CTE ends with its query", "SELECT * FROM (WITH c AS (SELECT 1) FROM c) JOIN c ON true", "main.c"},
		{"a CTE reaches into subqueries", "WITH c AS (SELECT 1) SELECT (FROM c) FROM (FROM c)", ""},
		{"an inner CTE hides an outer one", "WITH c AS (FROM a) FROM (WITH c AS (FROM b) FROM c)", "main.a main.b"},
		{"a recursive CTE sees itself in its recursive part", "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 3) FROM r", ""},
		{"a recursive CTE does not see itself in its anchor", "WITH RECURSIVE r AS (SELECT i FROM r UNION ALL SELECT i + 1 FROM r WHERE i < 3) FROM r", "main.r"},
		{"a recursive CTE with keys may name what recurs", "WITH RECURSIVE r(a, b) USING KEY (a) AS (SELECT 1, 1 UNION SELECT a, b + 1 FROM recurring.r WHERE b < 3) FROM r", ""},
		{"in DESCRIBE, SUMMARIZE and PIVOT", "SELECT 1 FROM (DESCRIBE a), (SUMMARIZE FROM ns.b), (FROM c PIVOT (sum(x) FOR y IN (1)))", "main.a ns.b main.c"},
		{"of what is explained", "EXPLAIN ANALYZE FROM a", "main.a"},
		{"listings", "SELECT 1 FROM information_schema.Tables t JOIN lake.information_schema.columns USING (table_name), (SHOW TABLES), (SHOW ALL TABLES)", "information_schema.tables information_schema.columns information_schema.show_tables information_schema.show_all_tables"},
		{"a version by number", "FROM t AT (VERSION => 3)", "main.t@version 3"},
		{"versions of one table", "FROM t AT (VERSION => 3) JOIN t AS new USING (id) JOIN t AS again AT (VERSION => 3) USING (id)", "main.t@version 3 main.t"},
		{"a version by time", "FROM ns.t AS x AT (TIMESTAMP => '2026-01-31 12:00:00')", "ns.t@timestamp 2026-01-31T12:00:00.000000Z"},
		{"a time with an offset", "FROM t AT (TIMESTAMP => TIMESTAMPTZ '2026-01-31 12:00:00.5+02')", "main.t@timestamp 2026-01-31T10:00:00.500000Z"},
		{"a day", "FROM t AT (TIMESTAMP => DATE '2026-01-31')", "main.t@timestamp 2026-01-31T00:00:00.000000Z"},
		{"in a subquery", "SELECT (SELECT count(*) FROM t AT (VERSION => 0)) FROM t", "main.t@version 0 main.t"},
		{"recurring is a namespace elsewhere", "FROM recurring.r", "recurring.r"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tables, err := l.pool.Tables(t.Context(), tt.sql)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, n := range tables {
				names = append(names, strings.TrimSuffix(n.Table.String()+"@"+string(n.At), "@"))
			}
			if got := strings.Join(names, " "); got != tt.tables {
				t.Errorf("got %q, want %q", got, tt.tables)
			}
		})
	}
}

func TestTheGateRefuses(t *testing.T) {
	l := openLake(t, nil)
	for _, tt := range []struct {
		name, sql string
		kind      fault.Kind
		says      string
	}{
		{"an empty text", "", fault.Invalid, "empty"},
		{"only a comment", "-- nothing", fault.Invalid, "empty"},
		{"two statements", "SELECT 1; SELECT 2", fault.Invalid, "2 statements"},
		{"a statement behind a query", "SELECT 1; DROP TABLE t", fault.Invalid, ""},
		{"a NUL byte", "SELECT 1\x00; DROP TABLE t", fault.Invalid, "NUL"},
		{"bytes that are not UTF-8", "SELECT '\xff'", fault.Invalid, "UTF-8"},
		{"a text of more than 64 KiB", "SELECT '" + strings.Repeat("x", 64<<10) + "'", fault.Exhausted, "65545"},
		{"an error of the parser, with line and caret", "SELECT 1,\n  FRM t t t", fault.Invalid, "LINE 2:   FRM t t t\n"},
		{"a number beyond DOUBLE", "SELECT 1e400", fault.Invalid, "beyond the range of DOUBLE"},
		{"a change behind WITH", "WITH x AS (SELECT 1) INSERT INTO t FROM x", fault.Invalid, "more than a query"},
		{"INSERT", "INSERT INTO t VALUES (1)", fault.Invalid, "INSERT does not run as a query"},
		{"DELETE after a comment", "/* x */ DELETE FROM t", fault.Invalid, "DELETE does not run as a query"},
		{"CREATE", "CREATE TABLE t AS SELECT 1", fault.Invalid, "CREATE does not"},
		{"COPY", "COPY (SELECT 1) TO '/tmp/x'", fault.Invalid, "COPY does not"},
		{"SET", "SET threads = 1", fault.Invalid, "SET statements do not run"},
		{"PRAGMA", "PRAGMA database_list", fault.Invalid, "PRAGMA statements"},
		{"ATTACH", "ATTACH '/tmp/x.db'", fault.Invalid, "ATTACH statements"},
		{"CALL", "CALL pragma_version()", fault.Invalid, "CALL statements"},
		{"INSTALL", "INSTALL httpfs", fault.Invalid, "INSTALL statements"},
		{"a PIVOT statement", "PIVOT t ON y USING sum(x)", fault.Unsupported, "PIVOT t ON k IN"},
		{"a version that is no number", "FROM t AT (VERSION => '3')", fault.Invalid, "a version's number"},
		{"a version below zero", "FROM t AT (VERSION => -1)", fault.Invalid, "a version's number"},
		{"a version of too many digits", "FROM t AT (VERSION => 99999999999999999999)", fault.Invalid, "a version's number"},
		{"a version that is computed", "FROM t AT (VERSION => (SELECT 1 FROM b))", fault.Invalid, "a version's number"},
		{"a version that is a parameter", "FROM t AT (VERSION => $1)", fault.Invalid, "a version's number"},
		{"a time that is computed", "FROM t AT (TIMESTAMP => now())", fault.Invalid, "takes a time"},
		{"a time that is none", "FROM t AT (TIMESTAMP => 'soon')", fault.Invalid, "takes a time"},
		{"a time of another type", "FROM t AT (TIMESTAMP => TIME '12:00:00')", fault.Invalid, "takes a time"},
		{"a call where a time is wanted", "FROM t AT (TIMESTAMP => getvariable('x')::TIMESTAMP)", fault.Invalid, "takes a time"},
		{"AT of a CTE", "WITH c AS (FROM t) FROM c AT (VERSION => 1)", fault.Invalid, "AT is for tables"},
		{"a file as a table", "FROM 'data.parquet'", fault.Invalid, "cannot read files"},
		{"a path as a table", "FROM '/etc/passwd'", fault.Invalid, "cannot read files"},
		{"a URL as a table", "FROM 's3://bucket/x.parquet'", fault.Invalid, "cannot read files"},
		{"a name that no table has", `FROM "a b"`, fault.Invalid, "not valid"},
		{"another catalog", "FROM memory.main.t", fault.Invalid, `catalog "memory"`},
		{"the worker's own views", "FROM temp.main.__lake_0", fault.Invalid, `catalog "temp"`},
		{"a table that information_schema lacks", "FROM information_schema.views", fault.Unsupported, "information_schema.views"},
		{"a listing by its inner name", "FROM information_schema.show_tables", fault.Unsupported, "show_tables"},
		{"information_schema of another time", "FROM information_schema.tables AT (VERSION => 1)", fault.Invalid, "leave AT out"},
		{"SHOW DATABASES", "SHOW DATABASES", fault.Unsupported, "information_schema"},
		{"SHOW TABLES FROM", "SHOW TABLES FROM ns", fault.Unsupported, "information_schema"},
		{"DESCRIBE of a file", "DESCRIBE 'x.parquet'", fault.Invalid, "cannot read files"},
		{"DESCRIBE of a denied function", "DESCRIBE SELECT getvariable('x')", fault.Invalid, "may not be called"},
		{"SUMMARIZE of a file", "SUMMARIZE SELECT * FROM read_text('/etc/passwd')", fault.Invalid, "table function"},
		{"a PIVOT in a CTE without its values", "WITH p AS (PIVOT t ON y USING sum(x)) FROM p", fault.Unsupported, "PIVOT t ON k IN"},
		{"a denied function in PIVOT", "FROM t PIVOT (sum(getvariable(x)) FOR y IN (1))", fault.Invalid, "may not be called"},
		{"a denied function in what PIVOT is over", "FROM t PIVOT (sum(x) FOR nextval(y) IN (1))", fault.Invalid, "may not be called"},
		{"EXPLAIN of a change", "EXPLAIN INSERT INTO t VALUES (1)", fault.Invalid, "INSERT does not run"},
		{"EXPLAIN of two statements", "EXPLAIN SELECT 1; SELECT 2", fault.Invalid, "2 statements"},
		{"EXPLAIN with options", "EXPLAIN (FORMAT json) SELECT 1", fault.Unsupported, "no options"},
		{"EXPLAIN of EXPLAIN", "EXPLAIN EXPLAIN SELECT 1", fault.Invalid, "EXPLAIN once"},
		{"EXPLAIN ANALYZE of a denied function", "EXPLAIN /* x */ ANALYZE SELECT write_log('x')", fault.Invalid, "may not be called"},
		{"EXPLAIN of nothing", "EXPLAIN", fault.Invalid, "empty"},
		{"pg_catalog", "FROM pg_catalog.pg_class", fault.Unsupported, "pg_catalog"},
		{"the catalog system", "FROM system.information_schema.tables", fault.Invalid, "catalog"},
		{"more than 64 tables", "FROM t0" + manyTables(64), fault.Exhausted, "64 tables"},
		{"a function that does not exist", "SELECT nope(1)", fault.Invalid, `"nope" does not exist`},
		{"a denied function in any case", "SELECT GetVariable('x')", fault.Invalid, "may not be called"},
		{"a denied function by its schema", "SELECT main.getvariable('x')", fault.Invalid, "may not be called"},
		{"a denied function as a window", "SELECT write_log('x') OVER ()", fault.Invalid, "may not be called"},
		{"a denied function as a method", "SELECT ('x').getvariable()", fault.Invalid, "may not be called"},
		{"a denied function in a default", "SELECT lag(x, 1, nextval('s')) OVER () FROM t", fault.Invalid, "may not be called"},
		{"a denied function in a lambda", "SELECT list_transform([1], lambda x: current_setting('threads'))", fault.Invalid, "may not be called"},
		{"a denied function in ORDER BY", "FROM t ORDER BY pg_sleep(1)", fault.Invalid, "may not be called"},
		{"a denied function in an aggregate's order", "SELECT list(x ORDER BY sleep_ms(5)) FROM t", fault.Invalid, "may not be called"},
		{"a denied function in LIMIT", "FROM t LIMIT currval('x')", fault.Invalid, "may not be called"},
		{"a denied function as a table's argument", "FROM range(nextval('s'))", fault.Invalid, "may not be called"},
		{"a scalar function as a table", "FROM lower('x')", fault.Invalid, "table function"},
		{"a table function as a scalar", "SELECT read_text('x')", fault.Invalid, "does not exist"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := l.pool.Tables(t.Context(), tt.sql)
			if fault.KindOf(err) != tt.kind || err == nil || !strings.Contains(fault.Public(err), tt.says) {
				t.Errorf("got %v (%v), want %v with %q", err, fault.KindOf(err), tt.kind, tt.says)
			}
		})
	}
}

func manyTables(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ", t%d", i+1)
	}
	return b.String()
}

// Every table function and every pragma but the few that make rows of their
// arguments must be refused before anything binds.
func TestNoTableFunctionReadsAnything(t *testing.T) {
	l := openLake(t, nil)
	allowed := []string{"range", "generate_series", "unnest", "repeat", "json_each", "json_tree"}
	seen := 0
	for line := range strings.Lines(exec.FunctionVerdicts()) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] != "table" && f[0] != "pragma" || slices.Contains(allowed, f[1]) {
			continue
		}
		seen++
		for _, call := range []string{"FROM " + f[1] + "()", "FROM " + strings.ToUpper(f[1]) + "('x')", "FROM main." + f[1] + "('x')"} {
			if _, err := l.pool.Tables(t.Context(), call); fault.KindOf(err) != fault.Invalid || err == nil {
				t.Errorf("%s: %v", call, err)
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d functions were tried", seen)
	}
}

// The allow-list is about the functions of one engine. An upgrade that adds or
// drops one fails here until somebody has classified it.
func TestEveryFunctionOfTheEngineIsClassified(t *testing.T) {
	p, err := exec.OpenPlain()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, batches, err := p.Query(`SELECT DISTINCT CASE WHEN function_type IN ('table', 'table_macro') THEN 'table'
		WHEN function_type = 'pragma' THEN 'pragma' ELSE 'call' END || ' ' || function_name AS f FROM duckdb_functions() ORDER BY ALL`)
	if err != nil {
		t.Fatal(err)
	}
	var catalog, classified []string
	for _, b := range batches {
		for i := range int(b.NumRows()) {
			catalog = append(catalog, b.Column(0).ValueStr(i))
		}
	}
	for line := range strings.Lines(exec.FunctionVerdicts()) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] == "#" || f[0] == "builtin" {
			continue
		}
		if f[2] != "allow" && f[2] != "deny" {
			t.Errorf("line %q says neither allow nor deny", line)
		}
		classified = append(classified, f[0]+" "+f[1])
	}
	slices.Sort(catalog)
	slices.Sort(classified)
	if d := cmp.Diff(classified, catalog); d != "" {
		t.Errorf("functions.txt and the engine's catalog differ (-file +catalog):\n%s", d)
	}
}

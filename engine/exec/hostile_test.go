package exec_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lakeward/lake/engine/exec"
	"github.com/lakeward/lake/fault"
)

// patterns grow with k. The engine's parser takes time and memory that grow
// faster.
var patterns = map[string]func(k int) string{
	"parentheses": func(k int) string { return "SELECT " + strings.Repeat("(", k) + "1" + strings.Repeat(")", k) },
	"plus":        func(k int) string { return "SELECT 1" + strings.Repeat("+1", k) },
	"not":         func(k int) string { return "SELECT " + strings.Repeat("NOT ", k) + "true" },
	"subqueries":  func(k int) string { return strings.Repeat("SELECT * FROM (", k) + "SELECT 1" + strings.Repeat(")", k) },
	"union all":   func(k int) string { return "SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", k) },
	"lists":       func(k int) string { return "SELECT " + strings.Repeat("[", k) + "1" + strings.Repeat("]", k) },
	"case": func(k int) string {
		return "SELECT " + strings.Repeat("CASE WHEN true THEN ", k) + "1" + strings.Repeat(" END", k)
	},
	"and":           func(k int) string { return "SELECT true" + strings.Repeat(" AND true", k) },
	"joins":         func(k int) string { return "SELECT 1 FROM t" + strings.Repeat(" JOIN t USING (a)", k) },
	"casts":         func(k int) string { return "SELECT 1" + strings.Repeat("::int", k) },
	"concatenation": func(k int) string { return "SELECT ''" + strings.Repeat("||''", k) },
	"arrows":        func(k int) string { return "SELECT a" + strings.Repeat("->'x'", k) },
	"dots":          func(k int) string { return "SELECT a" + strings.Repeat(".b", k) },
	"with": func(k int) string {
		return strings.Repeat("WITH x AS (", k) + "SELECT 1" + strings.Repeat(") SELECT * FROM x", k)
	},
	"in": func(k int) string { return "SELECT 1 IN (1" + strings.Repeat(",1", k) + ")" },
	"struct types": func(k int) string {
		return "SELECT NULL::" + strings.Repeat("STRUCT(a ", k) + "INT" + strings.Repeat(")", k)
	},
	"array types": func(k int) string { return "SELECT NULL::INT" + strings.Repeat("[]", k) },
	"minus":       func(k int) string { return "SELECT " + strings.Repeat("- ", k) + "1" },
	"lambdas": func(k int) string {
		return "SELECT " + strings.Repeat("list_transform([1], lambda x: ", k) + "1" + strings.Repeat(")", k)
	},
	"columns":    func(k int) string { return "SELECT 1" + strings.Repeat(",1", k) },
	"comments":   func(k int) string { return "SELECT 1" + strings.Repeat("/*", k) + strings.Repeat("*/", k) },
	"semicolons": func(k int) string { return "SELECT 1" + strings.Repeat(";", k) },
}

// Whatever a text of the allowed size does to the parser and to the gate, the
// answer comes soon and the pool serves the next statement.
func TestHostileTexts(t *testing.T) {
	l := openLake(t, func(o *exec.Options) { o.Slots, o.Warm = 1, 1 })
	for name, pattern := range patterns {
		t.Run(name, func(t *testing.T) {
			const bytes = 64 << 10
			k := bytes / max(1, len(pattern(2))-len(pattern(1)))
			for len(pattern(k)) > bytes {
				k--
			}
			for _, k := range []int{k, k / 10, 900} {
				start := time.Now()
				_, err := l.pool.Tables(t.Context(), pattern(k))
				if took := time.Since(start); took > 5*time.Second {
					t.Errorf("%d levels took %v", k, took)
				}
				if kind := fault.KindOf(err); err != nil && kind != fault.Invalid && kind != fault.Unsupported && kind != fault.Exhausted && kind != fault.Deadline {
					t.Errorf("%d levels: %v (%v)", k, err, kind)
				}
			}
		})
	}
	if _, err := l.run(t.Context(), "SELECT 1"); err != nil {
		t.Errorf("the next statement: %v", err)
	}
	if s := l.pool.Stats(); s.Deaths != 0 {
		t.Errorf("%d workers died", s.Deaths)
	}
}

// Attacks that are known to have worked on an engine without a gate.
func TestKnownAttacks(t *testing.T) {
	l := openLake(t, nil)
	l.add(t, "numbers", numberColumns, numbers(10))
	for _, sql := range []string{
		"SELECT * FROM json_execute_serialized_sql('{}')",
		"SELECT json_deserialize_sql(json_serialize_sql('SELECT 1'))",
		"SELECT * FROM query('SELECT 1')",
		"SELECT * FROM query_table('numbers')",
		"SELECT * FROM enable_logging('QueryLog', storage = 'file', storage_path = '/tmp/x')",
		"SELECT * FROM duckdb_logs()",
		"SELECT * FROM enable_profiling()",
		"SELECT * FROM enable_peg_parser()",
		"SELECT * FROM checkpoint()",
		"SELECT * FROM arrow_scan(0, 0, 0)",
		"SELECT * FROM read_text('/etc/passwd')",
		"SELECT * FROM read_parquet('numbers.parquet')",
		"SELECT * FROM parquet_scan(['in/1.parquet'])",
		"SELECT * FROM glob('*')",
		"SELECT * FROM sniff_csv('/etc/passwd')",
		"SELECT * FROM parquet_metadata('in/1.parquet')",
		"SELECT * FROM duckdb_settings()",
		"SELECT * FROM duckdb_views()",
		"SELECT * FROM duckdb_secrets()",
		"SELECT * FROM which_secret('s3://x', 's3')",
		"SELECT * FROM sql_auto_complete('SEL')",
		"SELECT current_query()",
		"SELECT current_setting('temp_directory')",
		"SELECT getenv('HOME')",
		"SELECT getvariable('x')",
		"SELECT write_log('x')",
		"SELECT * FROM numbers, LATERAL (SELECT * FROM read_text(name))",
		"WITH x AS (FROM read_csv('/etc/passwd')) SELECT 1",
		"SELECT (SELECT content FROM read_blob('/etc/passwd'))",
		`SELECT * FROM "read_text"('/etc/passwd')`,
		"SELECT * FROM main.read_text('/etc/passwd')",
		"SELECT * FROM system.main.read_text('/etc/passwd')",
		"FROM '/proc/self/environ'",
		"FROM 'file:///etc/passwd'",
		`FROM "in/1.parquet"`,
		"FROM temp.__lake_0",
		"FROM sqlite_master",
		"FROM duckdb_tables",
		"SELECT 1 WHERE EXISTS (FROM duckdb_logs())",
		"INSERT INTO numbers SELECT 1",
		"WITH x AS (DELETE FROM numbers RETURNING *) FROM x",
		"COPY numbers TO '/tmp/x'",
		"EXPORT DATABASE '/tmp/x'",
		"CREATE MACRO f() AS 1",
		"PREPARE p AS SELECT 1",
		"EXECUTE p",
		"BEGIN",
		"USE system",
		"LOAD httpfs",
		"SET VARIABLE x = 1",
		"CHECKPOINT",
		"VACUUM",
		"SELECT 1; ATTACH '/tmp/x.db'",
	} {
		_, err := l.run(t.Context(), sql)
		kind := fault.KindOf(err)
		if err == nil || kind != fault.Invalid && kind != fault.Unsupported && kind != fault.NotFound {
			t.Errorf("%s: %v (%v)", sql, err, kind)
		}
	}
	if s := l.pool.Stats(); s.Deaths != 0 {
		t.Errorf("%d workers died", s.Deaths)
	}
}

// A name that lake makes up must not be within a statement's reach.
func TestGeneratedNamesCannotBeTaken(t *testing.T) {
	l := openLake(t, nil)
	l.add(t, "a", numberColumns, numbers(3))
	l.add(t, "b", numberColumns, numbers(5))
	l.add(t, "main.__lake_0", numberColumns, numbers(7))
	for sql, want := range map[string]string{
		"WITH __lake_0 AS (SELECT 1 AS id) SELECT count(*) FROM a":                               "3",
		"WITH __lake_1 AS (SELECT 1 AS id) SELECT count(*) FROM a, b":                            "15",
		"SELECT count(*) FROM __lake_0":                                                          "7",
		"SELECT (SELECT count(*) FROM b) * 100 + (SELECT count(*) FROM __lake_0) FROM a LIMIT 1": "507",
		"SELECT count(*) FROM a AS __lake_1, b AS __lake_0 WHERE __lake_1.id = __lake_0.id":      "3",
	} {
		res, err := l.run(t.Context(), sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		} else if got := fmt.Sprint(res.column(t, 0).ValueStr(0)); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}

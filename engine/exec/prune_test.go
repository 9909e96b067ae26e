package exec_test

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/delta"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/objects"
	"github.com/lakeward/lake/objects/local"
)

// loaded makes a table of Delta's, with the statistics that Delta keeps, and
// under another name the same table without any.
func (l *lake) loaded(t *testing.T, name string, fields []arrow.Field, files [][]string) {
	t.Helper()
	store, err := local.Open(l.data, local.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	exact, _, err := engine.NewSchema(arrow.NewSchema(fields, nil))
	if err != nil {
		t.Fatal(err)
	}
	e := delta.New(store, delta.Options{})
	id, _ := ident.NewOperation()
	op := engine.Op{Tenant: ident.DevTenant, ID: id, Attempt: "a"}
	at := objects.Location("tables/" + name)
	if _, err := e.Create(t.Context(), at, exact, op); err != nil {
		t.Fatal(err)
	}
	table := e.Table(at)
	version := ident.Version(0)
	for i, rows := range files {
		b, _, err := array.RecordFromJSON(memory.DefaultAllocator, exact, strings.NewReader("["+strings.Join(rows, ",")+"]"))
		if err != nil {
			t.Fatalf("%v\n%s", err, rows)
		}
		m, err := table.Stage(t.Context(), exact, iter.Seq2[arrow.RecordBatch, error](func(yield func(arrow.RecordBatch, error) bool) { yield(b, nil) }))
		if err != nil {
			t.Fatal(err)
		}
		op.Attempt = ident.Attempt(fmt.Sprint(i))
		if version, err = table.Commit(t.Context(), version, op, m); err != nil {
			t.Fatal(err)
		}
	}
	s, err := table.Snapshot(t.Context(), version)
	if err != nil {
		t.Fatal(err)
	}
	scan, err := s.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.tables[ident.Table{Namespace: "main", Name: name}] = scan
	scan.Files = slices.Clone(scan.Files)
	for i := range scan.Files {
		scan.Files[i].Stats = nil
	}
	l.tables[ident.Table{Namespace: "bare", Name: name}] = scan
}

// A kind is a column for random rows and predicates.
type kind struct {
	field  arrow.Field
	value  func(r *rand.Rand, near int) string // JSON; files hold values that are near to each other
	consts func(r *rand.Rand) string           // SQL
}

func pick(r *rand.Rand, s ...string) string { return s[r.IntN(len(s))] }

const long = "this text is longer than the sixty-four characters that bounds of texts keep ......"

var kinds = []kind{
	{
		field("i", arrow.PrimitiveTypes.Int64), func(r *rand.Rand, near int) string { return fmt.Sprint(near*10 + r.IntN(12) - 40) },
		func(r *rand.Rand) string {
			return pick(r, fmt.Sprint(r.IntN(80)-40), fmt.Sprintf("%d.5", r.IntN(60)-30), fmt.Sprintf("%de0", r.IntN(60)-30), "'7'", "9223372036854775807", "99999999999999999999")
		},
	},
	{
		field("u", arrow.PrimitiveTypes.Uint8), func(r *rand.Rand, near int) string { return fmt.Sprint(near*20 + r.IntN(30)) },
		func(r *rand.Rand) string { return pick(r, fmt.Sprint(r.IntN(300)-20), "-1", "255", "256") },
	},
	{field("big", arrow.PrimitiveTypes.Uint64), func(r *rand.Rand, near int) string {
		return fmt.Sprint(uint64(near)<<60 + uint64(r.IntN(3)))
	}, func(r *rand.Rand) string {
		return pick(r, fmt.Sprint(uint64(r.IntN(8))<<60+1), "9007199254740993e0", "1")
	}},
	{field("f", arrow.PrimitiveTypes.Float64), func(r *rand.Rand, near int) string {
		return pick(r, fmt.Sprintf("%d.25", near-3), fmt.Sprintf("-%d.5", near), "-0.0", "0", pick(r, `"NaN"`, `"+Inf"`, "0.1"))
	}, func(r *rand.Rand) string {
		return pick(r, fmt.Sprintf("%d.25", r.IntN(8)-3), "0", "-0.0", "-1", "0.1", "1e300", "'nan'::DOUBLE")
	}},
	{
		field("g", arrow.PrimitiveTypes.Float32), func(r *rand.Rand, near int) string { return fmt.Sprintf("%d.1", near+r.IntN(2)) },
		func(r *rand.Rand) string { return fmt.Sprintf("%d.1", r.IntN(10)) },
	},
	{field("d", &arrow.Decimal128Type{Precision: 12, Scale: 2}), func(r *rand.Rand, near int) string {
		return fmt.Sprintf(`"%d.%02d"`, near-3, r.IntN(100))
	}, func(r *rand.Rand) string {
		return pick(r, fmt.Sprintf("%d.%02d", r.IntN(8)-3, r.IntN(100)), fmt.Sprint(r.IntN(8)-3), "1.005")
	}},
	{field("s", arrow.BinaryTypes.String), func(r *rand.Rand, near int) string {
		return `"` + pick(r, string(rune('a'+near)), long+string(rune('a'+near)), "", string(rune('a'+near))+"é", "\U0010FFFF", long+long) + `"`
	}, func(r *rand.Rand) string {
		return pick(r, "'"+string(rune('a'+r.IntN(8)))+"'", "'"+long+string(rune('a'+r.IntN(8)))+"'", "''", "'"+long[:64]+"'", "'b' COLLATE NOCASE", "5")
	}},
	{
		field("day", arrow.FixedWidthTypes.Date32), func(r *rand.Rand, near int) string {
			return fmt.Sprintf(`"20%02d-0%d-1%d"`, near, 1+r.IntN(9), r.IntN(10))
		},
		func(r *rand.Rand) string {
			return pick(r, fmt.Sprintf("DATE '20%02d-05-15'", r.IntN(9)), fmt.Sprintf("'20%02d-05-15'", r.IntN(9)), fmt.Sprintf("TIMESTAMP '20%02d-05-15 12:00:00'", r.IntN(9)), "'infinity'::DATE")
		},
	},
	{field("ts", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}), func(r *rand.Rand, near int) string {
		return fmt.Sprintf(`"20%02d-03-1%dT10:00:00.00000%dZ"`, near, r.IntN(10), r.IntN(10))
	}, func(r *rand.Rand) string {
		return pick(r, fmt.Sprintf("TIMESTAMPTZ '20%02d-03-15 10:00:00.000005+00'", r.IntN(9)), fmt.Sprintf("'20%02d-03-15'", r.IntN(9)), fmt.Sprintf("TIMESTAMPTZ '20%02d-03-15 23:00:00-05'", r.IntN(9)), fmt.Sprintf("DATE '20%02d-03-15'", r.IntN(9)))
	}},
	{field("ns", &arrow.TimestampType{Unit: arrow.Nanosecond}), func(r *rand.Rand, near int) string {
		return fmt.Sprintf(`"20%02d-03-1%dT10:00:00.00000000%d"`, near, r.IntN(10), r.IntN(10))
	}, func(r *rand.Rand) string {
		return pick(r, fmt.Sprintf("TIMESTAMP '20%02d-03-15 10:00:00'", r.IntN(9)), fmt.Sprintf("'20%02d-03-15 10:00:00.000000005'", r.IntN(9)), fmt.Sprintf("TIMESTAMP_NS '20%02d-03-15 10:00:00.000000005'", r.IntN(9)))
	}},
}

func randomPredicate(r *rand.Rand, depth int) string {
	if depth > 0 {
		switch r.IntN(5) {
		case 0:
			return "(" + randomPredicate(r, depth-1) + " AND " + randomPredicate(r, depth-1) + ")"
		case 1:
			return "(" + randomPredicate(r, depth-1) + " OR " + randomPredicate(r, depth-1) + ")"
		case 2:
			if r.IntN(3) == 0 {
				return "NOT " + randomPredicate(r, depth-1)
			}
		}
	}
	k := kinds[r.IntN(len(kinds))]
	name := pick(r, k.field.Name, k.field.Name, "p."+k.field.Name)
	switch r.IntN(7) {
	case 0:
		return name + pick(r, " IS NULL", " IS NOT NULL")
	case 1:
		return name + " BETWEEN " + k.consts(r) + " AND " + k.consts(r)
	case 2:
		return name + pick(r, " IN (", " NOT IN (") + k.consts(r) + ", " + k.consts(r) + ", " + pick(r, k.consts(r), "NULL") + ")"
	case 3:
		return k.consts(r) + pick(r, " < ", " <= ", " > ", " >= ", " = ") + name
	case 4:
		return name + pick(r, " <> ", " IS DISTINCT FROM ", " IS NOT DISTINCT FROM ") + k.consts(r)
	}
	return name + pick(r, " < ", " <= ", " > ", " >= ", " = ", " = ") + k.consts(r)
}

// Whatever the data and the condition: files that are left out hold no row of
// the answer.
func TestPrunedFilesHoldNoRowsOfTheAnswer(t *testing.T) {
	l := openLake(t, nil)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	var fields []arrow.Field
	for _, k := range kinds {
		fields = append(fields, k.field)
	}
	var files [][]string
	for near := range 8 {
		var rows []string
		allNull := r.IntN(len(kinds))
		for range 1 + r.IntN(5) {
			var cells []string
			for i, k := range kinds {
				v := k.value(r, near)
				if r.IntN(6) == 0 || i == allNull {
					v = "null"
				}
				cells = append(cells, fmt.Sprintf("%q: %s", k.field.Name, v))
			}
			rows = append(rows, "{"+strings.Join(cells, ", ")+"}")
		}
		files = append(files, rows)
	}
	l.loaded(t, "p", fields, files)
	const statements = 400
	ran := 0
	for range statements {
		where := randomPredicate(r, 2)
		with, err1 := l.run(t.Context(), "SELECT * FROM p WHERE "+where)
		without, err2 := l.run(t.Context(), "SELECT * FROM bare.p WHERE "+where)
		if err2 != nil {
			continue // a value that does not cast may be in a file that is left out
		}
		if err1 != nil {
			t.Fatalf("%s: %v", where, err1)
		}
		ran++
		if got, want := rowTexts(with.batches), rowTexts(without.batches); !slices.Equal(got, want) {
			t.Fatalf("%s\ngot  %d rows\nwant %d:\n%s", where, len(got), len(want), strings.Join(want, "\n"))
		}
	}
	pruned := l.pool.Stats().Pruned
	t.Logf("%d statements ran, %d files were left out", ran, pruned)
	if ran < statements/2 || pruned < statements/4 {
		t.Errorf("%d statements ran, %d files were left out: the test shows little", ran, pruned)
	}
}

// Where it is not certain what a condition is about, every file is read.
// One operand of a BETWEEN or an IN decides how the engine compares the others:
// as doubles, which do not tell 2^53+1 from 2^53, or without case.
func TestPruningOfOperandsThatDiffer(t *testing.T) {
	l := openLake(t, nil)
	l.loaded(t, "q", []arrow.Field{field("i", arrow.PrimitiveTypes.Int64), field("t", arrow.BinaryTypes.String), field("x", arrow.PrimitiveTypes.Float64)},
		[][]string{{`{"i": 9007199254740995, "t": "ORD", "x": 1e17}`}, {`{"i": 9007199254740993, "t": "ord", "x": 1e17}`}, {`{"i": 7, "t": "10", "x": 1e17}`}, {`{"i": 9007199254740992, "t": "7", "x": 1e17}`}})
	for _, where := range []string{
		"t BETWEEN 'ora' AND 'orz' COLLATE NOCASE",
		"t BETWEEN 'ora' AND lower('orz') COLLATE NOCASE",
		"t IN ('ord', 'x' COLLATE NOCASE)",
		"i BETWEEN 9007199254740996 AND 1e17",
		"i BETWEEN 9007199254740996 AND x",
		"i BETWEEN 9007199254740996 AND 1e17::FLOAT",
		"i BETWEEN 1e0 AND 9007199254740992",
		"i IN (9007199254740996, 1e0)",
		"i IN (9007199254740996, 9007199254740992, 1e0)",
		"i NOT IN (9007199254740996, 1e0)",
		"i BETWEEN 7 AND 9007199254740992",
		"i IN (7, 9007199254740993)",
		"t BETWEEN 'a' AND 'z'",
	} {
		count := func(sql string) string {
			t.Helper()
			res, err := l.run(t.Context(), sql)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			return strings.Join(rowTexts(res.batches), " ")
		}
		// The sum of a CASE reads every file.
		want := count("SELECT sum(CASE WHEN " + where + " THEN 1 ELSE 0 END)::BIGINT FROM q")
		if got := count("SELECT count(*) FROM q WHERE " + where); got != want {
			t.Errorf("WHERE %s finds %s rows, there are %s", where, got, want)
		}
	}
}

func TestPruningKnowsItsLimits(t *testing.T) {
	l := openLake(t, nil)
	l.loaded(t, "p", []arrow.Field{field("i", arrow.PrimitiveTypes.Int64), field("s", arrow.BinaryTypes.String), field("p2", arrow.StructOf(field("i", arrow.PrimitiveTypes.Int64)))},
		[][]string{{`{"i": 1, "s": "a", "p2": {"i": 9}}`}, {`{"i": 5, "s": "b", "p2": {"i": 1}}`}, {`{"i": 9, "s": null, "p2": null}`}})
	for _, tt := range []struct {
		sql    string
		pruned int64
	}{
		{"SELECT * FROM p WHERE i = 5", 2},
		{"SELECT * FROM p AS x WHERE x.i > 5 AND s IS NULL", 2},
		{"SELECT count(*) FROM main.p WHERE main.p.i <= 1", 2},
		{"SELECT * FROM p AS x(k, w) WHERE k = 5", 2},
		{"SELECT max(i) FROM (SELECT * FROM p WHERE i < 5)", 2},
		{"WITH c AS (FROM p WHERE i >= 9) SELECT * FROM c, c AS again", 2},
		{"EXPLAIN SELECT * FROM p WHERE s > 'a'", 1},
		{"SELECT * FROM p WHERE 5 < i", 2},
		{"SELECT * FROM p WHERE i = 77", 3},
		{"SELECT * FROM p WHERE i = 5 OR s = 'zzz'", 2},
		{"SELECT * FROM p WHERE i = 5 OR length(s) = 1", 0},
		{"SELECT * FROM p WHERE i + 0 = 5", 0},
		{"SELECT * FROM p WHERE NOT (i = 5)", 0},
		{"SELECT -i AS i FROM p WHERE i = 5", 2},
		{"SELECT * FROM p AS p2 WHERE p2.i = 9", 0},
		{"SELECT * FROM p, p AS q WHERE p.i = 5", 0},
		{"SELECT * FROM p WHERE i = 5 AND EXISTS (FROM p WHERE i = 9)", 0},
		{"SELECT * FROM p WHERE i = 5 UNION ALL SELECT * FROM p WHERE i = 9", 0},
		{"SELECT * FROM p WHERE i = 5 USING SAMPLE 1 ROWS", 0},
		{"SELECT * FROM (SELECT i AS j, s AS i FROM p) WHERE i = 'b'", 0},
		{"SELECT * FROM p LEFT JOIN (SELECT 5 AS i) AS q ON p.i = 5 WHERE q.i IS NULL", 0},
		{"SELECT * FROM p WHERE s COLLATE NOCASE = 'B'", 0},
		{"SELECT * FROM p WHERE i BETWEEN 4 AND 6", 2},
		{"SELECT * FROM p WHERE i BETWEEN 4 AND 6.5", 0},
		{"SELECT * FROM p WHERE i IN (1, 5)", 1},
		{"SELECT * FROM p WHERE i IN (1, 5.0)", 0},
	} {
		before := l.pool.Stats().Pruned
		if _, err := l.run(t.Context(), tt.sql); err != nil {
			t.Errorf("%s: %v", tt.sql, err)
		}
		if n := l.pool.Stats().Pruned - before; n != tt.pruned {
			t.Errorf("%s: %d files were left out, want %d", tt.sql, n, tt.pruned)
		}
	}
}

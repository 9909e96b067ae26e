package exec_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/exec"
	"github.com/lakeward/lake/fault"
)

// endless is a statement that makes rows as long as somebody reads them.
const endless = "SELECT i, i || ' of many' AS t FROM range(1000000000) AS r(i)"

// deaf is a statement that sits in one call of the engine, which no interrupt
// reaches, for minutes.
const deaf = "SELECT max(levenshtein(repeat(chr(97 + (i % 3)::INT), 20000), repeat('b', 20000 + i::INT))) FROM range(60) t(i)"

func TestAQueryReadsATable(t *testing.T) {
	l := openLake(t, nil)
	l.add(t, "ns.numbers", numberColumns, numbers(3000), numbers(10))
	res, err := l.run(t.Context(), "SELECT count(*) AS n, max(id) AS most FROM lake.ns.Numbers WHERE ns.numbers.name LIKE 'row%'")
	if err != nil {
		t.Fatal(err)
	}
	if res.rows != 1 || res.column(t, 0).(*array.Int64).Value(0) != 3010 || res.column(t, 1).(*array.Int64).Value(0) != 2999 {
		t.Errorf("got %v", res.batches)
	}
}

// The engine may crash, spin or eat memory: it must not do so in this process.
func TestThePoolOpensNoEngine(t *testing.T) {
	before := exec.InstancesOpened()
	l := openLake(t, nil)
	l.add(t, "numbers", numberColumns, numbers(10))
	if _, err := l.run(t.Context(), "SELECT * FROM numbers"); err != nil {
		t.Fatal(err)
	}
	if n := exec.InstancesOpened() - before; n != 0 {
		t.Errorf("%d engine instances were opened in the pool's process", n)
	}
}

func TestAnEmptyResultHasItsSchema(t *testing.T) {
	l := openLake(t, nil)
	l.add(t, "empty", numberColumns)
	l.add(t, "some_rows", numberColumns, numbers(10))
	for _, sql := range []string{"SELECT * FROM empty", "SELECT * FROM some_rows WHERE id < 0", "SELECT * FROM some_rows LIMIT 0"} {
		res, err := l.run(t.Context(), sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if res.rows != 0 || res.schema.NumFields() != 2 || res.schema.Field(1).Name != "name" {
			t.Errorf("%s: %d rows, schema %v", sql, res.rows, res.schema)
		}
	}
}

func TestAResultMayHaveManyColumnsAndOneNameTwice(t *testing.T) {
	l := openLake(t, nil)
	const n = 300
	var items []string
	for i := range n {
		items = append(items, fmt.Sprintf("%d AS c%d", i, i/2))
	}
	res, err := l.run(t.Context(), "SELECT "+strings.Join(items, ", "))
	if err != nil {
		t.Fatal(err)
	}
	if res.schema.NumFields() != n {
		t.Fatalf("%d columns", res.schema.NumFields())
	}
	for i := range n {
		if f := res.schema.Field(i); f.Name != fmt.Sprintf("c%d", i/2) || res.column(t, i).ValueStr(0) != strconv.Itoa(i) {
			t.Fatalf("column %d is %v with %s", i, f, res.column(t, i).ValueStr(0))
		}
	}
}

func TestMessagesAreBounded(t *testing.T) {
	l := openLake(t, nil)
	const mib = 1 << 20
	for _, tt := range []struct {
		name, sql   string
		rows        int64
		first, most int
	}{
		{"small rows: 2048 of them first, then 16384", "SELECT i FROM range(100000) t(i)", 100000, 2048 * 8, 16384*8 + 1024},
		{"wide rows are split", "SELECT repeat('x', 50000 + i::INT) AS s FROM range(300) t(i)", 300, 3<<20 + 1<<19, 3<<20 + 1<<19 + 4096},
		{"rows of more than a message go one by one", "SELECT repeat('x', 5000000 + i::INT) AS s FROM range(3) t(i)", 3, 5 * mib, 6 * mib},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := l.rows(t.Context(), tt.sql)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			sizes := 0
			res, err := collect(t.Context(), sizer{r, func(n int) {
				if n > tt.most {
					t.Errorf("a message has %d bytes", n)
				}
				sizes++
			}})
			if err != nil {
				t.Fatal(err)
			}
			if res.rows != tt.rows {
				t.Errorf("%d rows, want %d", res.rows, tt.rows)
			}
			t.Logf("%d messages", sizes)
		})
	}
	_, err := l.run(t.Context(), "SELECT 1 AS small, repeat('x', 17000000 + i::INT) AS wide FROM range(2) t(i)")
	if fault.KindOf(err) != fault.Exhausted || !strings.Contains(fault.Public(err), `column "wide"`) {
		t.Errorf("a row of 17 MB: %v", err)
	}
}

// A sizer tells the size of each message.
type sizer struct {
	engine.Rows
	tell func(int)
}

func (s sizer) Next(ctx context.Context) (engine.Message, error) {
	m, err := s.Rows.Next(ctx)
	if err == nil {
		s.tell(len(m.Bytes))
	}
	return m, err
}

// A message that is cut out of a larger batch must hold its own rows only, in
// every nested column, and a dictionary must not outgrow its index.
func TestCutMessagesKeepTheirRows(t *testing.T) {
	l := openLake(t, nil)
	exact := []arrow.DataType{
		arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String,
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String},
		arrow.StructOf(arrow.Field{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64), Nullable: true},
			arrow.Field{Name: "d", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, Nullable: true}),
	}
	stored := []arrow.DataType{
		exact[0], exact[1], arrow.BinaryTypes.String,
		arrow.StructOf(arrow.Field{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64), Nullable: true}, arrow.Field{Name: "d", Type: arrow.BinaryTypes.String, Nullable: true}),
	}
	const rows = 3000
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: stored[0], Nullable: true},
		{Name: "wide", Type: stored[1], Nullable: true},
		{Name: "word", Type: stored[2], Nullable: true},
		{Name: "nested", Type: stored[3], Nullable: true},
	}, nil))
	for i := range rows {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.StringBuilder).Append(strings.Repeat("w", 5000))
		b.Field(2).(*array.StringBuilder).Append(fmt.Sprint("word ", i)) // all distinct
		s := b.Field(3).(*array.StructBuilder)
		if i%5 == 4 {
			s.AppendNull()
			continue
		}
		s.Append(true)
		list := s.FieldBuilder(0).(*array.ListBuilder)
		list.Append(true)
		for k := range i % 3 {
			list.ValueBuilder().(*array.Int64Builder).Append(int64(i + k))
		}
		s.FieldBuilder(1).(*array.StringBuilder).Append(fmt.Sprint("deep ", i))
	}
	batch := b.NewRecordBatch()
	var columns []engine.Column
	for i, f := range batch.Schema().Fields() {
		columns = append(columns, engine.Column{Source: f.Name, Stored: f.Type, Exact: arrow.Field{Name: f.Name, Type: exact[i]}})
	}
	l.add(t, "wide", columns, batch)
	res, err := l.run(t.Context(), "FROM wide")
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, part := range res.batches {
		for i := range int(part.NumRows()) {
			if !arrow.TypeEqual(part.Column(2).DataType(), exact[2]) {
				t.Fatalf("word is %v", part.Column(2).DataType())
			}
			for c := range part.NumCols() {
				if got, want := part.Column(int(c)).ValueStr(i), batch.Column(int(c)).ValueStr(at); got != want {
					t.Fatalf("row %d column %d is %.80q, want %.80q", at, c, got, want)
				}
			}
			at++
		}
	}
	if at != rows {
		t.Errorf("%d rows, want %d", at, rows)
	}
}

func TestValuesThatArrowCannotHoldAreRefused(t *testing.T) {
	l := openLake(t, nil)
	for _, tt := range []struct {
		sql  string
		kind fault.Kind
		says string
	}{
		{"SELECT 170141183460469231731687303715884105727::HUGEINT AS h", fault.Invalid, `"h" has more than 38 digits`},
		{"SELECT [(-170141183460469231731687303715884105727)::HUGEINT] AS h", fault.Invalid, "38 digits"},
		{"SELECT 340282366920938463463374607431768211455::UHUGEINT AS h", fault.Invalid, "38 digits"},
		{"SELECT '101'::BIT AS b", fault.Unsupported, `"b" is of type BIT`},
		{"SELECT {'x': TIMETZ '12:00:00+02'} AS z", fault.Unsupported, "TIME WITH TIME ZONE"},
		{"SELECT 1::VARIANT AS v", fault.Unsupported, "VARIANT"},
		{"SELECT union_value(a := 1) AS u", fault.Unsupported, "UNION"},
	} {
		if _, err := l.run(t.Context(), tt.sql); fault.KindOf(err) != tt.kind || err == nil || !strings.Contains(fault.Public(err), tt.says) {
			t.Errorf("%s: %v (%v)", tt.sql, err, fault.KindOf(err))
		}
	}
	res, err := l.run(t.Context(), "SELECT sum(i) AS s, 99999999999999999999999999999999999999::HUGEINT AS h FROM range(10) t(i)")
	if err != nil || res.column(t, 0).ValueStr(0) != "45" || res.column(t, 1).ValueStr(0) != strings.Repeat("9", 38) {
		t.Errorf("values that fit: %v", err)
	}
}

func TestAKilledWorkerIsAnErrorAndNeverAShortResult(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGABRT} {
		t.Run(signal.String(), func(t *testing.T) {
			l := openLake(t, func(o *exec.Options) { o.Slots, o.Warm = 1, 1 })
			for _, after := range []int{1, 2, 5} { // messages, the schema among them
				sql := fmt.Sprintf("%s -- %d", endless, after)
				r, err := l.rows(t.Context(), sql)
				if err != nil {
					t.Fatal(err)
				}
				for range after {
					m, err := r.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					m.Release()
				}
				for _, pid := range l.pool.WorkerPIDs() {
					if err := syscall.Kill(pid, signal); err != nil {
						t.Fatal(err)
					}
				}
				for {
					m, e := r.Next(t.Context())
					if e != nil {
						err = e
						break
					}
					m.Release()
				}
				if errors.Is(err, io.EOF) || fault.KindOf(err) != fault.Internal && fault.KindOf(err) != fault.Unavailable {
					t.Errorf("after %d messages: %v (%v)", after, err, fault.KindOf(err))
				}
				if after > 1 && fault.KindOf(err) != fault.Internal {
					t.Errorf("after rows: %v (%v)", err, fault.KindOf(err))
				}
				if _, err2 := r.Next(t.Context()); err2 == nil || errors.Is(err2, io.EOF) {
					t.Errorf("asked again: %v", err2)
				}
				r.Close()
				if _, err := l.run(t.Context(), sql); fault.KindOf(err) != fault.Exhausted || !strings.Contains(fault.Public(err), "held back") {
					t.Errorf("the same text again: %v", err)
				}
				if _, err := l.run(t.Context(), "SELECT 1"); err != nil {
					t.Errorf("the next statement: %v", err)
				}
			}
			if d := l.pool.Stats().Deaths; d != 3 {
				t.Errorf("%d deaths were counted, want 3", d)
			}
		})
	}
}

func TestAWorkerThatDiesIdleIsReplaced(t *testing.T) {
	l := openLake(t, func(o *exec.Options) { o.Slots, o.Warm = 2, 1 })
	for _, pid := range l.pool.WorkerPIDs() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	wait(t, "a death to be seen and made good", func() bool {
		s := l.pool.Stats()
		return s.Deaths >= 1 && s.Idle >= 1
	})
	if _, err := l.run(t.Context(), "SELECT 1"); err != nil {
		t.Error(err)
	}
}

// wait polls until ok. Processes of the system have no fake time.
func wait(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(10 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func TestADeadlineKillsAWorkerThatDoesNotListen(t *testing.T) {
	l := openLake(t, func(o *exec.Options) { o.DeadlineMax = 300 * time.Millisecond })
	start := time.Now()
	_, err := l.run(t.Context(), deaf)
	if fault.KindOf(err) != fault.Deadline {
		t.Errorf("got %v (%v)", err, fault.KindOf(err))
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	if s := l.pool.Stats(); s.Deaths != 0 {
		t.Errorf("a wanted death was counted as unexpected: %+v", s)
	}
	if _, err := l.run(t.Context(), "SELECT 1"); err != nil {
		t.Errorf("the next statement: %v", err)
	}
}

func TestACancelledStatementLeavesItsWorker(t *testing.T) {
	l := openLake(t, func(o *exec.Options) { o.Slots, o.Warm = 1, 1 })
	pids := fmt.Sprint(l.pool.WorkerPIDs())
	for _, sql := range []string{endless, "SELECT count(*) FROM range(10000000) a(i), range(10000000) b(j) WHERE i + j = 7"} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		_, err := l.run(ctx, sql)
		if fault.KindOf(err) != fault.Canceled {
			t.Errorf("%s: %v (%v)", sql, err, fault.KindOf(err))
		}
		if _, err := l.run(t.Context(), "SELECT 1"); err != nil {
			t.Errorf("the next statement: %v", err)
		}
	}
	if now := fmt.Sprint(l.pool.WorkerPIDs()); now != pids {
		t.Errorf("workers were %s and are %s", pids, now)
	}
}

func TestClosedRowsStopTheirStatement(t *testing.T) {
	l := openLake(t, func(o *exec.Options) { o.Slots, o.Warm = 1, 1 })
	pids := fmt.Sprint(l.pool.WorkerPIDs())
	for range 3 {
		r, err := l.rows(t.Context(), endless)
		if err != nil {
			t.Fatal(err)
		}
		m, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m.Release()
		r.Close()
		r.Close() // twice does nothing
		if _, err := r.Next(t.Context()); fault.KindOf(err) != fault.Canceled {
			t.Errorf("after Close: %v", err)
		}
	}
	if _, err := l.run(t.Context(), "SELECT 1"); err != nil {
		t.Errorf("the next statement: %v", err)
	}
	if now := fmt.Sprint(l.pool.WorkerPIDs()); now != pids {
		t.Errorf("workers were %s and are %s", pids, now)
	}
}

func TestAReaderThatStopsStopsTheWorker(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	l := openLake(t, func(o *exec.Options) { o.Slots, o.Warm = 1, 1 })
	r, err := l.rows(t.Context(), endless)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	pid := l.pool.WorkerPIDs()[0]
	ticks := func() string { // of CPU time
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+2:]))
		return f[11] + " " + f[12]
	}
	last, same := "", 0
	pause := time.NewTicker(50 * time.Millisecond)
	defer pause.Stop()
	for range 200 {
		<-pause.C
		now := ticks()
		if now == last {
			same++
		} else {
			last, same = now, 0
		}
		if same == 10 {
			return // half a second without work
		}
	}
	t.Error("the worker never came to rest")
}

// Texts that the engine does not account for escape its memory_limit. The limit
// of the process fails them, and the next statement runs.
func TestAMemoryBombFailsAlone(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("RLIMIT_DATA bounds memory on Linux only")
	}
	l := openLake(t, func(o *exec.Options) { o.Slots, o.Warm = 1, 1 })
	_, err := l.run(t.Context(), "SELECT max(len(repeat('x', 300000000 + i::INT))) FROM range(40) t(i)")
	if k := fault.KindOf(err); k != fault.Exhausted && k != fault.Unavailable || err == nil {
		t.Errorf("got %v (%v)", err, k)
	}
	t.Log(err)
	if _, err := l.run(t.Context(), "SELECT count(*) FROM range(1000)"); err != nil {
		t.Errorf("the next statement: %v", err)
	}
}

func TestAMemoryLimitIsSaidToTheCaller(t *testing.T) {
	l := openLake(t, nil)
	_, err := l.run(t.Context(), "SELECT len(list(md5(i::VARCHAR) || i)) FROM range(20000000) t(i)")
	if fault.KindOf(err) != fault.Exhausted || !strings.Contains(fault.Public(err), "512 MiB") || !strings.Contains(fault.Public(err), "--query-memory") {
		t.Errorf("got %v (%v)", err, fault.KindOf(err))
	}
}

func TestAWorkerThatKeepsMemoryIsReopened(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	l := openLake(t, func(o *exec.Options) { o.Slots, o.Warm = 1, 1 })
	pids := fmt.Sprint(l.pool.WorkerPIDs())
	if _, err := l.run(t.Context(), "SELECT count(*) FROM (SELECT i % 3000000 AS k, count(*) FROM range(4000000) t(i) GROUP BY 1)"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.run(t.Context(), "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	if s := l.pool.Stats(); s.Recycled == 0 {
		t.Errorf("nothing was recycled: %+v", s)
	}
	if now := fmt.Sprint(l.pool.WorkerPIDs()); now != pids {
		t.Logf("the worker was replaced, not only reopened: %s, %s", pids, now)
	}
}

func TestStatementsQueueForSlots(t *testing.T) {
	l := openLake(t, func(o *exec.Options) { o.Slots, o.Warm, o.QueueWait = 1, 1, 100*time.Millisecond })
	r, err := l.rows(t.Context(), endless)
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.run(t.Context(), "SELECT 1")
	if fault.KindOf(err) != fault.Exhausted || !strings.Contains(fault.Public(err), "--query-slots") {
		t.Errorf("with every slot taken: %v", err)
	}
	r.Close()
	var all sync.WaitGroup
	wide := openLake(t, func(o *exec.Options) { o.Slots, o.Warm = 2, 1 })
	for range 40 {
		all.Go(func() {
			if _, err := wide.run(t.Context(), "SELECT sum(i) FROM range(1000) t(i)"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if s := wide.pool.Stats(); s.Alive > 2 {
		t.Errorf("%d workers for 2 slots", s.Alive)
	}
}

// Nothing of the machine or of how lake runs a statement is in what a client
// reads.
func TestErrorsLeakNothing(t *testing.T) {
	l := openLake(t, nil)
	l.add(t, "ns.numbers", numberColumns, numbers(100))
	l.add(t, "other.numbers", numberColumns, numbers(100))
	l.add(t, "narrow", []engine.Column{{Source: "id", Stored: arrow.PrimitiveTypes.Int64, Exact: arrow.Field{Name: "id", Type: arrow.PrimitiveTypes.Uint8}}}, numbers(1000))
	l.add(t, "broken", numberColumns, numbers(100))
	l.add(t, "cut", numberColumns, numbers(100))
	for table, damage := range map[string]func(b []byte) []byte{
		"broken": func(b []byte) []byte {
			for i := 10; i < 200; i++ {
				b[i] ^= 0x55
			}
			return b
		},
		"cut": func(b []byte) []byte { return b[:len(b)/2] },
	} {
		for name, scan := range l.tables {
			if name.Name != table {
				continue
			}
			path := filepath.Join(l.data, scan.Files[0].Object)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, damage(b), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		name, sql string
		kind      fault.Kind
		says      []string
	}{
		{"a column that is not there, with its place in the caller's text", "SELECT 1,\n  nope\nFROM ns.numbers", fault.Invalid, []string{`Binder Error: Referenced column "nope" not found`, "LINE 2:   nope\n          ^"}},
		{"a place far into a text that was rewritten", "SELECT lake.ns.numbers.id + ns.numbers.id AS a, ns.numbers.name || nope FROM ns.numbers", fault.Invalid, []string{"ns.numbers.name || nope FROM", "\n" + strings.Repeat(" ", len("LINE 1: ...")+60) + "^"}},
		{"a table of another alias", "SELECT numbers.id FROM ns.numbers AS n", fault.Invalid, []string{`"numbers" not found`}},
		{"an ambiguous column", "SELECT id FROM ns.numbers, other.numbers", fault.Invalid, []string{`(use: "ns.numbers.id" or "other.numbers.id")`}},
		{"a conversion of the caller's", "SELECT name::INTEGER FROM ns.numbers", fault.Invalid, []string{"Conversion Error: Could not convert string 'row 0'", "LINE 1: SELECT name::INTEGER"}},
		{"a value that the registered type lacks", "SELECT * FROM narrow", fault.Corrupt, []string{"table narrow: data file 019afe5c-0000-7000-8000-"}},
		{"a damaged page", "SELECT * FROM broken", fault.Corrupt, []string{"broken", "019afe5c-0000-7000-8000-"}},
		{"a damaged page beside a sound table", "SELECT * FROM broken, ns.numbers", fault.Corrupt, []string{"broken"}},
		{"a file without its end", "SELECT * FROM cut", fault.Corrupt, []string{"table cut: data file 019afe5c-0000-7000-8000-"}},
		{"an error that the caller wrote, with a path of his", "SELECT error('see /my/own/file')", fault.Invalid, []string{"see /my/own/file"}},
		{"an error that rows hold", "SELECT error('/etc/' || 'lake/secret')", fault.Invalid, []string{"(a path)"}},
		{"an unknown type", "SELECT 1::POINTER", fault.Invalid, []string{`Type with name POINTER does not exist`}},
		{"a very long error is cut", "SELECT error(repeat('x', 3000000))", fault.Invalid, []string{"xxx…"}},
		{"one slash is no path", "SELECT error('a/b')", fault.Invalid, []string{"a/b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := l.run(t.Context(), tt.sql)
			if err == nil || fault.KindOf(err) != tt.kind {
				t.Errorf("got %v (%v)", err, fault.KindOf(err))
			}
			public := fault.Public(err)
			for _, s := range tt.says {
				if !strings.Contains(public, s) {
					t.Errorf("%q lacks %q", public, s)
				}
			}
			for _, s := range []string{"__lake", "/run/", "/in/", ".parquet", l.data, os.TempDir(), "read_parquet", "temp.main", "union_by_name"} {
				if strings.Contains(public, s) {
					t.Errorf("%q holds %q", public, s)
				}
			}
			t.Log(public)
		})
	}
}

// The walls behind the gate: what a worker holds when a statement runs in it.
func TestAWorkerHasNothingButItsSocket(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	loose, err := os.Open("/etc/passwd") // a file that a careless parent lets through
	if err != nil {
		t.Fatal(err)
	}
	defer loose.Close()
	if _, _, e := syscall.Syscall(syscall.SYS_FCNTL, loose.Fd(), syscall.F_SETFD, 0); e != 0 {
		t.Fatal(e)
	}
	t.Setenv("LAKE_SECRET", "swordfish")
	l := openLake(t, nil)
	for _, pid := range l.pool.WorkerPIDs() {
		proc := fmt.Sprintf("/proc/%d/", pid)
		if env, err := os.ReadFile(proc + "environ"); err != nil || len(env) != 0 {
			t.Errorf("environment: %q, %v", env, err)
		}
		fds, err := os.ReadDir(proc + "fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range fds {
			to, _ := os.Readlink(proc + "fd/" + fd.Name())
			ok := to == "/dev/null" || strings.HasPrefix(to, "pipe:") && fd.Name() == "2" || strings.HasPrefix(to, "socket:") ||
				strings.HasPrefix(to, "anon_inode:") || strings.HasPrefix(to, "/sys/fs/cgroup/")
			if !ok {
				t.Errorf("file %s is %s", fd.Name(), to)
			}
		}
		limits, err := os.ReadFile(proc + "limits")
		if err != nil {
			t.Fatal(err)
		}
		for line, value := range map[string]string{"Max core file size": "0", "Max data size": strconv.Itoa(512<<20 + 1<<30)} {
			_, rest, _ := strings.Cut(string(limits), line)
			if f := strings.Fields(rest); len(f) < 2 || f[0] != value || f[1] != value {
				t.Errorf("%s: %v", line, f[:min(2, len(f))])
			}
		}
		dir, err := os.Readlink(proc + "cwd")
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("its directory: %v, %v", info, err)
		}
	}
}

func TestFilesAreLinkedForOneStatement(t *testing.T) {
	names := map[string]bool{}
	var mu sync.Mutex
	var dir string
	l := openLake(t, func(o *exec.Options) {
		place := o.Place
		o.Slots, o.Warm = 1, 1
		o.Place = func(ctx context.Context, object, path string) error {
			mu.Lock()
			defer mu.Unlock()
			if names[path] {
				t.Errorf("%s is used again", path)
			}
			names[path], dir = true, filepath.Dir(path)
			return place(ctx, object, path)
		}
	})
	l.add(t, "numbers", numberColumns, numbers(10), numbers(5))
	for range 3 {
		if _, err := l.run(t.Context(), "FROM numbers"); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
	if len(names) != 6 {
		t.Errorf("%d names", len(names))
	}
	// Describe needs no file.
	q, err := l.query(t.Context(), "FROM numbers")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.pool.Describe(t.Context(), q); err != nil || len(names) != 6 {
		t.Errorf("Describe: %v, %d names", err, len(names))
	}
}

func TestAFileThatCannotBePlacedFailsTheStatement(t *testing.T) {
	gone := fault.New(fault.Stale, "the snapshot has been reclaimed")
	l := openLake(t, func(o *exec.Options) {
		o.Place = func(context.Context, string, string) error { return gone }
	})
	l.add(t, "numbers", numberColumns, numbers(10))
	if _, err := l.run(t.Context(), "FROM numbers"); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	if _, err := l.run(t.Context(), "SELECT 1"); err != nil {
		t.Error(err)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	files := func() int {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(fds)
	}
	dir := t.TempDir()
	goroutines, open := runtime.NumGoroutine(), files()
	var pids []int
	for range 2 {
		p, err := exec.Open(t.Context(), exec.Options{Dir: dir, Slots: 2, Warm: 2, MemoryBytes: 512 << 20, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		abandoned, err := p.Query(t.Context(), engine.Query{SQL: endless})
		if err != nil {
			t.Fatal(err)
		}
		busy, err := p.Query(t.Context(), engine.Query{SQL: endless})
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, p.WorkerPIDs()...)
		abandoned.Close()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if err := p.Close(); err != nil {
			t.Errorf("Close again: %v", err)
		}
		if _, err := busy.Next(t.Context()); err != nil { // the schema was there before
			t.Error(err)
		}
		for err == nil {
			_, err = busy.Next(t.Context())
		}
		if errors.Is(err, io.EOF) {
			t.Error("a statement that Close cut off looks whole")
		}
		busy.Close()
		if _, err := p.Query(t.Context(), engine.Query{SQL: "SELECT 1"}); !errors.Is(err, exec.ErrClosed) {
			t.Errorf("a statement after Close: %v", err)
		}
	}
	wait(t, "goroutines to end", func() bool { return runtime.NumGoroutine() <= goroutines })
	wait(t, "files to be closed", func() bool { return files() <= open })
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("worker %d lives: %v", pid, err)
		}
	}
	if left, err := os.ReadDir(filepath.Join(dir, "run")); err != nil || len(left) != 0 {
		t.Errorf("left in run: %v, %v", left, err)
	}
}

func TestOpenRemovesLeftovers(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, "run", "019afe5c-0000-7000-8000-000000000000", "spill")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "run", "ready.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	openLake(t, func(o *exec.Options) { o.Dir = dir })
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "run", "ready.json")); err != nil {
		t.Errorf("a file that is not the pool's: %v", err)
	}
}

func TestOpenFailsIfNoWorkerStarts(t *testing.T) {
	_, err := exec.Open(t.Context(), exec.Options{Dir: t.TempDir(), Executable: "/bin/false"})
	if fault.KindOf(err) != fault.Unavailable {
		t.Errorf("got %v", err)
	}
}

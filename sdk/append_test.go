package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/sdk"
)

func (l *testLake) create(t testing.TB, name string) {
	t.Helper()
	if _, err := l.CreateTable(t.Context(), name, schema, ident.OperationID{}); err != nil {
		t.Fatal(err)
	}
}

func newOp(t testing.TB) ident.OperationID {
	t.Helper()
	op, err := ident.NewOperation()
	if err != nil {
		t.Fatal(err)
	}
	return op
}

func TestAppendIsAppliedOnce(t *testing.T) {
	l := open(t)
	l.create(t, "demo.t")
	rows := []arrow.RecordBatch{numbers(0, 7), numbers(7, 3)}
	done, err := l.Append(t.Context(), "demo.t", rows, sdk.AppendOptions{})
	if err != nil || done.Rows != 10 || done.Version != 1 || done.Replayed || done.Operation == (ident.OperationID{}) {
		t.Fatalf("%+v (%v)", done, err)
	}
	again, err := l.Append(t.Context(), "demo.t", rows, sdk.AppendOptions{Operation: done.Operation})
	if err != nil || again.Version != 1 || again.Rows != 10 || !again.Replayed {
		t.Errorf("again: %+v (%v)", again, err)
	}
	if _, err := l.Append(t.Context(), "demo.t", rows[:1], sdk.AppendOptions{Operation: done.Operation}); !errors.Is(err, sdk.ErrStale) {
		t.Errorf("other rows: %v", err)
	}
	if n := l.count(t, "demo.t"); n != 10 {
		t.Errorf("%d rows", n)
	}
}

// An answer that is lost after its effect is asked for again, with the same
// bytes; if it stays away, the caller has the id to go on with.
func TestAppendWhoseAnswerIsLost(t *testing.T) {
	l := open(t)
	l.create(t, "demo.t")
	rows := []arrow.RecordBatch{numbers(0, 10)}
	l.lose.Store(1)
	_, err := l.Append(t.Context(), "demo.t", rows, sdk.AppendOptions{})
	p, ok := errors.AsType[*sdk.Pending](err)
	if !ok {
		t.Fatalf("%v is no *Pending", err)
	}
	done, err := l.Append(t.Context(), "demo.t", rows, sdk.AppendOptions{Operation: p.Operation})
	if err != nil || !done.Replayed || done.Rows != 10 {
		t.Errorf("%+v (%v)", done, err)
	}
	if n := l.count(t, "demo.t"); n != 10 {
		t.Errorf("%d rows", n)
	}
}

func TestAppendsThatAreRefused(t *testing.T) {
	l := open(t)
	l.create(t, "demo.t")
	text := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.BinaryTypes.String}}, nil)
	wide := array.NewRecordBuilder(memory.DefaultAllocator, text)
	defer wide.Release()
	wide.Field(0).(*array.StringBuilder).Append(strings.Repeat("x", 4<<20))
	row := wide.NewRecordBatch()
	for _, tt := range []struct {
		name  string
		table string
		rows  []arrow.RecordBatch
		err   error
	}{
		{"no batch", "demo.t", nil, sdk.ErrInvalid},
		{"no row", "demo.t", []arrow.RecordBatch{numbers(0, 0)}, sdk.ErrInvalid},
		{"too many rows", "demo.t", []arrow.RecordBatch{numbers(0, 10_000), numbers(0, 1)}, sdk.ErrExhausted},
		{"a row too wide", "demo.t", []arrow.RecordBatch{row}, sdk.ErrExhausted},
		{"two schemas", "demo.t", []arrow.RecordBatch{numbers(0, 1), row}, sdk.ErrInvalid},
		{"no table", "demo.nothing", []arrow.RecordBatch{numbers(0, 1)}, sdk.ErrNotFound},
		{"a name that is none", "demo", []arrow.RecordBatch{numbers(0, 1)}, sdk.ErrNotFound},
	} {
		_, err := l.Append(t.Context(), tt.table, tt.rows, sdk.AppendOptions{})
		if _, ok := errors.AsType[*sdk.Pending](err); ok || !errors.Is(err, tt.err) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.err)
		}
	}
	if n := l.count(t, "demo.t"); n != 0 {
		t.Errorf("%d rows", n)
	}
}

// Nobody serves: the append is tried for as long as its caller waits.
func TestAppendEndsWithItsContext(t *testing.T) {
	c, err := sdk.Open(sdk.Options{URI: "grpc://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err = c.Append(ctx, "demo.t", []arrow.RecordBatch{numbers(0, 1)}, sdk.AppendOptions{})
	if _, ok := errors.AsType[*sdk.Pending](err); !ok || time.Since(began) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// sequence yields batches of n rows each.
func sequence(batches int, n int64) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for i := range batches {
			b := numbers(int64(i)*n, n)
			ok := yield(b, nil)
			b.Release()
			if !ok {
				return
			}
		}
	}
}

func TestIngestStreams(t *testing.T) {
	l := open(t)
	for _, tt := range []struct {
		mode    sdk.Mode
		table   string
		batches int
		rows    int64 // a batch
		want    error
	}{
		{mode: sdk.ModeAppend, table: "demo.t", batches: 1, rows: 1, want: sdk.ErrNotFound},
		{mode: sdk.ModeCreate, table: "demo.t", batches: 0},
		{mode: sdk.ModeCreate, table: "demo.t", batches: 1, rows: 1, want: sdk.ErrExists},
		{mode: sdk.ModeAppend, table: "demo.t", batches: 1, rows: 1_000_000}, // more than a message
		{mode: sdk.ModeCreateAppend, table: "demo.t", batches: 1000, rows: 10},
		{mode: sdk.ModeCreateAppend, table: "other", batches: 3, rows: 100_000},
		{mode: 7, table: "other", want: sdk.ErrInvalid},
	} {
		name := fmt.Sprint(tt.mode, " ", tt.table, " ", tt.batches)
		var before int64
		if tt.want == nil && tt.mode != sdk.ModeCreate && tt.table == "demo.t" {
			before = l.count(t, tt.table)
		}
		done, err := l.Ingest(t.Context(), sdk.IngestOptions{Table: tt.table, Mode: tt.mode}, schema, sequence(tt.batches, tt.rows))
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
		if tt.want != nil {
			continue
		}
		if want := int64(tt.batches) * tt.rows; done.Rows != want || l.count(t, tt.table) != before+want {
			t.Errorf("%s: %+v, and %d rows are there, want %d", name, done, l.count(t, tt.table), before+want)
		}
	}
}

func TestIngestIsAppliedOnce(t *testing.T) {
	l := open(t)
	o := sdk.IngestOptions{Table: "demo.t", Mode: sdk.ModeCreate, Operation: newOp(t)}
	l.lose.Store(1)
	if _, err := l.Ingest(t.Context(), o, schema, sequence(3, 10)); !errors.As(err, new(*sdk.Pending)) {
		t.Errorf("a lost answer: %v", err)
	}
	for range 2 {
		if done, err := l.Ingest(t.Context(), o, schema, sequence(3, 10)); err != nil || done.Rows != 30 {
			t.Errorf("%+v (%v)", done, err)
		}
	}
	if _, err := l.Ingest(t.Context(), o, schema, sequence(3, 11)); !errors.Is(err, sdk.ErrStale) {
		t.Errorf("other rows: %v", err)
	}
	if n := l.count(t, "demo.t"); n != 30 {
		t.Errorf("%d rows", n)
	}
}

// A source that fails in the middle, and a caller that goes away, leave nothing.
func TestIngestThatEndsEarly(t *testing.T) {
	l := open(t)
	broken := errors.New("the disk is on fire")
	rows := func(yield func(arrow.RecordBatch, error) bool) {
		b := numbers(0, 10)
		defer b.Release()
		_ = yield(b, nil) && yield(nil, broken)
	}
	o := sdk.IngestOptions{Table: "demo.t", Mode: sdk.ModeCreate}
	if _, err := l.Ingest(t.Context(), o, schema, rows); !errors.Is(err, broken) {
		t.Errorf("%v, want what the source said", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancelled := func(yield func(arrow.RecordBatch, error) bool) {
		for b, err := range sequence(100, 1000) {
			cancel()
			if !yield(b, err) {
				return
			}
		}
	}
	if _, err := l.Ingest(ctx, o, schema, cancelled); err == nil {
		t.Error("a caller that goes away hears of no error")
	}
	tables, err := l.Tables(t.Context())
	if err != nil || slices.ContainsFunc(tables, func(t sdk.Table) bool { return t.Name == "demo.t" }) {
		t.Errorf("tables %v (%v)", tables, err)
	}
}

func TestPreparedStatements(t *testing.T) {
	l := open(t)
	l.create(t, "demo.t")
	plain, err := l.Prepare(t.Context(), "SELECT count(*) FROM demo.t")
	if err != nil || plain.Params() != 0 || !plain.Schema().Equal(countSchema) {
		t.Fatalf("%+v (%v)", plain, err)
	}
	more, err := l.Prepare(t.Context(), "SELECT count(*) + $1 FROM demo.t")
	if err != nil || more.Params() != 1 {
		t.Fatalf("%+v (%v)", more, err)
	}
	if _, err := l.Append(t.Context(), "demo.t", []arrow.RecordBatch{numbers(0, 10)}, sdk.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		s    *sdk.Stmt
		args []any
		want int64
		err  error
	}{
		{plain, nil, 10, nil}, // what is there now, not when it was prepared
		{more, []any{5}, 15, nil},
		{more, []any{int32(7)}, 17, nil},
		{more, []any{int64(-3)}, 7, nil},
		{more, nil, 0, sdk.ErrInvalid},
		{more, []any{1, 2}, 0, sdk.ErrInvalid},
		{more, []any{struct{}{}}, 0, sdk.ErrInvalid},
		{plain, []any{1}, 0, sdk.ErrInvalid},
	} {
		rows, err := tt.s.Query(t.Context(), tt.args...)
		if !errors.Is(err, tt.err) {
			t.Errorf("%v: %v, want %v", tt.args, err, tt.err)
		}
		if err != nil {
			continue
		}
		var n int64
		if !rows.Next() || rows.Scan(&n) != nil || n != tt.want {
			t.Errorf("%v: %d (%v), want %d", tt.args, n, rows.Err(), tt.want)
		}
		rows.Close()
	}
}

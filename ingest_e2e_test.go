package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/sdk"
)

// TestE2EIngest is stock clients that write.
func TestE2EIngest(t *testing.T) {
	s := startDev(t, t.TempDir())
	const script = "testdata/clients/ingest.py"
	out := output(t, python(t), script, s.ready.Flight)
	if !strings.Contains(string(out), "PASSED") {
		t.Errorf("%s:\n%s", script, out)
	}
	t.Logf("%s", bytes.TrimSpace(out))
	s.stop()
	s.noDeaths()
}

var ingested = arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)

// ids yields batches of a thousand numbers, and tells of each.
func ids(batches int, told func(i int)) func(func(arrow.RecordBatch, error) bool) {
	return func(yield func(arrow.RecordBatch, error) bool) {
		b := array.NewRecordBuilder(memory.DefaultAllocator, ingested)
		defer b.Release()
		for i := range batches {
			told(i)
			for k := range 1000 {
				b.Field(0).(*array.Int64Builder).Append(int64(i*1000 + k))
			}
			batch := b.NewRecordBatch()
			ok := yield(batch, nil)
			batch.Release()
			if !ok {
				return
			}
		}
	}
}

// TestE2EKillDuringIngests ends the server with kill -9 at ten moments of an
// ingest, and of appends, and sends each again with its operation id.
func TestE2EKillDuringIngests(t *testing.T) {
	dir := t.TempDir()
	s := startDev(t, dir)
	const (
		rounds  = 10
		batches = 400
	)
	ingest := func(ctx context.Context, c *sdk.Client, op ident.OperationID, told func(int)) error {
		done, err := c.Ingest(ctx, sdk.IngestOptions{Table: "demo.ids", Mode: sdk.ModeCreateAppend, Operation: op}, ingested, ids(batches, told))
		if err == nil && done.Rows != batches*1000 {
			err = fmt.Errorf("%d rows are acknowledged", done.Rows)
		}
		return err
	}
	row := func(yield func(arrow.RecordBatch)) {
		for b := range ids(1, func(int) {}) {
			yield(b)
		}
	}
	var want, unknown int64
	for round := range rounds {
		op, err := ident.NewOperation()
		if err != nil {
			t.Fatal(err)
		}
		appended, err := ident.NewOperation()
		if err != nil {
			t.Fatal(err)
		}
		// Spread over the upload, and after its end.
		victim := s
		kill := func(i int) {
			if i == min(batches-1, (round+1)*batches/(rounds-2)) {
				go func() {
					if round >= rounds-3 { // while the server commits
						timer := time.NewTimer(time.Duration(round-rounds+3) * 20 * time.Millisecond)
						<-timer.C
					}
					_ = victim.cmd.Process.Kill()
				}()
			}
		}
		err = ingest(t.Context(), s.client(), op, kill)
		if _, ok := errors.AsType[*sdk.Pending](err); ok {
			unknown++
		}
		s.kill()
		s = startDev(t, dir)
		if err := ingest(t.Context(), s.client(), op, func(int) {}); err != nil {
			t.Fatalf("round %d, again: %v", round, err)
		}
		want += batches * 1000
		// A few rows, which the client itself sends again until the server is
		// back, or its caller.
		row(func(b arrow.RecordBatch) {
			rows := []arrow.RecordBatch{b}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			go func() { _ = s.cmd.Process.Kill() }()
			_, _ = s.client().Append(ctx, "demo.ids", rows, sdk.AppendOptions{Operation: appended})
			s.kill()
			s = startDev(t, dir)
			if _, err := s.client().Append(t.Context(), "demo.ids", rows, sdk.AppendOptions{Operation: appended}); err != nil {
				t.Fatalf("round %d, the append again: %v", round, err)
			}
		})
		want += 1000
		if n := int64Of(t, s.client(), "SELECT count(*) FROM demo.ids"); n != want {
			t.Fatalf("round %d: %d rows, want %d", round, n, want)
		}
	}
	t.Logf("%d of %d ingests had been sent whole when the server ended", unknown, rounds)
	// Exactly once means each number as often as there were operations.
	if n := int64Of(t, s.client(), "SELECT count(*) FROM (SELECT id, count(*) AS n FROM demo.ids GROUP BY id HAVING n <> 10 AND id >= 1000 OR n <> 20 AND id < 1000)"); n != 0 {
		t.Errorf("%d numbers are not there as often as they were sent", n)
	}
	s.stop()
}

// TestE2EPreparedStatements binds Go values to a statement on a real server.
func TestE2EPreparedStatements(t *testing.T) {
	s := startDev(t, t.TempDir())
	c := s.client()
	if _, err := c.Ingest(t.Context(), sdk.IngestOptions{Table: "demo.ids", Mode: sdk.ModeCreate}, ingested, ids(1, func(int) {})); err != nil {
		t.Fatal(err)
	}
	stmt, err := c.Prepare(t.Context(), "SELECT count(*) FROM demo.ids WHERE id < $1 AND ($2 IS NULL OR id::VARCHAR = $2)")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []any
		want int64
	}{
		{[]any{10, nil}, 10},
		{[]any{int8(5), "3"}, 1},
		{[]any{uint64(2000), nil}, 1000},
		{[]any{2.5, nil}, 3},
		{[]any{nil, nil}, 0},
	} {
		rows, err := stmt.Query(t.Context(), tt.args...)
		if err != nil {
			t.Errorf("%v: %v", tt.args, err)
			continue
		}
		var n int64
		if !rows.Next() || rows.Scan(&n) != nil || n != tt.want {
			t.Errorf("%v: %d (%v), want %d", tt.args, n, rows.Err(), tt.want)
		}
		rows.Close()
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	stmt, err = c.Prepare(t.Context(), "SELECT $1 AS t, $2 AS b, $3 AS x")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := stmt.Query(t.Context(), at, true, []byte{0, 255})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var (
		gotAt    time.Time
		gotBool  bool
		gotBytes []byte
	)
	if !rows.Next() {
		t.Fatal(rows.Err())
	}
	if err := rows.Scan(&gotAt, &gotBool, &gotBytes); err != nil || !gotAt.Equal(at) || !gotBool || !bytes.Equal(gotBytes, []byte{0, 255}) {
		t.Errorf("%v %v %v (%v)", gotAt, gotBool, gotBytes, err)
	}
	s.stop()
	s.noDeaths()
}

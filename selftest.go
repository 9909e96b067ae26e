package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/urfave/cli/v3"

	"github.com/lakeward/lake/config"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/roles"
	"github.com/lakeward/lake/roles/dev"
	"github.com/lakeward/lake/sdk"
)

// Bounds of a self-test: its rows, all of it, and the start of an instance.
const (
	selftestRows  = 1000
	selftestMax   = 2 * time.Minute
	selftestStart = 30 * time.Second
)

func selftestCommand() *cli.Command {
	return &cli.Command{
		Name:  "selftest",
		Usage: "try everything once",
		Description: `Makes a table, loads it, loads it again, asks about it and compares, in the server
that runs or, if none does, in one of its own that is gone afterwards. Example:

   lake selftest

In a server that runs, the table stays: there is no drop yet.`,
		Flags:  clientFlags(jsonFlag()),
		Action: selftest,
	}
}

func selftest(ctx context.Context, cmd *cli.Command) (err error) {
	if cmd.Args().Present() {
		return usagef(cmd, "%q is not understood", cmd.Args().First())
	}
	ctx, cancel := context.WithTimeout(ctx, selftestMax)
	defer cancel()
	dir, err := os.MkdirTemp("", "lake-selftest-*")
	if err != nil {
		return fmt.Errorf("make a folder for the self-test: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := &report{asJSON: cmd.Bool("json")}

	c, _, err := connect(cmd)
	if err == nil {
		defer c.Close()
	}
	own := false
	switch {
	case err != nil && fault.KindOf(err) != fault.Unavailable:
		return err
	case err == nil && answers(ctx, c):
		r.add(good, "server", "the one that runs is tested")
	case cmd.IsSet("uri"):
		return fault.New(fault.Unavailable, "the server that --uri names does not answer; start it, or leave out --uri to test a server of this command's own")
	default:
		private, stop, serr := privateServer(ctx, filepath.Join(dir, "lake"))
		if serr != nil {
			return fmt.Errorf("start a server to test: %w", serr)
		}
		defer func() { err = errors.Join(err, stop()) }()
		c, own = private, true
		defer c.Close()
		r.add(good, "server", "none runs: one of this command's own is tested")
	}
	if err := tryAll(ctx, r, c, dir, own); err != nil {
		r.add(failed, "selftest", "%v", err)
	}
	return r.end("steps")
}

func answers(ctx context.Context, c *sdk.Client) bool {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	_, err := c.Status(ctx)
	return err == nil
}

// privateServer runs a whole lake in this process until stop is called.
func privateServer(ctx context.Context, dir string) (c *sdk.Client, stop func() error, err error) {
	nothing := func(string) (string, bool) { return "", false }
	cfg, err := config.Load(map[string]string{"dir": dir, "flight": "127.0.0.1:0", "query-slots": "1", "query-warm": "1"}, "", nothing)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- dev.Run(ctx, cfg, dev.All(), version(), slog.New(slog.DiscardHandler)) }()
	stop = func() error { cancel(); return <-ended }
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(selftestStart)
	for {
		select {
		case <-tick.C:
			if ready, err := roles.ReadReady(readyFile(cfg)); err == nil {
				if c, err = sdk.Open(sdk.Options{URI: ready.Flight}); err != nil {
					return nil, nil, errors.Join(err, stop())
				}
				return c, stop, nil
			}
		case err := <-ended:
			cancel()
			if err == nil {
				err = ctx.Err()
			}
			return nil, nil, err
		case <-late:
			return nil, nil, errors.Join(fault.Newf(fault.Unavailable, "it is not ready after %v; try again when the machine has less to do", selftestStart), stop())
		}
	}
}

// tryAll takes the steps; the first that goes wrong ends them.
func tryAll(ctx context.Context, r *report, c *sdk.Client, dir string, own bool) error {
	op, err := ident.NewOperation()
	if err != nil {
		return err
	}
	table := "selftest.t_" + strings.ReplaceAll(op.String(), "-", "")
	rows := selftestRowsOf(selftestRows)
	file := filepath.Join(dir, "rows.parquet")
	if err := writeParquet(file, rows); err != nil {
		return err
	}
	load := sdk.Load{Table: table, Files: []string{file}, Create: true, Operation: op}
	done, err := c.Load(ctx, load)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	if done.Rows != selftestRows || done.Replayed {
		return fmt.Errorf("load: %d rows were loaded, not %d", done.Rows, selftestRows)
	}
	r.add(good, "load", "%s: %d rows, version %d", table, done.Rows, done.Version)

	again, err := c.Load(ctx, load)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if !again.Replayed || again.Version != done.Version {
		return fmt.Errorf("replay: the same operation made version %d after %d", again.Version, done.Version)
	}
	r.add(good, "replay", "the same operation changed nothing")

	const n = selftestRows
	got, err := numbers(ctx, c, "SELECT count(*), sum(id)::BIGINT, count(note) FROM "+table)
	if err != nil {
		return fmt.Errorf("sql: %w", err)
	}
	if want := fmt.Sprint([]int64{n, n * (n - 1) / 2, n / 2}); fmt.Sprint(got) != want {
		return fmt.Errorf("sql: the answer is %v, not %s", got, want)
	}
	r.add(good, "sql", "the answer is right")

	if err := sameRows(ctx, c, "SELECT * FROM "+table+" ORDER BY id", rows); err != nil {
		return fmt.Errorf("types: %w", err)
	}
	r.add(good, "types", "rows and types come back as they went in")

	got, err = numbers(ctx, c, "SELECT count(*) FROM "+table+" AT (VERSION => 0)")
	switch {
	case fault.KindOf(err) == fault.Unsupported || fault.KindOf(err) == fault.Invalid:
		r.add(skipped, "time travel", "this server refuses it; use a newer one")
	case err != nil:
		return fmt.Errorf("time travel: %w", err)
	case len(got) != 1 || got[0] != 0:
		return fmt.Errorf("time travel: version 0 has %v rows, not 0", got)
	default:
		r.add(good, "time travel", "version 0 has no rows")
	}
	if !own {
		r.add(good, "left over", "%s stays, since there is no drop yet", table)
	}
	return nil
}

// held is a result in memory.
type held struct{ batch arrow.RecordBatch }

func (h held) Schema() *arrow.Schema { return h.batch.Schema() }

func (h held) Batches() iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) { yield(h.batch, nil) }
}

// selftestRowsOf makes rows of types that are easily changed on the way.
func selftestRowsOf(n int) held {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "small", Type: arrow.PrimitiveTypes.Uint8},
		{Name: "note", Type: arrow.BinaryTypes.LargeString, Nullable: true},
		{Name: "pose", Type: arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32), Nullable: true},
		{Name: "at", Type: &arrow.TimestampType{Unit: arrow.Nanosecond}, Nullable: true},
	}, nil))
	defer b.Release()
	for i := range n {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.Uint8Builder).Append(uint8(i))
		if i%2 == 0 {
			b.Field(2).(*array.LargeStringBuilder).Append(fmt.Sprintf("row %d, größe", i))
		} else {
			b.Field(2).AppendNull()
		}
		pose := b.Field(3).(*array.FixedSizeListBuilder)
		pose.Append(true)
		for k := range 3 {
			pose.ValueBuilder().(*array.Float32Builder).Append(float32(i) / float32(k+1))
		}
		b.Field(4).(*array.TimestampBuilder).Append(arrow.Timestamp(1_700_000_000_000_000_001 + int64(i)))
	}
	return held{b.NewRecordBatch()}
}

func writeParquet(name string, r result) (err error) {
	out, err := openSink(name, formatParquet)
	if err != nil {
		return err
	}
	_, err = printer{out: out.Writer, format: formatParquet}.rows(r)
	return out.end(err)
}

// numbers returns the first row of an answer.
func numbers(ctx context.Context, c *sdk.Client, sql string) (out []int64, err error) {
	rows, err := c.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if !rows.Next() {
		return nil, rows.Err()
	}
	out = make([]int64, rows.Schema().NumFields())
	dest := make([]any, len(out))
	for i := range out {
		dest[i] = &out[i]
	}
	return out, rows.Scan(dest...)
}

// sameRows compares an answer with what went in, as text and by type.
func sameRows(ctx context.Context, c *sdk.Client, sql string, want held) error {
	rows, err := c.Query(ctx, sql)
	if err != nil {
		return err
	}
	defer rows.Close()
	for i, f := range want.Schema().Fields() {
		if got := rows.Schema().Field(i); got.Name != f.Name || !arrow.TypeEqual(got.Type, f.Type) {
			return fmt.Errorf("column %s %s came back as %s %s", f.Name, f.Type, got.Name, got.Type)
		}
	}
	back, err := asText(rows)
	if err != nil {
		return err
	}
	sent, err := asText(want)
	if err != nil {
		return err
	}
	if back != sent {
		return errors.New("the rows that came back are not those that went in")
	}
	return nil
}

func asText(r result) (string, error) {
	var b strings.Builder
	_, err := printer{out: bufio.NewWriter(&b), format: formatNDJSON}.rows(r)
	return b.String(), err
}

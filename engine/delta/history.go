package delta

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/objects"
)

// operationMax bounds the text of an operation, which any writer can choose.
const operationMax = 100

// History implements engine.Historian.
func (t *table) History(ctx context.Context, v ident.Version, limit int) ([]engine.Change, error) {
	if v < 0 {
		return nil, fmt.Errorf("history of %s: %w", t.at, engine.ErrNoVersion)
	}
	found := make([]*engine.Change, min(int64(limit), int64(v)+1))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(readAhead)
	for i := range found {
		g.Go(func() error {
			at := v - ident.Version(i)
			c, err := t.readCommit(gctx, at)
			if errors.Is(err, objects.ErrNotFound) {
				return nil // the log was cleaned up
			}
			if err != nil {
				return err
			}
			found[i] = c.change(at)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("history of %s: %w", t.at, err)
	}
	out := make([]engine.Change, 0, len(found))
	for i, c := range found {
		switch {
		case c == nil && i == 0:
			return nil, fmt.Errorf("history of %s: %w", t.at, engine.ErrNoVersion)
		case c == nil:
			return out, nil
		}
		out = append(out, *c)
	}
	return out, nil
}

// change is what a commit says of itself.
func (c *commit) change(v ident.Version) *engine.Change {
	out := &engine.Change{Version: v, Operation: c.info.Operation}
	if r := []rune(out.Operation); len(r) > operationMax {
		out.Operation = string(r[:operationMax])
	}
	if ms := c.info.Timestamp; ms > 0 {
		out.Time = time.UnixMilli(ms).UTC()
	}
	if l := c.info.Lake; l != nil {
		if op, err := ident.ParseOperation(l.Op); err == nil {
			out.Op = op
		}
	}
	for _, a := range c.files {
		if a.Add == nil {
			continue
		}
		rows, _ := parseStats(a.Add.Stats, nil)
		if rows == unknownRows {
			out.Rows = unknownRows
			break
		}
		out.Rows += rows
	}
	return out
}

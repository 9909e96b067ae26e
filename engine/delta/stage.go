package delta

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
)

// removeMax bounds how long staged files are removed for after an error.
const removeMax = 10 * time.Second

// Stage implements engine.Table. Rows are read by the caller's goroutine while
// the row group before is encoded.
func (t *table) Stage(ctx context.Context, schema *arrow.Schema, rows iter.Seq2[arrow.RecordBatch, error]) (engine.Manifest, error) {
	l, err := newLayout(schema, t.e.o.Version)
	if err != nil {
		return engine.Manifest{}, err
	}
	s := &stager{t: t, layout: l}
	groups := make(chan rowGroup)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.writeAll(gctx, groups) })
	err = s.read(gctx, schema, rows, groups)
	close(groups)
	// A writer's error is why the reader was stopped.
	if werr := g.Wait(); werr != nil {
		err = werr
	}
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = s.finish(ctx)
	}
	if err != nil {
		return engine.Manifest{}, fmt.Errorf("stage rows of %s: %w", t.at, errors.Join(err, s.discard(ctx)))
	}
	return engine.Manifest{Files: s.files}, nil
}

// A stager writes rows as files. What it reads and what it writes belong to
// two goroutines.
type stager struct {
	t *table
	*layout
	file  *dataFile // being written, or nil
	files []engine.File
}

// A rowGroup is rows that become one row group, retained.
type rowGroup struct {
	batches []arrow.RecordBatch
	rows    int64
	bytes   int64
}

func (g *rowGroup) add(b arrow.RecordBatch, size int64) {
	g.batches = append(g.batches, b)
	g.rows += b.NumRows()
	g.bytes += size
}

func (g *rowGroup) release() {
	for _, b := range g.batches {
		b.Release()
	}
	*g = rowGroup{}
}

// read cuts rows into row groups until there are no more, or the writer stops.
func (s *stager) read(ctx context.Context, schema *arrow.Schema, rows iter.Seq2[arrow.RecordBatch, error], groups chan<- rowGroup) error {
	var group rowGroup
	defer group.release()
	send := func() bool {
		select {
		case groups <- group:
			group = rowGroup{}
			return true
		case <-ctx.Done():
			return false
		}
	}
	var checked *arrow.Schema
	for b, err := range rows {
		if err != nil {
			return err
		}
		if b.Schema() != checked {
			if err := engine.Compatible(schema, b.Schema()); err != nil {
				return err
			}
			checked = b.Schema()
		}
		if ctx.Err() != nil {
			return nil // for the reason that Stage finds
		}
		for at := int64(0); at < b.NumRows(); {
			n := min(b.NumRows()-at, s.t.e.o.RowGroupRows-group.rows)
			part := b.NewSlice(at, at+n)
			size, err := batchBytes(part)
			if err != nil {
				part.Release()
				return err
			}
			// Wide rows fill a row group before it has its number of rows.
			if room := s.t.e.o.RowGroupBytes - group.bytes; size > room {
				part.Release()
				if n = n * room / size; n == 0 && group.rows > 0 {
					if !send() {
						return nil
					}
					continue
				}
				n = max(n, 1)
				size = min(size, room)
				part = b.NewSlice(at, at+n)
			}
			group.add(part, size)
			at += n
			if group.rows >= s.t.e.o.RowGroupRows || group.bytes >= s.t.e.o.RowGroupBytes {
				if !send() {
					return nil
				}
			}
		}
	}
	if group.rows > 0 {
		send()
	}
	return nil
}

// writeAll writes row groups until there are no more.
func (s *stager) writeAll(ctx context.Context, groups <-chan rowGroup) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = malformed(p)
		}
	}()
	for group := range groups {
		err := s.write(ctx, group)
		group.release()
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *stager) write(ctx context.Context, group rowGroup) error {
	if s.file == nil {
		if len(s.files) >= commitFilesMax {
			return fault.Newf(fault.Exhausted, "the rows take more than %d files; load them in parts", commitFilesMax)
		}
		var err error
		if s.file, err = s.newDataFile(ctx, s.t.e.store, s.t.at); err != nil {
			return err
		}
	}
	if err := s.file.rowGroup(ctx, group.batches, s.t.e.o.Columns); err != nil {
		return err
	}
	if s.file.out.bytes >= s.t.e.o.FileBytes {
		return s.finish(ctx)
	}
	return nil
}

// finish ends the file being written, if any.
func (s *stager) finish(ctx context.Context) error {
	if s.file == nil {
		return nil
	}
	f, err := s.file.finish(ctx)
	if err != nil {
		return err
	}
	s.files, s.file = append(s.files, f), nil
	return nil
}

// discard removes what was written.
func (s *stager) discard(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeMax)
	defer cancel()
	names := make([]string, 0, len(s.files)+1)
	for _, f := range s.files {
		names = append(names, f.Name)
	}
	if s.file != nil {
		s.file.abort()
		names = append(names, s.file.name) // its Commit may have been the failure
	}
	var errs []error
	for _, name := range names {
		errs = append(errs, s.t.e.store.Delete(ctx, s.t.at.Join(name)))
	}
	return errors.Join(errs...)
}

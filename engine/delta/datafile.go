package delta

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"
	"golang.org/x/sync/errgroup"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/objects"
)

// zstdLevel compresses the pages of data files.
const zstdLevel = 3

// levelsMax is how many levels of a leaf column are written at once, so that a
// page ends where this package lets it. A single row may have more.
const levelsMax = 1 << 22

// A layout is how rows of a table lie in its data files.
type layout struct {
	stored []arrow.Field // of the top-level columns
	first  []int         // index of each column's first leaf
	leaves int
	schema *pqschema.Schema
	props  *parquet.WriterProperties
}

func newLayout(schema *arrow.Schema, version string) (*layout, error) {
	l := &layout{}
	for _, f := range schema.Fields() {
		s, err := storedField(f)
		if err != nil {
			return nil, err
		}
		l.stored = append(l.stored, s)
		l.first = append(l.first, l.leaves)
		l.leaves += countLeaves(s.Type)
	}
	arrowSchema := arrow.NewSchema(l.stored, nil)
	props := []parquet.WriterProperty{
		parquet.WithCreatedBy("lake version " + version),
		parquet.WithVersion(parquet.V2_LATEST),
		parquet.WithDataPageVersion(parquet.DataPageV1),
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithCompressionLevel(zstdLevel),
		parquet.WithPageIndexEnabled(true),
		parquet.WithStoreDecimalAsInteger(true),
		parquet.WithMaxRowGroupLength(math.MaxInt64), // Stage ends row groups
		parquet.WithBatchSize(levelsMax),
	}
	shape, err := pqarrow.ToParquet(arrowSchema, parquet.NewWriterProperties(props...), pqarrow.DefaultWriterProps())
	if err != nil {
		return nil, fmt.Errorf("lay out a data file: %w", err)
	}
	for i := range shape.NumColumns() {
		// A dictionary that saves nothing is given up after the first rows,
		// not when it has grown to its bound.
		props = append(props, parquet.WithDictionaryCostFallbackFor(shape.Column(i).Path(), true))
	}
	l.schema, l.props = shape, parquet.NewWriterProperties(props...)
	if l.schema.NumColumns() != l.leaves {
		return nil, fmt.Errorf("lay out a data file: %d leaf columns where %d were expected", l.schema.NumColumns(), l.leaves)
	}
	return l, nil
}

func countLeaves(t arrow.DataType) int {
	below := children(t)
	if below == nil {
		return 1
	}
	n := 0
	for _, f := range below {
		n += countLeaves(f.Type)
	}
	return n
}

// columns describes the layout as statistics need it.
func (l *layout) columns() []engine.Column {
	out := make([]engine.Column, len(l.stored))
	for i, s := range l.stored {
		out[i] = engine.Column{Source: s.Name, Stored: s.Type}
	}
	return out
}

// leafIndex returns the leaf at a path through structs.
func (l *layout) leafIndex(path []string) int {
	n, fields := 0, l.stored
	for _, p := range path {
		for _, c := range fields {
			if c.Name == p {
				fields = children(c.Type)
				break
			}
			n += countLeaves(c.Type)
		}
	}
	return n
}

// A dataFile is a Parquet file being written.
type dataFile struct {
	*layout
	name   string // below the table's location
	out    *countingWriter
	w      *file.Writer
	rows   int64
	bounds []*bounds // by leaf; nil for those without statistics in the log
}

// countingWriter hashes and counts what goes to an object.
type countingWriter struct {
	objects.Writer
	hash  hash.Hash
	bytes int64
}

func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.hash.Write(p[:n])
	w.bytes += int64(n)
	return n, err
}

// newDataFile begins a file. The caller aborts what it does not finish.
func (l *layout) newDataFile(ctx context.Context, store objects.Store, at objects.Location) (*dataFile, error) {
	id, err := ident.NewObjectName()
	if err != nil {
		return nil, err
	}
	name := id + ".parquet"
	obj, err := store.Create(ctx, at.Join(name))
	if err != nil {
		return nil, err
	}
	f := &dataFile{layout: l, name: name, out: &countingWriter{Writer: obj, hash: sha256.New()}, bounds: make([]*bounds, l.leaves)}
	for _, s := range leaves(l.columns()) {
		f.bounds[l.leafIndex(s.path)] = &bounds{leaf: s}
	}
	f.w, err = file.NewParquetWriterWithError(f.out, l.schema.Root(), file.WithWriterProps(l.props))
	if err != nil {
		obj.Abort()
		return nil, err
	}
	return f, nil
}

// rowGroup writes batches as one row group, columns of it side by side.
func (f *dataFile) rowGroup(ctx context.Context, batches []arrow.RecordBatch, parallel int) error {
	rg, err := f.w.AppendBufferedRowGroupChecked()
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i := range f.stored {
		g.Go(func() (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = malformed(p)
				}
			}()
			return f.column(ctx, rg, i, batches)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := rg.Close(); err != nil {
		return err
	}
	for _, b := range batches {
		f.rows += b.NumRows()
	}
	return nil
}

// column writes one top-level column of a row group. Column writers of a
// buffered row group share nothing until it is closed.
func (f *dataFile) column(ctx context.Context, rg file.BufferedRowGroupWriter, i int, batches []arrow.RecordBatch) error {
	ctx = pqarrow.NewArrowWriteContext(ctx, nil)
	open := make([]bool, f.layout.leaves) // a page of the leaf has values
	s := &shredder{}
	s.emit = func(l shredded) error {
		leaf := f.first[i] + l.index
		cw, err := rg.Column(leaf)
		if err != nil {
			return err
		}
		if b := f.bounds[leaf]; b != nil {
			b.add(l.values, l.def, l.full)
		}
		before := cw.TotalCompressedBytes()
		if err := pqarrow.WriteArrowToColumn(ctx, cw, l.values, l.def, l.rep, l.nullable); err != nil {
			return fmt.Errorf("column %q: %w", l.path, err)
		}
		open[leaf] = cw.TotalCompressedBytes() == before
		return nil
	}
	for _, b := range batches {
		arr := b.Column(i)
		for at := 0; at < arr.Len(); {
			if err := ctx.Err(); err != nil {
				return err
			}
			n := sliceRows(arr, at)
			part := array.NewSlice(arr, int64(at), int64(at+n))
			err := s.column(ctx, part, f.stored[i])
			part.Release()
			if err != nil {
				return err
			}
			at += n
		}
	}
	// The last page is compressed here, not when the row group is closed.
	for leaf, has := range open {
		if !has {
			continue
		}
		cw, err := rg.Column(leaf)
		if err != nil {
			return err
		}
		if err := cw.(interface{ FlushCurrentPage() error }).FlushCurrentPage(); err != nil {
			return err
		}
	}
	return nil
}

// finish completes the file and makes it an object.
func (f *dataFile) finish(ctx context.Context) (engine.File, error) {
	if err := f.w.Close(); err != nil {
		return engine.File{}, err
	}
	out := engine.File{Name: f.name, Rows: f.rows, Bytes: f.out.bytes}
	f.out.hash.Sum(out.SHA256[:0])
	for _, b := range f.bounds {
		if b != nil {
			out.Stats = append(out.Stats, b.stats())
		}
	}
	if _, err := f.out.Writer.Commit(ctx); err != nil {
		return engine.File{}, err
	}
	return out, nil
}

func (f *dataFile) abort() { f.out.Writer.Abort() }

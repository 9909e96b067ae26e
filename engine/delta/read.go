package delta

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"golang.org/x/sync/errgroup"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
)

// Bounds on reading a Parquet file of somebody else: rows and about how many
// bytes of values are in a batch, and the size of a page, which is read whole.
const (
	readRowsMax      = rowGroupRowsDefault
	readBytesMax     = 128 << 20
	readPageBytesMax = 512 << 20
)

// errParquet is the class of files that cannot be read.
var errParquet = fault.New(fault.Invalid, "not a Parquet file that can be read")

// ParquetRows reads an ordinary Parquet file of size bytes: its schema, and its
// rows in order, in batches of at most 122,880, which are valid until the next
// one. Columns are read side by side. Types are those of the Arrow schema that
// the writer may have left in the file, except for views. What is not Parquet,
// or is broken, is fault.Invalid; bytes are trusted in nothing. done releases
// what was not read and must be called once, after the last use of rows.
func ParquetRows(ctx context.Context, r io.ReaderAt, size int64) (schema *arrow.Schema, rows iter.Seq2[arrow.RecordBatch, error], done func() error, err error) {
	p, err := openParquet(r, size)
	if err != nil {
		return nil, nil, nil, err
	}
	return p.schema, func(yield func(arrow.RecordBatch, error) bool) {
		for g := range p.file.NumRowGroups() {
			if !p.rowGroup(ctx, g, yield) {
				return
			}
		}
	}, p.close, nil
}

type parquetFile struct {
	file   *file.Reader
	arrow  *pqarrow.FileReader
	schema *arrow.Schema
}

func openParquet(r io.ReaderAt, size int64) (p *parquetFile, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = unreadable(v)
		}
	}()
	props := parquet.NewReaderProperties(memory.DefaultAllocator)
	props.BufferedStreamEnabled = true // no buffer of a size that the file states
	props.BufferSize = 256 << 10
	props.MaxCompressedPageSize, props.MaxUncompressedPageSize = readPageBytesMax, readPageBytesMax
	f, err := file.NewParquetReader(io.NewSectionReader(r, 0, size), file.WithReadProps(props))
	if err != nil {
		return nil, unreadable(err)
	}
	if err := checkArrowSchema(f); err != nil {
		return nil, errors.Join(unreadable(err), f.Close())
	}
	// Not arrow-go's parallel reading: a panic over broken bytes in a goroutine
	// of its own would end the process.
	a, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{BatchSize: readRowsMax}, memory.DefaultAllocator)
	if err != nil {
		return nil, errors.Join(unreadable(err), f.Close())
	}
	s, err := a.Schema()
	if err != nil {
		return nil, errors.Join(unreadable(err), f.Close())
	}
	return &parquetFile{f, a, s}, nil
}

// arrowSchemaKey is the file metadata in which writers leave their Arrow schema.
const arrowSchemaKey = "ARROW:schema"

// checkArrowSchema looks at the Arrow schema of a file before arrow-go does,
// which believes what it says of its own size.
func checkArrowSchema(f *file.Reader) error {
	text := f.MetaData().KeyValueMetadata().FindValue(arrowSchemaKey)
	if text == nil {
		return nil
	}
	b, err := base64.StdEncoding.DecodeString(*text)
	if err != nil || len(b) == 0 {
		if b, err = base64.RawStdEncoding.DecodeString(*text); err != nil {
			return err
		}
	}
	return engine.VerifySchema(b)
}

func (p *parquetFile) close() error { return p.file.Close() }

// unreadable makes an error of what arrow-go says, or panics with, about a file.
func unreadable(what any) error {
	if err, ok := what.(error); ok && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return err
	}
	return fault.Detail(errParquet, "not a Parquet file that can be read (%.200s); check that it is whole", fmt.Sprint(what))
}

// rowGroup yields the rows of one row group, and reports whether to go on.
func (p *parquetFile) rowGroup(ctx context.Context, g int, yield func(arrow.RecordBatch, error) bool) bool {
	readers, rows, step, err := p.open(ctx, g)
	defer func() {
		for _, r := range readers {
			if r != nil {
				r.Release()
			}
		}
	}()
	if err != nil {
		yield(nil, err)
		return false
	}
	for rows > 0 {
		n := min(rows, step)
		b, err := p.batch(ctx, readers, n)
		if err != nil {
			yield(nil, err)
			return false
		}
		more := yield(b, nil)
		b.Release()
		if !more {
			return false
		}
		rows -= n
	}
	return true
}

// open begins to read a row group of so many rows, a step at a time.
func (p *parquetFile) open(ctx context.Context, g int) (readers []*pqarrow.ColumnReader, rows, step int64, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = unreadable(v)
		}
	}()
	md := p.file.MetaData().RowGroup(g)
	rows = md.NumRows()
	if rows < 0 {
		return nil, 0, 0, unreadable("a row group of a negative number of rows")
	}
	leaves := map[int]bool{}
	for i := range p.file.MetaData().Schema.NumColumns() {
		leaves[i] = true
		// arrow-go opens what lies below a struct in a goroutine: what it
		// stumbles over there must be found here.
		pages, err := p.file.RowGroup(g).GetColumnPageReader(i)
		if err != nil {
			return nil, 0, 0, unreadable(err)
		}
		if err := pages.Close(); err != nil {
			return nil, 0, 0, unreadable(err)
		}
	}
	step = min(rows, readRowsMax)
	if size := md.TotalByteSize(); size > readBytesMax && rows > 0 {
		step = max(1, min(step, int64(float64(rows)*readBytesMax/float64(size))))
	}
	readers = make([]*pqarrow.ColumnReader, p.schema.NumFields())
	for i := range readers {
		if readers[i], err = p.arrow.GetFieldReader(ctx, i, leaves, []int{g}); err != nil {
			return readers, 0, 0, unreadable(err)
		}
	}
	return readers, rows, step, nil
}

// batch reads the next n rows.
func (p *parquetFile) batch(ctx context.Context, readers []*pqarrow.ColumnReader, n int64) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, len(readers))
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, r := range readers {
		g.Go(func() (err error) {
			defer func() {
				if v := recover(); v != nil {
					err = unreadable(v)
				}
			}()
			if err := ctx.Err(); err != nil {
				return err
			}
			columns[i], err = p.column(r, i, n)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return array.NewRecordBatch(p.schema, columns, n), nil
}

func (p *parquetFile) column(r *pqarrow.ColumnReader, i int, n int64) (arrow.Array, error) {
	f := p.schema.Field(i)
	chunks, err := r.NextBatch(n)
	if err != nil {
		return nil, unreadable(err)
	}
	defer chunks.Release()
	var out arrow.Array
	switch len(chunks.Chunks()) {
	case 0:
		return nil, unreadable(fmt.Sprintf("column %q has too few values", f.Name))
	case 1:
		out = chunks.Chunk(0)
		out.Retain()
	default:
		if out, err = array.Concatenate(chunks.Chunks(), memory.DefaultAllocator); err != nil {
			return nil, unreadable(err)
		}
	}
	if int64(out.Len()) != n || !engine.SameType(out.DataType(), f.Type) {
		defer out.Release()
		return nil, unreadable(fmt.Sprintf("column %q has %d values of %s where %d of %s were expected", f.Name, out.Len(), out.DataType(), n, f.Type))
	}
	if !arrow.TypeEqual(out.DataType(), f.Type) { // field ids of large lists
		defer out.Release()
		return retype(out, f.Type), nil
	}
	return out, nil
}

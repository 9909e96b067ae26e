package sdk

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/delta"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
)

// input is the files of a load, open from the moment they were hashed.
type input struct {
	files   []inputFile
	sources []ident.Source
	format  Format        // of all files
	schema  *arrow.Schema // of the first file, which all others have
}

type inputFile struct {
	name string
	f    *os.File
	info os.FileInfo
	rows iter.Seq2[arrow.RecordBatch, error]
	done func() error
}

var errChanged = fault.New(fault.Conflict, "a file changed while it was loaded; nothing was loaded: load it again when it is complete")

// openInput opens files and hashes them. Without a format, the first file's own
// is that of all.
func openInput(ctx context.Context, names []string, format Format) (_ *input, err error) {
	in := &input{format: format}
	defer func() {
		if err != nil {
			in.close()
		}
	}()
	for _, name := range names {
		f, err := openFile(ctx, name)
		if err != nil {
			return nil, err
		}
		file := inputFile{name: name, f: f, done: f.Close}
		if file.info, err = f.Stat(); err == nil && !file.info.Mode().IsRegular() {
			err = fault.Newf(fault.Invalid, "%s is not a regular file; name files, or - for standard input", name)
		}
		in.files = append(in.files, file)
		if err != nil {
			return nil, err
		}
		h := sha256.New()
		n, err := io.Copy(h, contextReader{ctx, f})
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		in.sources = append(in.sources, ident.Source{Bytes: n, SHA256: ident.Digest(h.Sum(nil))})

		of, err := formatOf(f, name)
		if err != nil {
			return nil, err
		}
		if in.format == "" {
			in.format = of
		}
		if of != in.format {
			return nil, fault.Newf(fault.Invalid, "%s is %s where %s was to be loaded; load it on its own", name, of, in.format)
		}
		read := delta.ParquetRows
		if of == Arrow {
			read = arrowRows
		}
		schema, rows, done, err := read(ctx, f, n)
		if err != nil {
			return nil, fault.Detail(err, "%s: %s", name, fault.Public(err))
		}
		last := &in.files[len(in.files)-1]
		last.rows = rows
		last.done = func() error { return errors.Join(done(), f.Close()) }
		if in.schema == nil {
			in.schema = schema
		} else if err := engine.Compatible(in.schema, schema); err != nil {
			return nil, fault.Detail(err, "%s differs from %s: %s", name, names[0], fault.Public(err))
		}
	}
	return in, nil
}

// rows yields the batches of all files in order.
func (in *input) rows(progress func(int64)) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		var total int64
		for _, f := range in.files {
			for batch, err := range f.rows {
				if err != nil {
					yield(nil, fault.Detail(err, "%s: %s", f.name, fault.Public(err)))
					return
				}
				total += batch.NumRows()
				if !yield(batch, nil) {
					return
				}
				if progress != nil {
					progress(total)
				}
			}
		}
	}
}

// unchanged reports a file that is not what was hashed.
func (in *input) unchanged() error {
	for i, f := range in.files {
		now, err := f.f.Stat()
		if err != nil || now.Size() != in.sources[i].Bytes || !now.ModTime().Equal(f.info.ModTime()) {
			return fmt.Errorf("%s: %w", f.name, errChanged)
		}
	}
	return nil
}

func (in *input) close() {
	for _, f := range in.files {
		_ = f.done() // read only
	}
}

// contextReader ends when its context does.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// stdin is the name of standard input.
const stdin = "-"

// match returns the names of files, patterns replaced by what they match.
func match(names []string) (out []string, err error) {
	for _, name := range names {
		if name == stdin || !strings.ContainsAny(name, `*?[`) {
			out = append(out, name)
			continue
		}
		if _, err := os.Lstat(name); err == nil { // a file of that very name
			out = append(out, name)
			continue
		}
		found, err := filepath.Glob(name)
		if err != nil {
			return nil, fault.Newf(fault.Invalid, "%s is no pattern of file names: %v", name, err)
		}
		if len(found) == 0 {
			return nil, fault.Newf(fault.NotFound, "no file matches %s", name)
		}
		slices.Sort(found)
		out = append(out, found...)
	}
	if len(out) == 0 {
		return nil, fault.New(fault.Invalid, "no file to load was named")
	}
	if i := slices.Index(out, stdin); i >= 0 && slices.Contains(out[i+1:], stdin) {
		return nil, fault.New(fault.Invalid, "standard input can be loaded once; name - once")
	}
	return out, nil
}

// openFile opens a file, or a copy of standard input: what is loaded is read
// twice, to know what it is before anything is done with it.
func openFile(ctx context.Context, name string) (*os.File, error) {
	if name == stdin {
		return spool(ctx, os.Stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fault.Newf(fault.NotFound, "cannot read %s: %v", name, errors.Unwrap(err))
	}
	return f, nil
}

// spool copies a stream to a file that is gone when it is closed.
func spool(ctx context.Context, r io.Reader) (_ *os.File, err error) {
	f, err := os.CreateTemp("", "lake-load-")
	if err != nil {
		return nil, fmt.Errorf("keep standard input: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	if err := os.Remove(f.Name()); err != nil {
		return nil, fmt.Errorf("keep standard input: %w", err)
	}
	if _, err := io.Copy(f, contextReader{ctx, r}); err != nil {
		return nil, fmt.Errorf("keep standard input: %w", err)
	}
	_, err = f.Seek(0, io.SeekStart)
	return f, err
}

// The first bytes of files.
var (
	parquetMagic    = []byte("PAR1")
	arrowFileMagic  = []byte("ARROW1\x00\x00")
	arrowStreamMark = []byte("\xff\xff\xff\xff")
)

// formatOf is the format of a file by its first bytes.
func formatOf(f io.ReaderAt, name string) (Format, error) {
	b := make([]byte, len(arrowFileMagic))
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	b = b[:n]
	switch {
	case bytes.HasPrefix(b, parquetMagic):
		return Parquet, nil
	case bytes.HasPrefix(b, arrowFileMagic), bytes.HasPrefix(b, arrowStreamMark):
		return Arrow, nil
	}
	return "", fault.Newf(fault.Unsupported, "%s is neither Parquet nor Arrow IPC by its first bytes; convert it to Parquet", name)
}

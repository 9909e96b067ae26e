package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/mattn/go-isatty"
	"golang.org/x/term"

	"github.com/lakeward/lake/fault"
)

// Bounds of a row group of a Parquet file that is written: whichever is met
// first ends it.
const (
	rowGroupRowsMax  = 122_880
	rowGroupBytesMax = 64 << 20
)

// outputBytes is how much of an output is gathered before it is written.
const outputBytes = 64 << 10

// arrow writes an Arrow IPC stream.
func (p printer) arrow(rows result) (n int64, err error) {
	w := ipc.NewWriter(p.out, ipc.WithSchema(rows.Schema()))
	defer func() { err = errors.Join(err, w.Close()) }()
	for batch, err := range rows.Batches() {
		if err != nil {
			return n, err
		}
		if err := w.Write(batch); err != nil {
			return n, fmt.Errorf("write arrow: %w", err)
		}
		n += batch.NumRows()
	}
	return n, nil
}

// parquet writes a Parquet file with bounded row groups. The Arrow schema goes
// along, so that readers of Arrow get the same types back.
func (p printer) parquet(rows result) (n int64, err error) {
	w, err := pqarrow.NewFileWriter(rows.Schema(), struct{ io.Writer }{p.out},
		parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd), parquet.WithMaxRowGroupLength(rowGroupRowsMax)),
		pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		return 0, fault.Newf(fault.Unsupported, "Parquet cannot hold this result (%v); cast the column, or use --format arrow", err)
	}
	for batch, err := range rows.Batches() {
		if err != nil {
			return n, err // without its footer, the file is none
		}
		if err := w.WriteBuffered(batch); err != nil {
			return n, fault.Newf(fault.Unsupported, "Parquet cannot hold this result (%v); cast the column, or use --format arrow", err)
		}
		if n += batch.NumRows(); w.RowGroupTotalBytesWritten() > rowGroupBytesMax {
			w.NewBufferedRowGroup()
		}
	}
	return n, w.Close()
}

// A sink is where a command's answer goes: standard output, or a file that
// appears when it is complete.
type sink struct {
	*bufio.Writer
	f        *os.File
	name     string // of the file, or empty
	terminal bool
	width    int // of the terminal, or 0
}

// openSink refuses to show bytes on a terminal.
func openSink(name, format string) (*sink, error) {
	o := &sink{f: os.Stdout, name: name}
	if name != "" {
		f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
		if err != nil {
			return nil, fault.Newf(fault.Invalid, "cannot write %s: %v", name, errors.Unwrap(err))
		}
		o.f = f
	} else if isatty.IsTerminal(o.f.Fd()) {
		o.terminal = true
		o.width, _, _ = term.GetSize(int(o.f.Fd())) // 0 if unknown
		if binary(format) {
			return nil, fault.Newf(fault.Invalid, "%s is not for a terminal; add --output FILE, or send it to a pipe", format)
		}
	}
	o.Writer = bufio.NewWriterSize(o.f, outputBytes)
	return o, nil
}

// outputMode is the mode of a file that is written.
const outputMode = 0o644

// end completes the output, unless err is why it cannot be complete.
func (o *sink) end(err error) error {
	err = errors.Join(err, o.Flush())
	if o.name == "" {
		return err
	}
	if err == nil {
		err = errors.Join(o.f.Chmod(outputMode), o.f.Sync())
	}
	err = errors.Join(err, o.f.Close())
	if err == nil {
		err = os.Rename(o.f.Name(), o.name)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(o.f.Name()))
	}
	return err
}

// writeWhole replaces a file by one that holds data.
func writeWhole(name string, mode os.FileMode, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

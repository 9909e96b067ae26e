package sdk

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/ident"
)

// Bounds of a message in an Arrow file, and how much of one is read ahead.
const (
	arrowHeaderMax = 16 << 20
	arrowBodyMax   = 1 << 30
	arrowAhead     = 1 << 20
)

var (
	errArrowCut  = fault.New(fault.Invalid, "it ends before its end mark, so it was cut short; write it again")
	errArrowWide = fault.Newf(fault.Exhausted, "a record batch takes more than %d bytes; write smaller batches", arrowBodyMax)
)

// arrowRows reads an Arrow IPC file or stream of n bytes. A file is a stream
// between two marks, and is read as that.
func arrowRows(ctx context.Context, f io.ReaderAt, n int64) (*arrow.Schema, iter.Seq2[arrow.RecordBatch, error], func() error, error) {
	s := &arrowStream{r: bufio.NewReaderSize(contextReader{ctx, io.NewSectionReader(f, 0, n)}, arrowAhead), left: n}
	if mark, err := s.r.Peek(len(arrowFileMagic)); err == nil && bytes.Equal(mark, arrowFileMagic) {
		if _, err := s.read(len(arrowFileMagic)); err != nil {
			return nil, nil, nil, err
		}
	}
	// Nobody asks for this digest: that of the load is of the file.
	frames, err := wire.ReadFrames(s.next, ident.NewIngestDigest(), wire.FrameLimits{})
	if err != nil {
		return nil, nil, nil, err
	}
	return frames.Schema(), frames.Batches(), func() error { return nil }, nil
}

// An arrowStream reads messages one after another.
type arrowStream struct {
	r    *bufio.Reader
	left int64 // bytes
}

func (s *arrowStream) next() (*arrowflight.FlightData, error) {
	const continuation = 0xFFFFFFFF
	size, err := s.read(4)
	if err == nil && binary.LittleEndian.Uint32(size) == continuation {
		size, err = s.read(4)
	}
	if err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(size)
	if n == 0 {
		return nil, io.EOF
	}
	if n > arrowHeaderMax {
		return nil, errArrowWide
	}
	header, err := s.read(int(n))
	if err != nil {
		return nil, err
	}
	bytes, err := engine.BodyBytes(header)
	if err != nil {
		return nil, err
	}
	if bytes > arrowBodyMax {
		return nil, errArrowWide
	}
	body, err := s.read(int(bytes))
	return &arrowflight.FlightData{DataHeader: header, DataBody: body}, err
}

// read returns the next n bytes, of which it has made sure that they are there.
func (s *arrowStream) read(n int) ([]byte, error) {
	if s.left -= int64(n); s.left < 0 {
		return nil, errArrowCut
	}
	b := make([]byte, n)
	_, err := io.ReadFull(s.r, b)
	return b, err
}

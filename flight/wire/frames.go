package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
)

// Bounds on any upload of rows: dictionaries of a schema, and the bytes of
// those that are in use at a time.
const (
	DictionariesMax    = 16
	dictionaryBytesMax = 64 << 20
)

// Clients send batches of any size. Those of fewer rows than coalesceRows are
// copied together, until there are that many or coalesceBytes of messages. Those
// of more are handed on as they are if their message is small enough to be kept
// for the sake of any of its rows.
const (
	coalesceRows  = 8192
	coalesceBytes = 16 << 20
	keepBytes     = 4 << 20
)

// FrameLimits bound one upload. A limit of zero is none.
type FrameLimits struct {
	Rows     int64
	Bytes    int64 // of headers, bodies and application metadata
	Messages int
}

var (
	errFrames   = fault.New(fault.Invalid, "the rows do not decode as Arrow record batches; write them with an Arrow library")
	errNoFrames = fault.New(fault.Invalid, "the rows ended before a schema; write the schema, also when there are no rows")
)

// Frames are rows from outside, of a client's upload or of a file: what a
// message states is held against its bytes before Arrow reads it. They are used
// by one goroutine.
type Frames struct {
	next   func() (*arrowflight.FlightData, error)
	digest ident.FrameDigest
	limits FrameLimits
	schema *arrow.Schema

	unread   *arrowflight.FlightData // the schema's message, for reader
	messages int
	bytes    int64
	rows     int64
	held     int64           // bytes of messages since rows were handed on last
	dicts    map[int64]int64 // bytes of each dictionary in use
	err      error           // of next, or of what it brought
}

// ReadFrames reads an upload up to its schema. next returns one message after
// another, the first included, and io.EOF at the end that the client has made;
// the digest is of all of them.
func ReadFrames(next func() (*arrowflight.FlightData, error), digest ident.FrameDigest, limits FrameLimits) (*Frames, error) {
	f := &Frames{next: next, digest: digest, limits: limits, dicts: map[int64]int64{}}
	msg, err := f.message()
	if errors.Is(err, io.EOF) {
		return nil, errNoFrames
	}
	if err != nil {
		return nil, err
	}
	if f.schema, err = decodeSchema(msg.GetDataHeader()); err != nil {
		return nil, err
	}
	if n := dictionaries(f.schema.Fields()); n > DictionariesMax {
		return nil, fault.Newf(fault.Exhausted, "the schema has %d dictionaries, more than the %d that are read; make some of them plain columns", n, DictionariesMax)
	}
	f.unread = msg
	return f, nil
}

// Schema is the schema of all rows, as the client has it.
func (f *Frames) Schema() *arrow.Schema { return f.schema }

// Rows is how many rows were read so far.
func (f *Frames) Rows() int64 { return f.rows }

// Digest is the digest of all messages. It is known when Batches or Drain has
// come to the end.
func (f *Frames) Digest() ident.Digest { return f.digest.Sum() }

// Drain reads what is left, for its digest alone.
func (f *Frames) Drain() error {
	for {
		if _, err := f.message(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// Batches yields the rows, in batches that are neither tiny nor keep more than
// their own rows in memory. One is valid until the next. It is called once.
func (f *Frames) Batches() iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		var held pending
		defer held.release()
		for b, err := range f.decoded() {
			if err != nil {
				yield(nil, err)
				return
			}
			if len(held.batches) == 0 && b.NumRows() >= coalesceRows && f.held <= keepBytes {
				f.held = 0
				if !yield(b, nil) {
					return
				}
				continue
			}
			held.add(b)
			if held.rows >= coalesceRows || f.held >= coalesceBytes {
				f.held = 0
				if !held.flush(yield) {
					return
				}
			}
		}
		held.flush(yield)
	}
}

// decoded yields each batch as it was sent. What arrow-go panics over is a
// malformed message.
func (f *Frames) decoded() iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		r, err := arrowflight.NewRecordReader(recvFunc(f.message))
		if err != nil {
			yield(nil, f.because(err))
			return
		}
		defer r.Release()
		for r.Next() {
			if b := r.RecordBatch(); b.NumRows() > 0 && !yield(b, nil) {
				return
			}
		}
		if err := r.Err(); err != nil || f.err != nil {
			yield(nil, f.because(err))
		}
	}
}

// because is why decoding ended: what message found wrong, or Arrow.
func (f *Frames) because(err error) error {
	if f.err != nil {
		return f.err
	}
	return fmt.Errorf("%w: %w", errFrames, err)
}

// message returns the next message with a header, checked and hashed.
func (f *Frames) message() (*arrowflight.FlightData, error) {
	if m := f.unread; m != nil {
		f.unread = nil
		return m, nil
	}
	for {
		m, err := f.take()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				f.err = err
			}
			return nil, err
		}
		if len(m.GetDataHeader()) > 0 {
			return m, nil
		}
	}
}

func (f *Frames) take() (*arrowflight.FlightData, error) {
	m, err := f.next()
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	header, body := m.GetDataHeader(), m.GetDataBody()
	n := int64(len(header) + len(body) + len(m.GetAppMetadata()))
	f.bytes += n
	f.held += n
	f.messages++
	switch {
	case f.limits.Bytes > 0 && f.bytes > f.limits.Bytes:
		return nil, fault.Newf(fault.Exhausted, "the upload has more than %d bytes; load more with `lake load` or ADBC's adbc_ingest", f.limits.Bytes)
	case f.limits.Messages > 0 && f.messages > f.limits.Messages:
		return nil, fault.Newf(fault.Exhausted, "the upload has more than %d messages; put more rows into each", f.limits.Messages)
	}
	f.digest.Add(header, body, m.GetAppMetadata())
	if f.schema == nil || len(header) == 0 {
		return m, nil
	}
	h, err := engine.VerifyBatch(header, len(body))
	if err != nil {
		return nil, err
	}
	if h.Dictionary {
		return m, f.dictionary(h, int64(len(header)+len(body)))
	}
	if f.rows += h.Rows; f.limits.Rows > 0 && f.rows > f.limits.Rows {
		return nil, fault.Newf(fault.Exhausted, "the upload has more than %d rows; load more with `lake load` or ADBC's adbc_ingest", f.limits.Rows)
	}
	return m, nil
}

// dictionary counts what dictionaries take, which stay in memory until others
// come in their place.
func (f *Frames) dictionary(h engine.BatchHeader, bytes int64) error {
	if h.Delta {
		bytes += f.dicts[h.ID]
	}
	f.dicts[h.ID] = bytes
	if len(f.dicts) > DictionariesMax {
		return fmt.Errorf("%w: dictionary %d is not of the schema", errFrames, h.ID)
	}
	var all int64
	for _, n := range f.dicts {
		all += n
	}
	if all > dictionaryBytesMax {
		return fault.Newf(fault.Exhausted, "the dictionaries take more than %d bytes; make them plain columns", dictionaryBytesMax)
	}
	return nil
}

// recvFunc makes a stream of a function.
type recvFunc func() (*arrowflight.FlightData, error)

func (f recvFunc) Recv() (*arrowflight.FlightData, error) { return f() }

// decodeSchema reads a schema message as Flight carries it, without the prefix
// that streams and files have.
func decodeSchema(header []byte) (*arrow.Schema, error) {
	const continuation = 0xFFFFFFFF
	if len(header) > engine.SchemaBytesMax {
		return nil, fault.Newf(fault.Exhausted, "a schema of %d bytes is over the bound of %d; use fewer columns or less metadata", len(header), engine.SchemaBytesMax)
	}
	b := binary.LittleEndian.AppendUint32(nil, continuation)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	s, err := engine.DecodeSchema(append(b, header...))
	if err != nil {
		return nil, fault.Detail(errFrames, "the rows do not begin with an Arrow schema; write them with an Arrow library")
	}
	return s, nil
}

// dictionaries counts the dictionary types in and below fields.
func dictionaries(fields []arrow.Field) (n int) {
	for _, f := range fields {
		switch t := f.Type.(type) {
		case *arrow.DictionaryType:
			n += 1 + dictionaries([]arrow.Field{{Type: t.ValueType}})
		case arrow.NestedType:
			n += dictionaries(t.Fields())
		}
	}
	return n
}

// pending is batches that wait to be copied together.
type pending struct {
	batches []arrow.RecordBatch
	rows    int64
}

func (p *pending) add(b arrow.RecordBatch) {
	b.Retain()
	p.batches = append(p.batches, b)
	p.rows += b.NumRows()
}

func (p *pending) release() {
	for _, b := range p.batches {
		b.Release()
	}
	*p = pending{}
}

// flush yields what waits, as one batch if its dictionaries fit into one.
func (p *pending) flush(yield func(arrow.RecordBatch, error) bool) bool {
	defer p.release()
	if len(p.batches) == 0 {
		return true
	}
	if b, err := joined(p.batches); err == nil {
		defer b.Release()
		return yield(b, nil)
	}
	for i := range p.batches {
		b, err := joined(p.batches[i : i+1])
		if err != nil {
			yield(nil, fmt.Errorf("%w: %w", errFrames, err))
			return false
		}
		ok := yield(b, nil)
		b.Release()
		if !ok {
			return false
		}
	}
	return true
}

// joined copies batches into one. Each must be right in itself, which an index
// into a dictionary may not be.
func joined(batches []arrow.RecordBatch) (_ arrow.RecordBatch, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errFrames, p)
		}
	}()
	schema := batches[0].Schema()
	cols := make([]arrow.Array, schema.NumFields())
	defer func() {
		for _, c := range cols {
			if c != nil {
				c.Release()
			}
		}
	}()
	var rows int64
	for _, b := range batches {
		rows += b.NumRows()
	}
	parts := make([]arrow.Array, len(batches))
	for i := range cols {
		for k, b := range batches {
			parts[k] = b.Column(i)
			checkIndices(parts[k])
		}
		if cols[i], err = array.Concatenate(parts, memory.DefaultAllocator); err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(schema, cols, rows), nil
}

// checkIndices panics over an index that no value of its dictionary has:
// arrow-go copies dictionaries together in code that does not look.
func checkIndices(arr arrow.Array) {
	switch a := arr.(type) {
	case *array.Dictionary:
		for i, n := 0, a.Dictionary().Len(); i < a.Len(); i++ {
			if a.IsValid(i) && uint(a.GetValueIndex(i)) >= uint(n) {
				panic(fmt.Sprintf("index %d of a dictionary of %d", a.GetValueIndex(i), n))
			}
		}
	case *array.Struct:
		for i := range a.NumField() {
			checkIndices(a.Field(i))
		}
	case array.ListLike:
		checkIndices(a.ListValues())
	}
}

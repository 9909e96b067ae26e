package exec

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/encoding/protowire"
)

// Rows in a message. The first one goes out at once.
const (
	firstRows   = 2048
	messageRows = 16384
)

// Field numbers of arrow.flight.protocol.FlightData.
const (
	flightHeaderField = 2
	flightBodyField   = 1000
)

// An encoder turns batches of the engine into DATA frames.
type encoder struct {
	wire    *wire
	id      uint32
	columns converter
	ipc     *ipc.Writer

	rows, batches int64
	sending       int64 // rows of the message being written
}

// newEncoder sends the schema.
func newEncoder(w *wire, id uint32, columns converter) (*encoder, error) {
	e := &encoder{wire: w, id: id, columns: columns}
	schema := ipc.GetSchemaPayload(columns.schema, memory.DefaultAllocator)
	err := e.WritePayload(schema)
	schema.Release()
	if err != nil {
		return nil, err
	}
	e.ipc = ipc.NewWriterWithPayloadWriter(skipSchema{e, new(bool)}, ipc.WithSchema(columns.schema))
	return e, nil
}

// skipSchema drops the first payload of an ipc.Writer, the schema: it was sent
// by itself, because the writer holds it back until there are rows.
type skipSchema struct {
	*encoder
	skipped *bool
}

func (s skipSchema) WritePayload(p ipc.Payload) error {
	if !*s.skipped {
		*s.skipped = true
		return nil
	}
	return s.encoder.WritePayload(p)
}

// Start and Close make the encoder an ipc.PayloadWriter.
func (e *encoder) Start() error { return nil }
func (e *encoder) Close() error { return nil }

// WritePayload sends one Flight message. The buffers go out by one writev and
// are not copied.
func (e *encoder) WritePayload(p ipc.Payload) error {
	var body segments
	if err := p.SerializeBody(&body); err != nil {
		return err
	}
	meta := p.Meta()
	defer meta.Release()
	const tagsBytesMax = 32
	head := make([]byte, rowsPrefixBytes, rowsPrefixBytes+meta.Len()+tagsBytesMax)
	binary.LittleEndian.PutUint32(head, uint32(e.sending))
	e.sending = 0
	head = protowire.AppendTag(head, flightHeaderField, protowire.BytesType)
	head = protowire.AppendBytes(head, meta.Bytes())
	if body.bytes > 0 {
		head = protowire.AppendTag(head, flightBodyField, protowire.BytesType)
		head = protowire.AppendVarint(head, uint64(body.bytes))
	}
	if len(head)+body.bytes > dataBytesMax {
		return fmt.Errorf("%w: a message of %d bytes", errProtocol, len(head)+body.bytes)
	}
	if err := e.wire.send(kindData, e.id, append([][]byte{head}, body.parts...)...); err != nil {
		return err
	}
	e.batches++
	return nil
}

// segments collects what is written to it without a copy.
type segments struct {
	parts [][]byte
	bytes int
}

func (s *segments) Write(p []byte) (int, error) {
	if len(p) > 0 {
		s.parts = append(s.parts, p)
		s.bytes += len(p)
	}
	return len(p), nil
}

// run sends all rows of s.
func (e *encoder) run(s *stream) error {
	var held coalescer
	defer held.release()
	target := int64(firstRows)
	for {
		b, err := s.next()
		if err != nil {
			return err
		}
		if b != nil {
			held.add(b)
		}
		if held.rows >= target || held.bytes >= messageBytesMax || b == nil && held.rows > 0 {
			whole, err := held.take(s.schema)
			if err != nil {
				return err
			}
			err = e.send(whole)
			whole.Release()
			if err != nil {
				return err
			}
			target = messageRows
		}
		if b == nil {
			return e.ipc.Close()
		}
	}
}

// send writes a batch as one message, or as several if it would be too large.
func (e *encoder) send(b arrow.RecordBatch) error {
	size, err := encodedBytes(b, messageBytesMax)
	if err != nil {
		return err
	}
	if size > messageBytesMax && b.NumRows() > 1 {
		return e.split(b, int64(size/messageBytesMax)+1)
	}
	out, err := e.columns.convert(b)
	if errors.Is(err, errDictionaryFull) && b.NumRows() > 1 {
		return e.split(b, 2)
	}
	if err != nil {
		return err
	}
	defer out.Release()
	if size, err = encodedBytes(out, messageBytesMax); err != nil {
		return err
	}
	if size > messageBytesMax && b.NumRows() > 1 {
		return e.split(b, 2)
	}
	if size > rowBytesMax {
		return rowTooLarge(out, size)
	}
	e.rows += out.NumRows()
	e.sending = out.NumRows()
	return e.ipc.Write(out)
}

// split sends a batch in parts of about the same number of rows.
func (e *encoder) split(b arrow.RecordBatch, parts int64) error {
	step := max(1, (b.NumRows()+parts-1)/parts)
	for at := int64(0); at < b.NumRows(); at += step {
		part, err := cut(b, at, min(at+step, b.NumRows()))
		if err != nil {
			return err
		}
		err = e.send(part)
		part.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// cut copies rows, so that the part holds no others in its buffers.
func cut(b arrow.RecordBatch, from, to int64) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, b.NumCols())
	defer func() {
		for _, a := range columns {
			if a != nil {
				a.Release()
			}
		}
	}()
	for i, c := range b.Columns() {
		s := array.NewSlice(c, from, to)
		var err error
		columns[i], err = compact(s)
		s.Release()
		if err != nil {
			return nil, fmt.Errorf("cut a batch: %w", err)
		}
	}
	return array.NewRecordBatch(b.Schema(), columns, to-from), nil
}

// encodedBytes is the size of a batch's body, or some bound on it that is not
// over enough. It costs a walk over the buffers, not over the values.
func encodedBytes(b arrow.RecordBatch, enough int) (int, error) {
	var bound uint64
	for _, c := range b.Columns() {
		bound += heldBytes(c.Data())
	}
	if bound <= uint64(enough) {
		return int(bound), nil
	}
	p, err := ipc.GetRecordBatchPayload(b)
	if err != nil {
		return 0, err
	}
	defer p.Release()
	var body segments
	err = p.SerializeBody(&body)
	return body.bytes, err
}

// heldBytes bounds what an array takes in a message: its whole buffers, each
// with the padding that the format has.
func heldBytes(d arrow.ArrayData) (n uint64) {
	const padding = 64
	for _, b := range d.Buffers() {
		n += padding
		if b != nil {
			n += uint64(b.Len())
		}
	}
	for _, c := range d.Children() {
		n += heldBytes(c)
	}
	return n
}

func rowTooLarge(b arrow.RecordBatch, size int) error {
	widest, most := "", -1
	for i, c := range b.Columns() {
		one := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{b.Schema().Field(i)}, nil), []arrow.Array{c}, b.NumRows())
		n, err := encodedBytes(one, 0)
		one.Release()
		if err == nil && n > most {
			widest, most = b.ColumnName(i), n
		}
	}
	return &failure{
		Class: "Out of Memory", Position: -1, Public: true,
		Message: fmt.Sprintf("a result row takes %d bytes, most of them in column %q; a row may have %d: select less of that column, or cut it with substr()", size, widest, rowBytesMax),
	}
}

// A coalescer gathers small batches into a message.
type coalescer struct {
	memory recycler
	parts  []arrow.RecordBatch
	rows   int64
	bytes  int64
}

// add takes over b.
func (c *coalescer) add(b arrow.RecordBatch) {
	c.parts = append(c.parts, b)
	c.rows += b.NumRows()
	for _, col := range b.Columns() {
		c.bytes += int64(col.Data().SizeInBytes())
	}
}

// take returns what was added as one batch, which the caller releases.
func (c *coalescer) take(schema *arrow.Schema) (arrow.RecordBatch, error) {
	if len(c.parts) == 1 {
		b := c.parts[0]
		c.parts, c.rows, c.bytes = c.parts[:0], 0, 0
		return b, nil
	}
	defer c.release()
	columns := make([]arrow.Array, schema.NumFields())
	defer func() {
		for _, a := range columns {
			if a != nil {
				a.Release()
			}
		}
	}()
	parts := make([]arrow.Array, len(c.parts))
	for i := range columns {
		for k, b := range c.parts {
			parts[k] = b.Column(i)
		}
		var err error
		if columns[i], err = array.Concatenate(parts, &c.memory); err != nil {
			return nil, fmt.Errorf("join batches: %w", err)
		}
	}
	return array.NewRecordBatch(schema, columns, c.rows), nil
}

func (c *coalescer) release() {
	for _, b := range c.parts {
		b.Release()
	}
	c.parts, c.rows, c.bytes = c.parts[:0], 0, 0
}

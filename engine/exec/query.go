package exec

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
)

// Tables puts a statement through the gate and returns the tables that it
// reads, each version of one once, in the order of the text.
func (p *Pool) Tables(ctx context.Context, sql string) ([]engine.Reference, error) {
	_, l, t, err := p.begin(ctx, sql, min(planMax, p.o.DeadlineMax))
	if err != nil {
		return nil, err
	}
	if err := l.end(nil); err != nil {
		return nil, err
	}
	return t.tables()
}

// Describe returns the schema of the result of q, the same that Query's rows
// have, and that of its parameters. Where the result depends on the types of
// parameters, it is that of the bound ones; of none, that of texts. It reads no
// data file.
func (p *Pool) Describe(ctx context.Context, q engine.Query) (engine.Description, error) {
	ctx, l, t, err := p.begin(ctx, q.SQL, min(planMax, p.o.DeadlineMax))
	if err != nil {
		return engine.Description{}, err
	}
	d, err := l.describe(ctx, t, q)
	if err := l.end(err); err != nil {
		return engine.Description{}, err
	}
	return d, nil
}

func (l *loan) describe(ctx context.Context, t *tree, q engine.Query) (engine.Description, error) {
	var d engine.Description
	st, err := l.statement(ctx, t, q, false)
	if err != nil {
		return d, err
	}
	r, err := l.ask(kindPlan, st, kindSchema)
	if err != nil {
		return d, err
	}
	if d.Result, err = decodeSchema(r.body); err != nil {
		return d, err
	}
	d.Params = arrow.NewSchema(nil, nil)
	if r.fin.Params != nil {
		d.Params, err = decodeSchema(r.fin.Params)
	}
	return d, err
}

// Query runs q. It returns when the schema of the result is known; the rows
// are made as they are read.
func (p *Pool) Query(ctx context.Context, q engine.Query) (engine.Rows, error) {
	ctx, l, t, err := p.begin(ctx, q.SQL, p.o.DeadlineMax)
	if err != nil {
		return nil, err
	}
	p.stats.queries.Add(1)
	r, err := l.query(ctx, t, q)
	if err != nil {
		return nil, l.end(err)
	}
	return r, nil
}

func (l *loan) query(ctx context.Context, t *tree, q engine.Query) (*rows, error) {
	if len(t.params) > 0 && q.Params == nil {
		return nil, fault.Newf(fault.Invalid, "the statement has %s and no values are bound; bind one row of values", sayParams(t.params))
	}
	st, err := l.statement(ctx, t, q, true)
	if err != nil {
		return nil, err
	}
	if err := l.ended(); err != nil {
		return nil, err
	}
	r := &rows{loan: l}
	if r.id, err = l.c.request(kindExec, st); err != nil {
		return nil, err
	}
	r.schema, err = r.read()
	if err == io.EOF {
		err = fmt.Errorf("%w: a result without a schema", errProtocol)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// rows is the stream of one statement's messages. The worker makes no more of
// them than the socket holds until they are read.
type rows struct {
	loan   *loan
	id     uint32
	schema engine.Message // until it has been handed out

	total, messages int64
	over            bool
	err             error // what Next returns from now on, once over
}

func (r *rows) Next(ctx context.Context) (engine.Message, error) {
	if r.over {
		return engine.Message{}, r.err
	}
	if m := r.schema; m.Bytes != nil {
		r.schema = engine.Message{}
		return m, nil
	}
	defer context.AfterFunc(ctx, r.loan.cancel)()
	m, err := r.read()
	if err == nil {
		return m, nil
	}
	r.over = true
	if err == io.EOF {
		if r.err = r.loan.end(nil); r.err == nil {
			r.err = io.EOF
		}
		return engine.Message{}, r.err
	}
	r.err = r.loan.end(err)
	return engine.Message{}, r.err
}

// Close stops the statement if it runs. Its worker is used again if it answers.
func (r *rows) Close() {
	if r.schema.Bytes != nil {
		r.schema.Release()
		r.schema = engine.Message{}
	}
	if r.over {
		return
	}
	r.over, r.err = true, errRowsClosed
	r.loan.cancel()
	r.loan.p.background(func() {
		for {
			m, err := r.read()
			if err == nil {
				m.Release()
				continue
			}
			if err == io.EOF {
				err = nil
			}
			_ = r.loan.end(err) // nobody is left to hear it; deaths are logged
			return
		}
	})
}

// read returns the next message, io.EOF after a FIN that agrees with them.
func (r *rows) read() (engine.Message, error) {
	c := r.loan.c
	h, err := c.header(r.id)
	if err != nil {
		return engine.Message{}, err
	}
	switch h.kind {
	case kindData:
		m, err := r.data(h)
		if err != nil {
			return engine.Message{}, &lostError{cause: err}
		}
		return m, nil
	case kindFin:
		f, err := c.fin(h)
		switch {
		case err != nil:
			return engine.Message{}, err
		case f.Failure != nil:
			return engine.Message{}, f.Failure
		case f.Rows != r.total || f.Batches != r.messages:
			return engine.Message{}, &lostError{cause: fmt.Errorf("%w: FIN tells of %d rows in %d messages, %d in %d came", errProtocol, f.Rows, f.Batches, r.total, r.messages)}
		}
		return engine.Message{}, io.EOF
	}
	return engine.Message{}, c.nonsense(h)
}

// data reads one message and checks that it is a FlightData on the outside.
// What its Arrow bytes say is between the worker and its own client.
func (r *rows) data(h header) (engine.Message, error) {
	if h.bytes < rowsPrefixBytes || h.bytes > dataBytesMax {
		return engine.Message{}, fmt.Errorf("%w: a message of %d bytes", errProtocol, h.bytes)
	}
	b := takeBuffer(h.bytes)
	m := engine.Message{Bytes: (*b)[rowsPrefixBytes:h.bytes], Release: func() { buffers.Put(b) }}
	if _, err := io.ReadFull(r.loan.c.wire.r, (*b)[:h.bytes]); err != nil {
		m.Release()
		return engine.Message{}, err
	}
	if err := checkFlight(m.Bytes); err != nil {
		m.Release()
		return engine.Message{}, err
	}
	r.total += int64(binary.LittleEndian.Uint32(*b))
	r.messages++
	r.loan.sent = r.loan.sent || r.messages > 1
	return m, nil
}

// checkFlight wants a header and then at most a body, to the end.
func checkFlight(b []byte) error {
	bad := fmt.Errorf("%w: a message that is no FlightData", errProtocol)
	for i, want := range []protowire.Number{flightHeaderField, flightBodyField} {
		if len(b) == 0 && i > 0 {
			return nil
		}
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 || field != want || kind != protowire.BytesType {
			return bad
		}
		_, k := protowire.ConsumeBytes(b[n:])
		if k < 0 {
			return bad
		}
		b = b[n+k:]
	}
	if len(b) != 0 {
		return bad
	}
	return nil
}

// buffers holds those of messages that have been sent.
var buffers sync.Pool

// takeBuffer returns a buffer of at least n bytes.
func takeBuffer(n int) *[]byte {
	if b, ok := buffers.Get().(*[]byte); ok && cap(*b) >= n {
		*b = (*b)[:cap(*b)]
		return b
	}
	b := make([]byte, 1<<bits.Len(uint(n-1)))
	return &b
}

// decodeSchema reads a schema message of a worker, whose bytes are not trusted.
func decodeSchema(b []byte) (s *arrow.Schema, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, &lostError{cause: fmt.Errorf("%w: schema: %v", errProtocol, p)}
		}
	}()
	if err := engine.VerifySchema(b); err != nil {
		return nil, &lostError{cause: fmt.Errorf("%w: schema: %w", errProtocol, err)}
	}
	r, err := ipc.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, &lostError{cause: fmt.Errorf("%w: schema: %w", errProtocol, err)}
	}
	defer r.Release()
	return r.Schema(), nil
}

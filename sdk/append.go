package sdk

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	flightgen "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/protobuf/proto"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/rpcerr"
	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/flight/wire/wirepb"
	"github.com/lakeward/lake/ident"
)

// AppendOptions of an append. The zero value is useful.
type AppendOptions struct {
	// Operation makes the append repeatable: sent again with the same id and
	// rows, it is applied once. The zero value is a new id.
	Operation ident.OperationID
}

// Appended is what became of an append.
type Appended struct {
	Version   int64 // that the append made
	Rows      int64
	Operation ident.OperationID
	Replayed  bool // it had been applied before; nothing was changed
}

// Append adds a few rows to a table, 1 to 10,000, as one version: all of them
// or none. The rows are encoded once, and sent again as they are, for as long
// as the context and 30 seconds allow, if the server does not answer. A *Pending
// error says that it still had not; any other that nothing was appended.
func (c *Client) Append(ctx context.Context, table string, rows []arrow.RecordBatch, o AppendOptions) (Appended, error) {
	op, err := operation(o.Operation)
	if err != nil {
		return Appended{}, err
	}
	out := Appended{Operation: op}
	p, err := encode(rows)
	if err != nil {
		return out, err
	}
	digest := p.digest.Sum()
	desc, err := descriptor(&wirepb.AppendRows{Table: table, Operation: op.String(), Digest: digest[:], Bytes: p.bytes})
	if err != nil {
		return out, err
	}
	var done wirepb.Appended
	if err := wire.Retry(ctx, func() error { return c.send(ctx, desc, p.messages, &done) }); err != nil {
		return out, pending(op, err)
	}
	out.Version, out.Rows, out.Replayed = done.GetVersion(), done.GetRows(), done.GetReplayed()
	return out, nil
}

// send makes an upload of messages and reads its answer.
func (c *Client) send(ctx context.Context, desc *arrowflight.FlightDescriptor, messages []*arrowflight.FlightData, resp proto.Message) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.flight.DoPut(ctx)
	if err != nil {
		return rpcerr.FromStatus(err)
	}
	for _, m := range messages {
		if err := stream.Send(&arrowflight.FlightData{FlightDescriptor: desc, DataHeader: m.DataHeader, DataBody: m.DataBody}); err != nil {
			break // the answer says why
		}
		desc = nil
	}
	return answer(stream, resp)
}

// answer ends an upload and reads what became of it.
func answer(stream flightgen.FlightService_DoPutClient, resp proto.Message) error {
	if err := stream.CloseSend(); err != nil {
		return rpcerr.FromStatus(err)
	}
	r, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return errNoAnswer
	}
	if err != nil {
		return rpcerr.FromStatus(err)
	}
	return wire.Decode(r.GetAppMetadata(), resp)
}

var (
	errNoRows   = fault.Newf(fault.Invalid, "an append has 1 to %d rows, and none were given", wire.RowsMax)
	errManyRows = fault.Newf(fault.Exhausted, "an append has 1 to %d rows in at most %d bytes; use Ingest for more", wire.RowsMax, wire.RowsBytesMax)
	errSchemas  = fault.New(fault.Invalid, "the batches differ in their schemas; give them one")
)

// payload is rows as they are sent, each time.
type payload struct {
	messages []*arrowflight.FlightData
	digest   ident.FrameDigest
	bytes    int64
}

func encode(batches []arrow.RecordBatch) (*payload, error) {
	var rows int64
	for _, b := range batches {
		if rows += b.NumRows(); !b.Schema().Equal(batches[0].Schema()) {
			return nil, errSchemas
		}
	}
	switch {
	case rows == 0:
		return nil, errNoRows
	case rows > wire.RowsMax:
		return nil, errManyRows
	}
	p := &payload{digest: ident.NewAppendDigest()}
	w := newFrameWriter(batches[0].Schema(), p.add)
	for _, b := range batches {
		if err := w.write(b); err != nil {
			return nil, err
		}
	}
	return p, w.close()
}

func (p *payload) add(m *arrowflight.FlightData) error {
	if p.bytes += int64(len(m.DataHeader) + len(m.DataBody)); p.bytes > wire.RowsBytesMax {
		return errManyRows
	}
	// The writer uses its buffers again.
	m = &arrowflight.FlightData{DataHeader: append([]byte{}, m.DataHeader...), DataBody: append([]byte{}, m.DataBody...)}
	p.digest.Add(m.DataHeader, m.DataBody, nil)
	p.messages = append(p.messages, m)
	return nil
}

var errWideRow = fault.Newf(fault.Exhausted, "a row or a dictionary takes more than the %d bytes of one message; load it from a file with Load", wire.MessageBytesMax)

// A frameWriter writes batches as messages of bounded size.
type frameWriter struct {
	w     *arrowflight.Writer
	emit  func(*arrowflight.FlightData) error
	large bool  // the last batch was too large, and was not sent
	err   error // of emit, as it was
}

func newFrameWriter(schema *arrow.Schema, emit func(*arrowflight.FlightData) error) *frameWriter {
	f := &frameWriter{emit: emit}
	f.w = arrowflight.NewRecordWriter(f, ipc.WithSchema(schema))
	return f
}

// Send implements arrowflight.DataStreamWriter. An error would be the writer's
// last: a batch that is too large is left to write.
func (f *frameWriter) Send(m *arrowflight.FlightData) error {
	if len(m.DataHeader)+len(m.DataBody) <= wire.MessageBytesMax {
		f.err = f.emit(m)
		return f.err
	}
	if h, err := engine.VerifyBatch(m.DataHeader, len(m.DataBody)); err != nil || h.Dictionary {
		f.err = errWideRow
		return f.err
	}
	f.large = true
	return nil
}

// write sends a batch, in halves if it is too large as one message.
func (f *frameWriter) write(b arrow.RecordBatch) error {
	f.large = false
	err := f.w.Write(b)
	switch {
	case f.err != nil:
		return f.err
	case err != nil:
		return fault.Newf(fault.Invalid, "the rows cannot be written as Arrow messages: %v", err)
	case !f.large:
		return nil
	case b.NumRows() < 2:
		return errWideRow
	}
	half := b.NumRows() / 2
	for _, part := range []arrow.RecordBatch{b.NewSlice(0, half), b.NewSlice(half, b.NumRows())} {
		err := f.write(part)
		part.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// close sends the schema, if no batch has.
func (f *frameWriter) close() error {
	if err := f.w.Close(); err != nil {
		return err
	}
	return f.err
}

// A Mode says what an ingest does about its table.
type Mode uint8

// The modes. The zero value is Append.
const (
	ModeAppend       Mode = iota // the table must exist
	ModeCreate                   // it must not
	ModeCreateAppend             // it is made if it does not exist
)

// IngestOptions say where the rows of an ingest go.
type IngestOptions struct {
	Table string // namespace.table
	Mode  Mode

	// Operation makes the ingest repeatable: sent again with the same id and
	// the same batches, it is applied once. The zero value is a new id.
	Operation ident.OperationID
}

// Ingested is what became of an ingest.
type Ingested struct {
	Rows      int64
	Operation ident.OperationID
}

// Ingest streams any number of rows into a table, as one version: all of them
// or none. The server stages them, so its object store need not be reachable
// from here. A *Pending error says that all rows were sent and the server did
// not answer; any other that nothing was changed. Batches are read once, and
// one is no longer used when the next is asked for.
func (c *Client) Ingest(ctx context.Context, o IngestOptions, schema *arrow.Schema, batches iter.Seq2[arrow.RecordBatch, error]) (Ingested, error) {
	op, err := operation(o.Operation)
	if err != nil {
		return Ingested{}, err
	}
	out := Ingested{Operation: op}
	cmd, err := ingestCommand(o, op)
	if err != nil {
		return out, err
	}
	desc, err := descriptor(cmd)
	if err != nil {
		return out, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // an upload without its end is nothing
	stream, err := c.flight.DoPut(ctx)
	if err != nil {
		return out, rpcerr.FromStatus(err)
	}
	w := newFrameWriter(schema, func(m *arrowflight.FlightData) error {
		err := stream.Send(&arrowflight.FlightData{FlightDescriptor: desc, DataHeader: m.DataHeader, DataBody: m.DataBody})
		desc = nil
		return err
	})
	err = w.all(batches)
	if errors.Is(err, io.EOF) { // the server has ended the call
		if _, err = stream.Recv(); err == nil || errors.Is(err, io.EOF) {
			err = errNoAnswer
		}
		return out, rpcerr.FromStatus(err)
	}
	if err != nil {
		return out, rpcerr.FromStatus(err)
	}
	var done flightgen.DoPutUpdateResult
	if err := answer(stream, &done); err != nil {
		return out, pending(op, err)
	}
	out.Rows = done.GetRecordCount()
	return out, nil
}

func (f *frameWriter) all(batches iter.Seq2[arrow.RecordBatch, error]) error {
	for b, err := range batches {
		if err != nil {
			return err
		}
		if err := f.write(b); err != nil {
			return err
		}
	}
	return f.close()
}

func ingestCommand(o IngestOptions, op ident.OperationID) (*flightgen.CommandStatementIngest, error) {
	t, err := ident.ParseTable(o.Table)
	if err != nil {
		return nil, err
	}
	d := &flightgen.CommandStatementIngest_TableDefinitionOptions{
		IfNotExist: flightgen.CommandStatementIngest_TableDefinitionOptions_TABLE_NOT_EXIST_OPTION_CREATE,
		IfExists:   flightgen.CommandStatementIngest_TableDefinitionOptions_TABLE_EXISTS_OPTION_APPEND,
	}
	switch o.Mode {
	case ModeAppend:
		d.IfNotExist = flightgen.CommandStatementIngest_TableDefinitionOptions_TABLE_NOT_EXIST_OPTION_FAIL
	case ModeCreate:
		d.IfExists = flightgen.CommandStatementIngest_TableDefinitionOptions_TABLE_EXISTS_OPTION_FAIL
	case ModeCreateAppend:
	default:
		return nil, fault.Newf(fault.Invalid, "ingest mode %d is none; use ModeAppend, ModeCreate or ModeCreateAppend", o.Mode)
	}
	return &flightgen.CommandStatementIngest{
		TableDefinitionOptions: d, Table: t.Name, Schema: new(string(t.Namespace)),
		Options: map[string]string{wire.OperationOption: op.String()},
	}, nil
}

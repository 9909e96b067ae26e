package sdk

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	flightgen "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/protobuf/proto"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/rpcerr"
	"github.com/lakeward/lake/flight/wire"
)

// Rows is the result of a query, streamed. It is used by one goroutine and
// must be closed.
type Rows struct {
	reader *arrowflight.Reader
	cancel context.CancelFunc

	batch arrow.RecordBatch // the one that Next is in
	row   int64
}

// Query runs one SELECT. Everything it reads is of one moment, however long
// the rows are read for.
//
// The context is that of the rows too: its end, like Close, cancels the query
// on the server.
func (c *Client) Query(ctx context.Context, sql string) (*Rows, error) {
	return c.query(ctx, &flightgen.CommandStatementQuery{Query: sql})
}

// query runs what a Flight SQL command asks for.
func (c *Client) query(ctx context.Context, m proto.Message) (*Rows, error) {
	desc, err := descriptor(m)
	if err != nil {
		return nil, err
	}
	info, err := c.flight.GetFlightInfo(ctx, desc)
	if err != nil {
		return nil, rpcerr.FromStatus(err)
	}
	if n := len(info.GetEndpoint()); n != 1 {
		return nil, fault.Newf(fault.Internal, "the server answered with %d endpoints, not one; use a client of the same lake version", n)
	}
	ctx, cancel := context.WithCancel(ctx)
	stream, err := c.flight.DoGet(ctx, info.GetEndpoint()[0].GetTicket())
	if err != nil {
		cancel()
		return nil, rpcerr.FromStatus(err)
	}
	r, err := arrowflight.NewRecordReader(stream)
	if err != nil {
		cancel()
		return nil, rpcerr.FromStatus(err)
	}
	return &Rows{reader: r, cancel: cancel}, nil
}

// descriptor is a command as a FlightDescriptor.
func descriptor(m proto.Message) (*arrowflight.FlightDescriptor, error) {
	b, err := wire.EncodeCommand(m)
	if err != nil {
		return nil, err
	}
	return &arrowflight.FlightDescriptor{Type: arrowflight.DescriptorCMD, Cmd: b}, nil
}

// Schema is the schema of all batches.
func (r *Rows) Schema() *arrow.Schema { return r.reader.Schema() }

// Batches yields the record batches. One is valid until the next; retain it to
// keep it longer. After an error there are no more.
func (r *Rows) Batches() iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for r.reader.Next() {
			if !yield(r.reader.RecordBatch(), nil) {
				return
			}
		}
		if err := readError(r.reader); err != nil {
			yield(nil, err)
		}
	}
}

func readError(r *arrowflight.Reader) error { return rpcerr.FromStatus(r.Err()) }

// Close ends the query, also on the server.
func (r *Rows) Close() {
	r.cancel()
	r.reader.Release()
}

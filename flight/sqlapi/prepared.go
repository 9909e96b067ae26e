package sqlapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	flightgen "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/tickets"
	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/ident"
)

// Bounds of a prepared statement: its handle's life, and its bound parameters.
const (
	preparedLife   = 24 * time.Hour
	paramsBytesMax = 64 << 10
)

var (
	errUnbound = fault.New(fault.Invalid, "the statement has parameters and none are bound; bind a row of values first")
	errMoved   = fault.New(fault.Stale, "a table of the prepared statement has another schema now; prepare it again")
	errRows    = fault.New(fault.Invalid, "a query takes one row of parameters; bind one row and run it once for each")
)

// prepare answers CreatePreparedStatement. Nothing is kept here: the handle
// holds the statement, and later its parameters.
func (s *Server) prepare(ctx context.Context, body []byte, send func(*arrowflight.Result) error) error {
	var r flightgen.ActionCreatePreparedStatementRequest
	if err := decodeAny(body, &r); err != nil {
		return errCommand
	}
	if len(r.GetTransactionId()) > 0 {
		return errTransaction
	}
	_, d, err := s.plan(ctx, engine.Query{SQL: r.GetQuery()})
	if err != nil {
		return err
	}
	handle, err := s.keys.Seal(tickets.Claims{
		Audience: tickets.Prepared,
		Tenant:   s.o.Tenant,
		SQL:      r.GetQuery(),
		Schema:   schemaDigest(d),
		Expiry:   s.o.Now().Add(preparedLife),
	})
	if err != nil {
		return err
	}
	b, err := encodeAny(&flightgen.ActionCreatePreparedStatementResult{
		PreparedStatementHandle: handle,
		DatasetSchema:           arrowflight.SerializeSchema(d.Result, memory.DefaultAllocator),
		ParameterSchema:         arrowflight.SerializeSchema(d.Params, memory.DefaultAllocator),
	})
	if err != nil {
		return err
	}
	return send(&arrowflight.Result{Body: b})
}

// schemaDigest tells one shape of a statement from another: that of its
// parameters, which are bound to what was promised, and of its columns by name.
// The types of columns may depend on the parameters' types.
func schemaDigest(d engine.Description) []byte {
	h := sha256.New()
	for _, f := range d.Result.Fields() {
		fmt.Fprintf(h, "%q\n", f.Name)
	}
	fmt.Fprintf(h, "%d", d.Params.NumFields())
	return h.Sum(nil)
}

// prepared is the query of a handle, planned anew: a handle pins no snapshot.
func (s *Server) prepared(ctx context.Context, handle []byte) (engine.Query, []tickets.Pin, engine.Description, error) {
	c, err := s.keys.Open(handle, tickets.Prepared)
	if err != nil {
		return engine.Query{}, nil, engine.Description{}, err
	}
	q := engine.Query{SQL: c.SQL, Params: c.Params}
	pins, d, err := s.plan(ctx, q)
	if err != nil {
		return q, nil, d, err
	}
	if !bytes.Equal(schemaDigest(d), c.Schema) {
		return q, nil, d, errMoved
	}
	return q, pins, d, nil
}

// bindParams answers a DoPut of parameters with the handle that holds them.
func (s *Server) bindParams(stream arrowflight.FlightService_DoPutServer, first *arrowflight.FlightData, cmd *flightgen.CommandPreparedStatementQuery) error {
	c, err := s.keys.Open(cmd.GetPreparedStatementHandle(), tickets.Prepared)
	if err != nil {
		return err
	}
	if c.Params, err = readParams((&replay{first: first, stream: stream}).Recv); err != nil {
		return err
	}
	handle, err := s.keys.Seal(c)
	if err != nil {
		return err
	}
	b, err := wire.Encode(&flightgen.DoPutPreparedStatementResult{PreparedStatementHandle: handle})
	if err != nil {
		return err
	}
	return stream.Send(&arrowflight.PutResult{AppMetadata: b})
}

// readParams returns the one row of an upload as an Arrow IPC stream. What a
// message states is held against its bytes before Arrow reads it.
func readParams(next func() (*arrowflight.FlightData, error)) ([]byte, error) {
	frames, err := wire.ReadFrames(bounded(next), ident.NewIngestDigest(), wire.FrameLimits{}) // nobody asks for the digest
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(frames.Schema()))
	var rows int64
	for b, err := range frames.Batches() {
		if err != nil {
			return nil, err
		}
		if rows += b.NumRows(); rows > 1 {
			return nil, errRows
		}
		if err := w.Write(b); err != nil {
			return nil, fmt.Errorf("%w: %w", errParams, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("%w: %w", errParams, err)
	}
	if out.Len() > paramsBytesMax {
		return nil, errParamsSize
	}
	if rows == 0 {
		return nil, errUnbound
	}
	return out.Bytes(), nil
}

// bounded ends an upload that is larger than any that will be accepted.
func bounded(next func() (*arrowflight.FlightData, error)) func() (*arrowflight.FlightData, error) {
	left := 2 * paramsBytesMax // Flight's own words and the padding are not counted against the client
	return func() (*arrowflight.FlightData, error) {
		m, err := next()
		if err != nil {
			return nil, err
		}
		if left -= len(m.GetDataHeader()) + len(m.GetDataBody()); left < 0 {
			return nil, errParamsSize
		}
		return m, nil
	}
}

var errParamsSize = fault.Newf(fault.Exhausted, "the parameters take more than %d bytes; load the values as a table and join it", paramsBytesMax)

var errParams = fault.New(fault.Invalid, "the parameters do not decode as Arrow; use a Flight SQL client")

// replay is a stream whose first message was read.
type replay struct {
	first  *arrowflight.FlightData
	stream arrowflight.FlightService_DoPutServer
}

func (r *replay) Recv() (*arrowflight.FlightData, error) {
	if m := r.first; m != nil {
		r.first = nil
		return m, nil
	}
	m, err := r.stream.Recv()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read an upload: %w", err)
	}
	return m, err
}

// resultInfo is the FlightInfo of a planned query.
func (s *Server) resultInfo(desc *arrowflight.FlightDescriptor, q engine.Query, pins []tickets.Pin, schema *arrow.Schema) (*arrowflight.FlightInfo, error) {
	sealed, err := s.keys.Seal(tickets.Claims{
		Audience: tickets.Statement,
		Tenant:   s.o.Tenant,
		SQL:      q.SQL,
		Params:   q.Params,
		Tables:   pins,
		Expiry:   s.o.Now().Add(s.o.TicketLife),
	})
	if err != nil {
		return nil, err
	}
	ticket, err := encodeAny(&flightgen.TicketStatementQuery{StatementHandle: sealed})
	if err != nil {
		return nil, err
	}
	return &arrowflight.FlightInfo{
		Schema:           arrowflight.SerializeSchema(schema, memory.DefaultAllocator),
		FlightDescriptor: desc,
		Endpoint:         []*arrowflight.FlightEndpoint{{Ticket: &arrowflight.Ticket{Ticket: ticket}}},
		TotalRecords:     -1,
		TotalBytes:       -1,
	}, nil
}

// The actions of prepared statements, as Flight SQL names them.
const (
	createPrepared = flightsql.CreatePreparedStatementActionType
	closePrepared  = flightsql.ClosePreparedStatementActionType
)

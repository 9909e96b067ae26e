package sqlapi

import (
	"context"
	"errors"
	"fmt"
	"io"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	flightgen "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/tickets"
	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/objects"
)

var (
	errCommand     = fault.New(fault.Invalid, "the request does not decode as a Flight SQL command; use a Flight SQL client")
	errTransaction = fault.New(fault.Unsupported, "transactions are not supported; every statement stands alone: turn autocommit on")
	errNoEngine    = fault.New(fault.Unsupported, "this replica does not have the table's engine; run one version of lake everywhere")
	errReclaimed   = fault.New(fault.Stale, "the snapshot that this ticket names was reclaimed; ask for the statement's FlightInfo again")
)

// unsupported names a part of Flight SQL that this server does not have.
func unsupported(what string) error {
	return fault.Newf(fault.Unsupported, "%s is not supported by this server; send the statement itself", what)
}

// GetFlightInfo implements the Flight service: it fixes what the statement
// will read, and answers with its schema and a ticket for exactly that.
func (s *Server) GetFlightInfo(ctx context.Context, desc *arrowflight.FlightDescriptor) (*arrowflight.FlightInfo, error) {
	if discovers(desc.GetCmd()) {
		return s.tools.GetFlightInfo(ctx, desc)
	}
	q, pins, d, err := s.query(ctx, desc)
	if err != nil {
		return nil, err
	}
	return s.resultInfo(desc, q, pins, d.Result)
}

// GetSchema implements the Flight service.
func (s *Server) GetSchema(ctx context.Context, desc *arrowflight.FlightDescriptor) (*arrowflight.SchemaResult, error) {
	if discovers(desc.GetCmd()) {
		return s.tools.GetSchema(ctx, desc)
	}
	_, _, d, err := s.query(ctx, desc)
	if err != nil {
		return nil, err
	}
	return &arrowflight.SchemaResult{Schema: arrowflight.SerializeSchema(d.Result, memory.DefaultAllocator)}, nil
}

// query plans what a descriptor asks for: a statement, or a prepared one.
func (s *Server) query(ctx context.Context, desc *arrowflight.FlightDescriptor) (engine.Query, []tickets.Pin, engine.Description, error) {
	cmd, err := command(desc)
	if err != nil {
		return engine.Query{}, nil, engine.Description{}, err
	}
	switch cmd := cmd.(type) {
	case *flightgen.CommandStatementQuery:
		if len(cmd.GetTransactionId()) > 0 {
			return engine.Query{}, nil, engine.Description{}, errTransaction
		}
		q := engine.Query{SQL: cmd.GetQuery()}
		pins, d, err := s.plan(ctx, q)
		if err == nil && d.Params.NumFields() > 0 {
			err = errUnbound
		}
		return q, pins, d, err
	case *flightgen.CommandPreparedStatementQuery:
		q, pins, d, err := s.prepared(ctx, cmd.GetPreparedStatementHandle())
		if err == nil && d.Params.NumFields() > 0 && q.Params == nil {
			err = errUnbound
		}
		return q, pins, d, err
	}
	return engine.Query{}, nil, engine.Description{}, unsupported(string(cmd.ProtoReflect().Descriptor().Name()))
}

// plan fixes the snapshots of a query and describes it over them.
func (s *Server) plan(ctx context.Context, q engine.Query) ([]tickets.Pin, engine.Description, error) {
	pins, err := s.pin(ctx, q.SQL)
	if err != nil {
		return nil, engine.Description{}, err
	}
	if q, err = s.bind(ctx, q, pins); err != nil {
		return nil, engine.Description{}, err
	}
	d, err := s.exec.Describe(ctx, q)
	return pins, d, err
}

// DoGet implements the Flight service: it answers a ticket from the snapshots
// that it names, whichever replica issued it and whatever happened since.
func (s *Server) DoGet(t *arrowflight.Ticket, stream arrowflight.FlightService_DoGetServer) error {
	if discovers(t.GetTicket()) {
		return s.tools.DoGet(t, stream)
	}
	var handle flightgen.TicketStatementQuery
	if err := decodeAny(t.GetTicket(), &handle); err != nil {
		return tickets.ErrInvalid
	}
	claims, err := s.keys.Open(handle.GetStatementHandle(), tickets.Statement)
	if err != nil {
		return err
	}
	ctx, done := s.running.begin(stream.Context(), handle.GetStatementHandle())
	defer done()
	q, err := s.bind(ctx, engine.Query{SQL: claims.SQL, Params: claims.Params}, claims.Tables)
	if err != nil {
		return err
	}
	rows, err := s.exec.Query(ctx, q)
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		m, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			if context.Cause(ctx) == ErrCancelled {
				return ErrCancelled
			}
			return err
		}
		// The transport releases the frame, also when it fails to send.
		if err := stream.SendMsg(&wire.Frame{Message: m}); err != nil {
			return err
		}
	}
}

// scan describes how to read a pinned snapshot.
func (s *Server) scan(ctx context.Context, p tickets.Pin) (engine.Scan, error) {
	table, err := s.table(p)
	if err != nil {
		return engine.Scan{}, err
	}
	snapshot, err := table.Snapshot(ctx, p.Version)
	if errors.Is(err, engine.ErrNoVersion) {
		return engine.Scan{}, fmt.Errorf("%w: %w", errReclaimed, err)
	}
	if err != nil {
		return engine.Scan{}, err
	}
	return snapshot.Scan(ctx)
}

// table is the table of a pin. It does no I/O.
func (s *Server) table(p tickets.Pin) (engine.Table, error) {
	e, ok := s.engines[p.Engine]
	if !ok {
		return nil, errNoEngine
	}
	at, err := objects.ParseLocation(p.Location)
	if err != nil {
		return nil, err
	}
	return e.Table(at), nil
}

// discovers reports whether a command or ticket asks what there is: these
// tickets hold no data and are not sealed.
func discovers(b []byte) bool {
	var a anypb.Any
	if proto.Unmarshal(b, &a) != nil {
		return false
	}
	switch a.MessageName().Name() {
	case "CommandGetCatalogs", "CommandGetDbSchemas", "CommandGetTables", "CommandGetTableTypes", "CommandGetPrimaryKeys",
		"CommandGetExportedKeys", "CommandGetImportedKeys", "CommandGetCrossReference", "CommandGetSqlInfo", "CommandGetXdbcTypeInfo":
		return true
	}
	return false
}

// command returns the Flight SQL command of a descriptor.
func command(desc *arrowflight.FlightDescriptor) (proto.Message, error) {
	if desc.GetType() != arrowflight.DescriptorCMD {
		return nil, fault.New(fault.Unsupported, "this server has no flights by path; send a Flight SQL query")
	}
	var a anypb.Any
	if err := proto.Unmarshal(desc.GetCmd(), &a); err != nil {
		return nil, errCommand
	}
	m, err := a.UnmarshalNew()
	if err != nil {
		return nil, errCommand
	}
	return m, nil
}

func encodeAny(m proto.Message) ([]byte, error) {
	a, err := anypb.New(m)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", m, err)
	}
	return wire.Encode(a)
}

func decodeAny(b []byte, m proto.Message) error {
	var a anypb.Any
	if err := proto.Unmarshal(b, &a); err != nil {
		return err
	}
	return a.UnmarshalTo(m)
}

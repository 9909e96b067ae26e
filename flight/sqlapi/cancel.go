package sqlapi

import (
	"context"
	"crypto/sha256"
	"sync"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	flightgen "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/protobuf/proto"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/tickets"
	"github.com/lakeward/lake/flight/wire"
)

// The actions that end a query from another call.
const (
	cancelFlightInfo = arrowflight.CancelFlightInfoActionType
	cancelQuery      = flightsql.CancelQueryActionType
)

// ErrCancelled says that somebody cancelled the query by its FlightInfo.
var ErrCancelled = fault.New(fault.Canceled, "the query was cancelled; run it again if that was not meant")

// running is the queries whose rows this replica is sending, by their tickets:
// there are no more than calls.
type running struct {
	mu      sync.Mutex
	cancels map[[sha256.Size]byte]map[*run]struct{}
}

type run struct{ cancel context.CancelCauseFunc }

// begin returns a context for a query that cancel can end. done forgets it.
func (r *running) begin(ctx context.Context, ticket []byte) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	key, one := sha256.Sum256(ticket), &run{cancel}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancels == nil {
		r.cancels = map[[sha256.Size]byte]map[*run]struct{}{}
	}
	if r.cancels[key] == nil {
		r.cancels[key] = map[*run]struct{}{}
	}
	r.cancels[key][one] = struct{}{}
	return ctx, func() {
		cancel(nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		if delete(r.cancels[key], one); len(r.cancels[key]) == 0 {
			delete(r.cancels, key)
		}
	}
}

// cancel ends all queries of a ticket and reports whether there was one.
func (r *running) cancel(ticket []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.cancels[sha256.Sum256(ticket)]
	for one := range all {
		one.cancel(ErrCancelled)
	}
	return len(all) > 0
}

// cancelInfo ends what a FlightInfo's ticket runs here. Who has the ticket may
// cancel it; a replica that does not run it says so.
func (s *Server) cancelInfo(info *arrowflight.FlightInfo) (arrowflight.CancelStatus, error) {
	if len(info.GetEndpoint()) != 1 {
		return arrowflight.CancelStatusUnspecified, errCommand
	}
	sealed := info.GetEndpoint()[0].GetTicket().GetTicket()
	var handle flightgen.TicketStatementQuery
	if err := decodeAny(sealed, &handle); err != nil {
		return arrowflight.CancelStatusUnspecified, tickets.ErrInvalid
	}
	if _, err := s.keys.Open(handle.GetStatementHandle(), tickets.Statement); err != nil {
		return arrowflight.CancelStatusUnspecified, err
	}
	if s.running.cancel(handle.GetStatementHandle()) {
		return arrowflight.CancelStatusCancelled, nil
	}
	return arrowflight.CancelStatusNotCancellable, nil
}

// cancelAction answers CancelFlightInfo, and CancelQuery of older clients.
func (s *Server) cancelAction(a *arrowflight.Action, send func(*arrowflight.Result) error) error {
	if a.GetType() == cancelFlightInfo {
		var r flightgen.CancelFlightInfoRequest
		if err := wire.Decode(a.GetBody(), &r); err != nil {
			return err
		}
		status, err := s.cancelInfo(r.GetInfo())
		if err != nil {
			return err
		}
		b, err := wire.Encode(&flightgen.CancelFlightInfoResult{Status: status})
		if err != nil {
			return err
		}
		return send(&arrowflight.Result{Body: b})
	}
	//lint:ignore SA1019 clients of before CancelFlightInfo send it
	var r flightgen.ActionCancelQueryRequest
	var info flightgen.FlightInfo
	if decodeAny(a.GetBody(), &r) != nil || proto.Unmarshal(r.GetInfo(), &info) != nil {
		return errCommand
	}
	status, err := s.cancelInfo(&info)
	if err != nil {
		return err
	}
	// The two enumerations have the same values by the same numbers.
	//lint:ignore SA1019 clients of before CancelFlightInfo expect it
	b, err := encodeAny(&flightgen.ActionCancelQueryResult{Result: flightgen.ActionCancelQueryResult_CancelResult(status)})
	if err != nil {
		return err
	}
	return send(&arrowflight.Result{Body: b})
}

// ListActions implements the Flight service.
func (s *Server) ListActions(_ *arrowflight.Empty, stream arrowflight.FlightService_ListActionsServer) error {
	for _, a := range []*arrowflight.ActionType{
		{Type: createPrepared, Description: "Prepare a statement: ActionCreatePreparedStatementRequest to ActionCreatePreparedStatementResult."},
		{Type: closePrepared, Description: "Does nothing: a prepared statement is only its handle."},
		{Type: cancelFlightInfo, Description: "Cancel a running query: CancelFlightInfoRequest to CancelFlightInfoResult."},
		{Type: cancelQuery, Description: "The same, for older clients: ActionCancelQueryRequest to ActionCancelQueryResult."},
		{Type: wire.CreateTable, Description: "Make an empty table: lake.wire.v1.CreateTable to TableCreated."},
		{Type: wire.GetTable, Description: "Look up a table: lake.wire.v1.GetTable to Table."},
		{Type: wire.ListTables, Description: "List all tables: lake.wire.v1.ListTables to TablePages."},
		{Type: wire.GetRoot, Description: "Where the lake's object store is: lake.wire.v1.GetRoot to Root."},
		{Type: wire.StageAppend, Description: "Where to stage files of an append: lake.wire.v1.StageAppend to StageTarget."},
	} {
		if err := stream.Send(a); err != nil {
			return err
		}
	}
	return nil
}

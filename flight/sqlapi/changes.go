package sqlapi

import (
	"errors"
	"fmt"
	"io"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	flightgen "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/protobuf/proto"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/flight/wire/wirepb"
	"github.com/lakeward/lake/ident"
)

// DoAction implements the Flight service: lake's own actions go to Metasrv as
// they are.
func (s *Server) DoAction(a *arrowflight.Action, stream arrowflight.FlightService_DoActionServer) error {
	switch a.GetType() {
	case wire.GetTable, wire.GetContents, wire.GetHistory, wire.ListTables, wire.GetRoot, wire.PlaceTable:
		return s.meta.Forward(stream.Context(), a, stream.Send)
	case wire.StageAppend:
		return s.meta.Forward(stream.Context(), a, func(r *arrowflight.Result) error {
			var target wirepb.StageTarget
			if err := wire.Decode(r.GetBody(), &target); err != nil {
				return err
			}
			if target.GetDone() == nil {
				return stream.Send(r)
			}
			// An acknowledgement of rows that this replica may not have seen.
			return s.acknowledge(target.GetTable(), r, stream.Send)
		})
	case wire.CreateTable:
		return s.meta.Forward(stream.Context(), a, func(r *arrowflight.Result) error {
			var made wirepb.TableCreated
			if err := wire.Decode(r.GetBody(), &made); err != nil {
				return err
			}
			return s.acknowledge(made.GetTable(), r, stream.Send)
		})
	case createPrepared:
		return s.prepare(stream.Context(), a.GetBody(), stream.Send)
	case cancelFlightInfo, cancelQuery:
		return s.cancelAction(a, stream.Send)
	case closePrepared:
		return nil // the handle is all there was of it
	}
	if len(a.GetType()) > 64 {
		return unsupported("that action")
	}
	return unsupported("action " + a.GetType())
}

// acknowledge hands on the answer to a change of a table, which is looked up
// anew from then on: who hears of a change can read it at once.
func (s *Server) acknowledge(p *wirepb.Table, r *arrowflight.Result, send func(*arrowflight.Result) error) error {
	t, err := ident.NewTable(p.GetNamespace(), p.GetName())
	if err != nil {
		return err
	}
	s.catalog.Invalidate(t)
	return send(r)
}

var (
	errPut    = fault.New(fault.Unsupported, "this server takes no such upload; load rows with ADBC's adbc_ingest or `lake load`")
	errUpdate = fault.New(fault.Unsupported, "SQL only reads here, and nothing was changed; make a table with `lake table create`, and load rows with ADBC's adbc_ingest or `lake load`")
	errNoPut  = fault.New(fault.Invalid, "the upload ended before it began: some clients send nothing for a table without rows; send one record batch without rows, or make the table with `lake table create`")
)

// DoPut implements the Flight service: rows to ingest, parameters to bind, and
// appends, which go to Metasrv as they are.
func (s *Server) DoPut(stream arrowflight.FlightService_DoPutServer) error {
	first, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return errNoPut
	}
	if err != nil {
		return fmt.Errorf("read an upload's command: %w", err)
	}
	cmd := first.GetFlightDescriptor().GetCmd()
	for _, a := range []interface {
		proto.Message
		GetTable() string
	}{&wirepb.AppendCommand{}, &wirepb.AppendRows{}} {
		if ok, err := wire.DecodeCommand(cmd, a); err != nil {
			return err
		} else if ok {
			return s.forwardPut(stream, first, a.GetTable())
		}
	}
	other, err := command(first.GetFlightDescriptor())
	if err != nil {
		return err
	}
	switch c := other.(type) {
	case *flightgen.CommandStatementIngest:
		return s.ingest(stream, first, c)
	case *flightgen.CommandPreparedStatementQuery:
		return s.bindParams(stream, first, c)
	case *flightgen.CommandStatementUpdate, *flightgen.CommandPreparedStatementUpdate, *flightgen.CommandStatementSubstraitPlan:
		return errUpdate
	}
	return errPut
}

// forwardPut hands an append on, whose table is looked up anew before the
// client hears.
func (s *Server) forwardPut(stream arrowflight.FlightService_DoPutServer, first *arrowflight.FlightData, table string) error {
	t, err := ident.ParseTable(table)
	if err != nil {
		return err
	}
	// Also without an answer: the change may have been made.
	defer s.catalog.Invalidate(t)
	return s.meta.ForwardPut(stream.Context(), first, stream.Recv, func(r *arrowflight.PutResult) error {
		s.catalog.Invalidate(t)
		return stream.Send(r)
	})
}

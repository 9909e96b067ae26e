package sqlapi

import (
	"fmt"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	flightgen "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/flight/wire/wirepb"
	"github.com/lakeward/lake/ident"
)

// DoAction implements the Flight service: lake's own actions go to Metasrv as
// they are.
func (s *Server) DoAction(a *arrowflight.Action, stream arrowflight.FlightService_DoActionServer) error {
	switch a.GetType() {
	case wire.GetTable, wire.ListTables, wire.GetRoot:
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

// DoPut implements the Flight service: appends of staged files go to Metasrv
// as they are, and their table is looked up anew before the client hears.
func (s *Server) DoPut(stream arrowflight.FlightService_DoPutServer) error {
	first, err := stream.Recv()
	if err != nil {
		return fmt.Errorf("read an upload's command: %w", err)
	}
	var cmd wirepb.AppendCommand
	ok, err := wire.DecodeCommand(first.GetFlightDescriptor().GetCmd(), &cmd)
	if err != nil {
		return err
	}
	if !ok {
		if other, err := command(first.GetFlightDescriptor()); err == nil {
			if p, ok := other.(*flightgen.CommandPreparedStatementQuery); ok {
				return s.bindParams(stream, first, p)
			}
		}
		return fault.New(fault.Unsupported, "queries only read, and this server takes no such upload; load data with `lake load`")
	}
	t, err := ident.ParseTable(cmd.GetTable())
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

package control

import (
	"context"
	"errors"
	"fmt"
	"io"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"golang.org/x/sync/semaphore"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/rpcerr"
	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/flight/wire/wirepb"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta/authority"
)

// rowsMemory bounds the rows of all appends that bring them, in bytes as they
// were sent. Each counts as what it says that it will send at most.
const rowsMemory = 256 << 20

var (
	errRowsMemory = fault.Newf(fault.Exhausted, "appends of more than %d bytes are under way; try again in a moment", rowsMemory)
	errNoRows     = fault.Newf(fault.Invalid, "an append has no rows; send 1 to %d", wire.RowsMax)
	errArrived    = fault.New(fault.Invalid, "the rows that arrived do not have the digest that was sent with them; send them again")
)

// appendRows commits the rows of one upload. They are all here, and their
// digest compared, before anything is done with them.
func (s *Server) appendRows(stream arrowflight.FlightService_DoPutServer, first *arrowflight.FlightData, cmd *wirepb.AppendRows) error {
	ctx := stream.Context()
	t, op, digest, err := parseAppend(cmd.GetTable(), cmd.GetOperation(), cmd.GetDigest())
	if err != nil {
		return err
	}
	bytes := cmd.GetBytes()
	if bytes == 0 {
		bytes = wire.RowsBytesMax
	}
	if bytes < 0 || bytes > wire.RowsBytesMax {
		return fault.Newf(fault.Exhausted, "an append of %d bytes is over the bound of %d; load the rows with `lake load` or ADBC's adbc_ingest", bytes, wire.RowsBytesMax)
	}
	if err := s.enter(ctx, s.appends, 1, errAppends); err != nil {
		return err
	}
	defer s.appends.Release(1)
	if err := s.enter(ctx, s.memory, bytes, errRowsMemory); err != nil {
		return err
	}
	defer s.memory.Release(bytes)

	limits := wire.FrameLimits{Rows: wire.RowsMax, Bytes: bytes, Messages: wire.RowsMessagesMax}
	messages := []*arrowflight.FlightData{first}
	unread := 0
	frames, err := wire.ReadFrames(func() (*arrowflight.FlightData, error) {
		if unread < len(messages) {
			unread++
			return messages[unread-1], nil
		}
		m, err := stream.Recv()
		if err != nil {
			return nil, rpcerr.FromStatus(err)
		}
		messages, unread = append(messages, m), unread+1
		return m, nil
	}, ident.NewAppendDigest(), limits)
	if err != nil {
		return err
	}
	if err := frames.Drain(); err != nil {
		return err
	}
	switch got := frames.Digest(); {
	case frames.Rows() == 0:
		return errNoRows
	case digest != nil && *digest != got:
		return errArrived
	}
	// From the beginning again, to be decoded.
	again, err := wire.ReadFrames(func() (*arrowflight.FlightData, error) {
		if len(messages) == 0 {
			return nil, io.EOF
		}
		m := messages[0]
		messages = messages[1:]
		return m, nil
	}, ident.NewAppendDigest(), limits)
	if err != nil {
		return err
	}
	result, err := s.authority.AppendRows(ctx, authority.RowsRequest{
		Tenant: s.o.Tenant, Table: t, Operation: op, Digest: frames.Digest(), Schema: again.Schema(), Rows: again.Batches(),
	})
	if err != nil {
		return err
	}
	b, err := wire.Encode(encodeResult(result))
	if err != nil {
		return err
	}
	return stream.Send(&arrowflight.PutResult{AppMetadata: b})
}

// enter waits a moment for n of what a semaphore counts.
func (s *Server) enter(ctx context.Context, what *semaphore.Weighted, n int64, full error) error {
	wait, cancel := context.WithTimeout(ctx, appendQueueWait)
	defer cancel()
	switch err := what.Acquire(wait, n); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return full
}

// DoPut implements the Flight service: one append, of rows or of files that
// were staged.
func (s *Server) DoPut(stream arrowflight.FlightService_DoPutServer) error {
	first, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return errPut
	}
	if err != nil {
		return fmt.Errorf("read the append's command: %w", err)
	}
	cmd := first.GetFlightDescriptor().GetCmd()
	var rows wirepb.AppendRows
	if ok, err := wire.DecodeCommand(cmd, &rows); err != nil {
		return err
	} else if ok {
		return s.appendRows(stream, first, &rows)
	}
	var files wirepb.AppendCommand
	if ok, err := wire.DecodeCommand(cmd, &files); err != nil {
		return err
	} else if ok {
		return s.appendFiles(stream, first, &files)
	}
	return errPut
}

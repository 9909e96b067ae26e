package sqlapi_test

import (
	"errors"
	"io"
	"testing"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	flightgen "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// pack is a message as Flight SQL's actions want it.
func pack(t *testing.T, m proto.Message) []byte {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// act sends an action and returns its one answer.
func (l *lake) act(t *testing.T, name string, body []byte) ([]byte, error) {
	t.Helper()
	stream, err := l.client.DoAction(t.Context(), &arrowflight.Action{Type: name, Body: body})
	if err != nil {
		return nil, err
	}
	r, err := stream.Recv()
	return r.GetBody(), err
}

// cancel asks to end a query.
func (l *lake) cancel(t *testing.T, info *arrowflight.FlightInfo) (flightgen.CancelStatus, error) {
	t.Helper()
	body, err := proto.Marshal(&flightgen.CancelFlightInfoRequest{Info: info})
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.act(t, "CancelFlightInfo", body)
	if err != nil {
		return 0, err
	}
	var r flightgen.CancelFlightInfoResult
	if err := proto.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r.GetStatus(), nil
}

// start begins to read a query that has no end, up to its first rows.
func (l *lake) start(t *testing.T, info *arrowflight.FlightInfo) flightgen.FlightService_DoGetClient {
	t.Helper()
	stream, err := l.client.DoGet(t.Context(), info.GetEndpoint()[0].GetTicket())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the schema, and a batch
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
	}
	return stream
}

func TestARunningQueryIsCancelledFromAnotherCall(t *testing.T) {
	l := open(t)
	l.create(t, "demo.flights")
	info := l.info(t, "SELECT endless FROM demo.flights")
	other := l.info(t, "SELECT endless FROM demo.flights")
	first, second, spared := l.start(t, info), l.start(t, info), l.start(t, other)
	if got, err := l.cancel(t, info); err != nil || got != flightgen.CancelStatus_CANCEL_STATUS_CANCELLED {
		t.Errorf("cancel: %v, %v", got, err)
	}
	for _, s := range []flightgen.FlightService_DoGetClient{first, second} {
		if _, err := s.Recv(); status.Code(err) != codes.Canceled {
			t.Errorf("a cancelled query ends with %v", err)
		}
	}

	// The old action does the same to the other one.
	infoBytes, err := proto.Marshal(other)
	if err != nil {
		t.Fatal(err)
	}
	//lint:ignore SA1019 older clients send it
	b, err := l.act(t, "CancelQuery", pack(t, &flightgen.ActionCancelQueryRequest{Info: infoBytes}))
	if err != nil {
		t.Fatal(err)
	}
	var a anypb.Any
	//lint:ignore SA1019 older clients expect it
	var old flightgen.ActionCancelQueryResult
	if err := errors.Join(proto.Unmarshal(b, &a), a.UnmarshalTo(&old)); err != nil || old.GetResult() != 1 {
		t.Errorf("cancel by the old action: %v, %v", &old, err)
	}
	if _, err := spared.Recv(); status.Code(err) != codes.Canceled {
		t.Errorf("cancelled by the old action, a query ends with %v", err)
	}
}

func TestWhatDoesNotRunHereIsNotCancellable(t *testing.T) {
	l := open(t)
	l.create(t, "demo.flights")
	info := l.info(t, "SELECT count(*) FROM demo.flights")
	for range 2 { // before it ran, and after
		if got, err := l.cancel(t, info); err != nil || got != flightgen.CancelStatus_CANCEL_STATUS_NOT_CANCELLABLE {
			t.Errorf("%v, %v", got, err)
		}
		if _, err := l.get(t, info.GetEndpoint()[0].GetTicket()); err != nil {
			t.Fatal(err)
		}
	}
	forged := proto.Clone(info).(*arrowflight.FlightInfo)
	forged.Endpoint[0].Ticket.Ticket = pack(t, &flightgen.TicketStatementQuery{StatementHandle: []byte("forged")})
	if _, err := l.cancel(t, forged); status.Code(err) != codes.Unauthenticated {
		t.Errorf("a forged ticket: %v", err)
	}
	if _, err := l.act(t, "CancelFlightInfo", nil); status.Code(err) != codes.InvalidArgument {
		t.Errorf("no info: %v", err)
	}
}

func TestActionsAreListed(t *testing.T) {
	l := open(t)
	stream, err := l.client.ListActions(t.Context(), &arrowflight.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for {
		a, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || a.GetType() == "" || a.GetDescription() == "" {
			t.Fatal(a, err)
		}
		n++
	}
	if n == 0 {
		t.Error("no actions")
	}
}

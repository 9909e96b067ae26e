package control_test

import (
	"testing"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/flight/wire/wirepb"
)

func TestContentsAndHistory(t *testing.T) {
	raw, _, a := open(t)
	create(t, a, "demo.flights")
	ask := func(action string, body, answer proto.Message) error {
		t.Helper()
		stream, err := raw.DoAction(t.Context(), &arrowflight.Action{Type: action, Body: encode(t, body)})
		if err != nil {
			t.Fatal(err)
		}
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		return wire.Decode(r.GetBody(), answer)
	}
	var c wirepb.Contents
	if err := ask(wire.GetContents, &wirepb.GetContents{Table: "demo.flights"}, &c); err != nil || c.GetTable().GetName() != "flights" || c.GetRows() != 0 || c.GetFiles() != 0 {
		t.Errorf("%v (%v)", &c, err)
	}
	var h wirepb.History
	if err := ask(wire.GetHistory, &wirepb.GetHistory{Table: "demo.flights", Limit: 10}, &h); err != nil || len(h.GetChanges()) != 1 {
		t.Fatalf("%v (%v)", &h, err)
	}
	if made := h.GetChanges()[0]; made.GetOp() == "" || made.GetTime() == 0 || made.GetVersion() != 0 || made.GetOperation() != "CREATE TABLE" {
		t.Errorf("%v", made)
	}
	for limit, code := range map[int64]codes.Code{0: codes.InvalidArgument, -1: codes.InvalidArgument, wire.HistoryMax: codes.OK, wire.HistoryMax + 1: codes.InvalidArgument} {
		if err := ask(wire.GetHistory, &wirepb.GetHistory{Table: "demo.flights", Limit: limit}, &h); status.Code(err) != code {
			t.Errorf("limit %d: %v, want %v", limit, err, code)
		}
	}
	for action, body := range map[string]proto.Message{
		wire.GetContents: &wirepb.GetContents{Table: "demo.nothing"},
		wire.GetHistory:  &wirepb.GetHistory{Table: "demo.nothing", Limit: 1},
	} {
		if err := ask(action, body, &c); status.Code(err) != codes.NotFound {
			t.Errorf("%s of no table: %v", action, err)
		}
	}
}

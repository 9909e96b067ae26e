package control_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	flightgen "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/delta"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight"
	"github.com/lakeward/lake/flight/control"
	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/flight/wire/wirepb"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta/authority"
	metamem "github.com/lakeward/lake/meta/mem"
	objectsmem "github.com/lakeward/lake/objects/mem"
)

// open returns a client of a Metasrv over memory, raw and wrapped, and its authority.
func open(t *testing.T) (flightgen.FlightServiceClient, *control.Client, *authority.Authority) {
	t.Helper()
	a := authority.New(metamem.New(), []engine.Engine{delta.New(objectsmem.New(), delta.Options{})}, authority.Options{})
	l, err := flight.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	service := control.NewServer(a, control.Options{Tenant: ident.DevTenant, Root: "file:///lake", Lake: "lake-id"})
	s := flight.NewServer(l, service, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, func() {}) }()
	conn, err := wire.Dial(s.URI())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); cancel(); <-done })
	return flightgen.NewFlightServiceClient(conn), control.NewClient(conn), a
}

func create(t *testing.T, a *authority.Authority, name string) ident.Table {
	t.Helper()
	table, err := ident.ParseTable(name)
	if err != nil {
		t.Fatal(err)
	}
	op, err := ident.NewOperation()
	if err != nil {
		t.Fatal(err)
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	if _, _, err := a.Create(t.Context(), authority.CreateRequest{Tenant: "dev", Table: table, Schema: engine.EncodeSchema(schema), Operation: op}); err != nil {
		t.Fatal(err)
	}
	return table
}

func TestClientIsASource(t *testing.T) {
	_, c, a := open(t)
	table := create(t, a, "demo.flights")
	want, err := a.Registry().Lookup(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Table(t.Context(), table)
	if err != nil || got.Incarnation != want.Incarnation || got.Location != want.Location || got.Engine != "delta" || got.Version != 0 {
		t.Errorf("%+v (%v), want %+v", got, err, want)
	}
	if _, err := c.Table(t.Context(), ident.Table{Namespace: "demo", Name: "nothing"}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a table that does not exist: %v", err)
	}
	if id, err := c.Lake(t.Context()); id != "lake-id" || err != nil {
		t.Errorf("lake %q, %v", id, err)
	}
}

// Appends that are held open take the slots; one more is refused with the limit.
func TestAppendsAtOnceAreBounded(t *testing.T) {
	raw, _, a := open(t)
	table := create(t, a, "demo.flights")
	reg, err := a.Registry().Lookup(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	begin := func(ctx context.Context) flightgen.FlightService_DoPutClient {
		op, err := ident.NewOperation()
		if err != nil {
			t.Fatal(err)
		}
		cmd, err := wire.EncodeCommand(&wirepb.AppendCommand{Table: table.String(), Incarnation: string(reg.Incarnation), Operation: op.String(), Digest: make([]byte, 32)})
		if err != nil {
			t.Fatal(err)
		}
		stream, err := raw.DoPut(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(&arrowflight.FlightData{FlightDescriptor: &arrowflight.FlightDescriptor{Type: arrowflight.DescriptorCMD, Cmd: cmd}}); err != nil {
			t.Fatal(err)
		}
		return stream
	}
	held, release := context.WithCancel(t.Context())
	defer release()
	for range 8 {
		begin(held)
	}
	// The held ones may still be on their way in: all but 8 are refused.
	refused := make(chan error, 1)
	deadline := time.After(10 * time.Second)
	for {
		stream := begin(t.Context())
		go func() { _, err := stream.Recv(); refused <- err }()
		select {
		case err := <-refused:
			if status.Code(err) != codes.ResourceExhausted {
				t.Errorf("one append too many: %v", err)
			}
			return
		case <-time.After(time.Second):
		case <-deadline:
			t.Fatal("no append was refused")
		}
	}
}

func TestBodiesThatAreNotRight(t *testing.T) {
	raw, _, _ := open(t)
	long := make([]byte, wire.ActionBytesMax+1)
	for _, tt := range []struct {
		name, action string
		body         []byte
		code         codes.Code
	}{
		{"garbage", wire.CreateTable, []byte("garbage"), codes.InvalidArgument},
		{"an operation id that is none", wire.CreateTable, encode(t, &wirepb.CreateTable{Table: "a.b", Operation: "x"}), codes.InvalidArgument},
		{"a name that is none", wire.GetTable, encode(t, &wirepb.GetTable{Table: "a.b.c.d"}), codes.InvalidArgument},
		{"a digest that is short", wire.StageAppend, encode(t, &wirepb.StageAppend{Table: "a.b", Operation: "0190b7a0-0000-7000-8000-0000000000aa", Digest: []byte{1}}), codes.InvalidArgument},
		{"a body over the bound", wire.GetTable, long, codes.ResourceExhausted},
		{"an unknown action", "lake.table.frobnicate.v1", nil, codes.Unimplemented},
	} {
		stream, err := raw.DoAction(t.Context(), &arrowflight.Action{Type: tt.action, Body: tt.body})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); status.Code(err) != tt.code {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.code)
		}
	}
}

func encode(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := wire.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A writer that does not know the digest of its rows yet hears whether its
// operation was applied, and to which.
func TestAppliedWithoutADigest(t *testing.T) {
	_, c, a := open(t)
	table := create(t, a, "demo.flights")
	reg, err := a.Registry().Lookup(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	op, _ := ident.NewOperation()
	question := &wirepb.StageAppend{Table: table.String(), Operation: op.String()}
	got, done, err := c.Applied(t.Context(), question)
	if err != nil || done != nil || got.Incarnation != reg.Incarnation {
		t.Fatalf("%+v, %v (%v)", got, done, err)
	}
	digest := ident.Digest{7}
	cmd := &wirepb.AppendCommand{Table: table.String(), Incarnation: string(reg.Incarnation), Operation: op.String(), Digest: digest[:]}
	if done, err := c.Append(t.Context(), cmd, engine.Manifest{}); err != nil || done.GetReplayed() || done.GetVersion() != 1 {
		t.Fatalf("%v (%v)", done, err)
	}
	if _, done, err = c.Applied(t.Context(), question); err != nil || !done.GetReplayed() || ident.Digest(done.GetDigest()) != digest {
		t.Errorf("%v (%v)", done, err)
	}
	question.Digest = make([]byte, 32)
	if _, _, err := c.Applied(t.Context(), question); fault.KindOf(err) != fault.Stale {
		t.Errorf("another digest: %v", err)
	}
	cmd.Digest = nil
	if _, err := c.Append(t.Context(), cmd, engine.Manifest{}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("no digest: %v", err)
	}
}

func TestATableIsPlacedBeforeItIsMade(t *testing.T) {
	_, c, _ := open(t)
	op, _ := ident.NewOperation()
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	r := &wirepb.CreateTable{Table: "demo.flights", Schema: engine.EncodeSchema(schema), Operation: op.String()}
	reg, placement, err := c.Place(t.Context(), r)
	if err != nil || len(placement) == 0 {
		t.Fatalf("%x (%v)", placement, err)
	}
	if _, err := c.Table(t.Context(), reg.Table); fault.KindOf(err) != fault.NotFound {
		t.Errorf("it is there: %v", err)
	}
	r.Incarnation, r.Placement = string(reg.Incarnation), placement
	made, err := c.Create(t.Context(), r)
	if err != nil || made.Incarnation != reg.Incarnation {
		t.Errorf("%+v (%v)", made, err)
	}
	r.Incarnation = "x"
	if _, err := c.Create(t.Context(), r); fault.KindOf(err) != fault.Invalid {
		t.Errorf("an incarnation that is none: %v", err)
	}
}

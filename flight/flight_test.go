package flight_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	flightgen "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight"
	"github.com/lakeward/lake/flight/wire"
)

func TestPlaintextStaysOnLoopback(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:0"} {
		if l, err := flight.Listen(addr); fault.KindOf(err) != fault.Denied {
			if err == nil {
				l.Close()
			}
			t.Errorf("%s: %v", addr, err)
		}
	}
	for _, addr := range []string{"127.0.0.1:0", "localhost:0"} {
		l, err := flight.Listen(addr)
		if err != nil {
			t.Fatalf("%s: %v", addr, err)
		}
		l.Close()
	}
	if _, err := flight.Listen("nonsense"); fault.KindOf(err) != fault.Invalid {
		t.Errorf("nonsense: %v", err)
	}
	l, err := flight.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := flight.Listen(l.Addr().String()); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a port that is taken: %v", err)
	}
}

// slow answers an action only when it is let.
type slow struct {
	arrowflight.BaseFlightServer
	begun, let chan struct{}
}

func (s *slow) DoAction(a *arrowflight.Action, stream arrowflight.FlightService_DoActionServer) error {
	if a.GetType() == "fail" {
		return fault.Newf(fault.Corrupt, "the bytes are wrong")
	}
	close(s.begun)
	<-s.let
	return stream.Send(&arrowflight.Result{Body: []byte("done")})
}

func TestServerDrainsAndAnswersInCodes(t *testing.T) {
	l, err := flight.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	service := &slow{begun: make(chan struct{}), let: make(chan struct{})}
	s := flight.NewServer(l, service, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, func() {}) }()
	conn, err := wire.Dial(s.URI())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := flightgen.NewFlightServiceClient(conn)

	h, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil || h.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", h, err)
	}
	failing, err := client.DoAction(t.Context(), &arrowflight.Action{Type: "fail"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := failing.Recv(); status.Code(err) != codes.DataLoss || status.Convert(err).Message() != "the bytes are wrong" {
		t.Errorf("a failing call: %v", err)
	}

	stream, err := client.DoAction(t.Context(), &arrowflight.Action{Type: "slow"})
	if err != nil {
		t.Fatal(err)
	}
	<-service.begun
	stop()
	select {
	case err := <-served:
		t.Errorf("the server stopped under a call: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(service.let)
	if r, err := stream.Recv(); err != nil || string(r.GetBody()) != "done" {
		t.Errorf("the call under way: %v, %v", r, err)
	}
	if _, err := stream.Recv(); err != io.EOF {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

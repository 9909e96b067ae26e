// Package flight is the listening side of an Arrow Flight connection, with its
// limits; the dialling side is wire.Dial.
package flight

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/rpcerr"
	"github.com/lakeward/lake/flight/wire"
)

// Bounds of a connection.
const (
	HeaderBytesMax = 16 << 10
	StreamsMax     = 1024 // concurrent calls a connection
)

// drainMax bounds how long a stopping server waits for its calls; the role's
// grace is the outer bound.
const drainMax = 20 * time.Second

var errPlaintext = fault.New(fault.Denied, "a plaintext listener must be on a loopback address; give one such as 127.0.0.1:31337")

// Listen returns a TCP listener. Without TLS it must be on loopback: nothing
// else keeps strangers from reading and writing.
func Listen(addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fault.Newf(fault.Invalid, "listen address %q is not host:port", addr)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, errPlaintext
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fault.Newf(fault.Unavailable, "cannot listen on %s: %v", addr, errors.Unwrap(err))
	}
	return l, nil
}

// A Server serves Flight calls of one service on one listener.
type Server struct {
	listener net.Listener
	grpc     *grpc.Server
	health   *health.Server
	log      *slog.Logger
}

// NewServer returns a server of the service on a listener, which it owns.
func NewServer(l net.Listener, service arrowflight.FlightServer, log *slog.Logger) *Server {
	s := &Server{listener: l, health: health.NewServer(), log: log}
	s.grpc = grpc.NewServer(
		grpc.ForceServerCodecV2(wire.Codec{}),
		grpc.MaxRecvMsgSize(wire.ReceiveBytesMax),
		grpc.MaxHeaderListSize(HeaderBytesMax),
		grpc.MaxConcurrentStreams(StreamsMax),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.ChainUnaryInterceptor(s.unary),
		grpc.ChainStreamInterceptor(s.stream),
	)
	arrowflight.RegisterFlightServiceServer(s.grpc, service)
	grpc_health_v1.RegisterHealthServer(s.grpc, s.health)
	return s
}

// URI is the address of the server as clients write it.
func (s *Server) URI() string { return "grpc://" + s.listener.Addr().String() }

// Serve answers calls until ctx ends, then lets those under way finish.
func (s *Server) Serve(ctx context.Context, up func()) error {
	ended := make(chan error, 1)
	go func() { ended <- s.grpc.Serve(s.listener) }()
	up()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.health.Shutdown()
	drained := make(chan struct{})
	go func() { s.grpc.GracefulStop(); close(drained) }()
	timer := time.NewTimer(drainMax)
	defer timer.Stop()
	select {
	case <-drained:
	case <-timer.C:
		s.grpc.Stop()
		<-drained
	}
	return <-ended
}

// unary and stream turn errors into what clients see, and log those that are
// the server's own fault: here they are handled, once.
func (s *Server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
	resp, err := h(ctx, req)
	return resp, s.answer(ctx, info.FullMethod, err)
}

func (s *Server) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, h grpc.StreamHandler) error {
	return s.answer(stream.Context(), info.FullMethod, h(srv, stream))
}

func (s *Server) answer(ctx context.Context, method string, err error) error {
	if err == nil {
		return nil
	}
	kind := fault.KindOf(err)
	level := slog.LevelDebug
	switch {
	case ctx.Err() != nil: // the client left, and hears nothing
	case kind == fault.Internal, kind == fault.Corrupt:
		level = slog.LevelError
	case kind == fault.Unavailable, kind == fault.Exhausted:
		level = slog.LevelWarn
	}
	s.log.Log(ctx, level, "call failed", "method", method, "kind", kind.String(), "error", err.Error())
	return rpcerr.ToStatus(err)
}

// Close stops a server that Serve has not stopped, and its listener.
func (s *Server) Close() error {
	s.grpc.Stop()
	if err := s.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

package wire

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/lakeward/lake/fault"
)

// RowBytesMax bounds a received message that holds a single wide row; all
// others are within MessageBytesMax.
const RowBytesMax = 17 << 20

// Dial returns a connection to a lake server by its URI, grpc://host:port. It
// connects at the first call.
func Dial(uri string) (*grpc.ClientConn, error) {
	scheme, addr, ok := strings.Cut(uri, "://")
	switch {
	case ok && scheme == "grpc+tls":
		return nil, fault.New(fault.Unsupported, "this version of lake speaks plaintext on loopback only; give a grpc:// address")
	case !ok || addr == "" || scheme != "grpc" && scheme != "grpc+tcp":
		return nil, fault.Newf(fault.Invalid, "server address %.200q is not of the form grpc://host:port", uri)
	}
	c, err := grpc.NewClient(addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(RowBytesMax), grpc.MaxCallSendMsgSize(ReceiveBytesMax)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 20 * time.Second}),
	)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	return c, nil
}

package rpcerr_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/rpcerr"
)

func TestEveryKindCrossesTheWire(t *testing.T) {
	seen := map[codes.Code]fault.Kind{}
	for k := fault.Internal; k <= fault.Deadline; k++ {
		sent := fmt.Errorf("open /secret: %w", fault.New(k, "text for the client"))
		s := rpcerr.ToStatus(sent)
		if other, ok := seen[status.Code(s)]; ok {
			t.Errorf("%v and %v share %v", other, k, status.Code(s))
		}
		seen[status.Code(s)] = k
		got := rpcerr.FromStatus(s)
		if fault.KindOf(got) != k || fault.Public(got) != "text for the client" || got.Error() != "text for the client" {
			t.Errorf("%v came back as %v %q", k, fault.KindOf(got), got)
		}
	}
}

func TestErrorsThatAreNotOurs(t *testing.T) {
	if c := status.Code(rpcerr.ToStatus(fmt.Errorf("scan: %w", context.Canceled))); c != codes.Canceled {
		t.Errorf("a cancelled context became %v", c)
	}
	if s := rpcerr.ToStatus(errors.New("open /secret")); status.Code(s) != codes.Internal || status.Convert(s).Message() == "open /secret" {
		t.Errorf("an unclassified error became %v", s)
	}
	if err := rpcerr.FromStatus(status.Error(codes.OutOfRange, "x")); fault.KindOf(err) != fault.Internal {
		t.Errorf("a code that lake never sends became %v", fault.KindOf(err))
	}
	if rpcerr.ToStatus(nil) != nil || rpcerr.FromStatus(nil) != nil {
		t.Error("nil did not stay nil")
	}
}

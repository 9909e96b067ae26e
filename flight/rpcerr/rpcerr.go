// Package rpcerr turns fault kinds into gRPC codes and back. Nothing else in
// lake knows the codes.
package rpcerr

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeward/lake/fault"
)

var codeOf = [...]codes.Code{
	fault.Internal:    codes.Internal,
	fault.Invalid:     codes.InvalidArgument,
	fault.NotFound:    codes.NotFound,
	fault.Exists:      codes.AlreadyExists,
	fault.Conflict:    codes.Aborted,
	fault.Stale:       codes.FailedPrecondition,
	fault.Exhausted:   codes.ResourceExhausted,
	fault.Denied:      codes.PermissionDenied,
	fault.Unauthentic: codes.Unauthenticated,
	fault.Corrupt:     codes.DataLoss,
	fault.Unavailable: codes.Unavailable,
	fault.Unsupported: codes.Unimplemented,
	fault.Canceled:    codes.Canceled,
	fault.Deadline:    codes.DeadlineExceeded,
}

// ToStatus returns err as a client sees it: the code of its kind and its
// public text. It returns nil for nil. What is a status already, and nothing
// of lake's, stays as the library that made it says.
func ToStatus(err error) error {
	if err == nil {
		return nil
	}
	if s, ok := status.FromError(err); ok && fault.KindOf(err) == fault.Internal && s.Code() != codes.Internal {
		return s.Err()
	}
	return status.Error(codeOf[fault.KindOf(err)], fault.Public(err))
}

// FromStatus returns an RPC's error as a classified one, with the text that
// the server sent. Errors without a code come back as they are.
func FromStatus(err error) error {
	s, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	for k, c := range codeOf {
		if c == s.Code() {
			return fault.Newf(fault.Kind(k), "%s", s.Message())
		}
	}
	return fault.Newf(fault.Internal, "%s", s.Message())
}

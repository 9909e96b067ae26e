// Package fault gives errors a class that survives wrapping, and the text of
// them that a client may see.
package fault

import (
	"context"
	"errors"
	"fmt"
)

// A Kind says what the caller can do about an error.
type Kind uint8

// The kinds. flight/rpcerr holds their gRPC codes.
const (
	Internal    Kind = iota // a bug, or a fault nobody has classified
	Invalid                 // the request is malformed; do not retry
	NotFound                // no such table, snapshot, job or object
	Exists                  // the name is taken
	Conflict                // somebody else won; read again, then decide
	Stale                   // the caller's snapshot, lease, ticket or operation is over
	Exhausted               // a limit was hit; the text names it
	Denied                  // authenticated, but not allowed
	Unauthentic             // not authenticated
	Corrupt                 // stored bytes do not verify; never retry
	Unavailable             // a peer or a store is away; retry
	Unsupported             // this engine or server cannot do that
	Canceled                // the caller went away
	Deadline                // the caller's time is up
)

var kindNames = [...]string{
	Internal: "internal", Invalid: "invalid", NotFound: "not found", Exists: "exists", Conflict: "conflict",
	Stale: "stale", Exhausted: "exhausted", Denied: "denied", Unauthentic: "unauthentic", Corrupt: "corrupt",
	Unavailable: "unavailable", Unsupported: "unsupported", Canceled: "canceled", Deadline: "deadline",
}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// classed is an error of a kind. Its msg is safe to show a client.
type classed struct {
	kind Kind
	msg  string
	base error // the sentinel that this error details, or nil
}

func (e *classed) Error() string { return e.msg }
func (e *classed) Unwrap() error { return e.base }

// Is makes an error be the class of its kind.
func (e *classed) Is(target error) bool {
	c, ok := target.(class)
	return ok && Kind(c) == e.kind
}

type class Kind

func (c class) Error() string { return Kind(c).String() }

// Class returns an error that every error of the kind is, by errors.Is: for
// callers who act on the kind alone.
func Class(k Kind) error { return class(k) }

// New returns a sentinel of the given kind. Its text is safe to show a client.
func New(k Kind, msg string) error { return &classed{kind: k, msg: msg} }

// Newf returns an error of the given kind whose text, made of the caller's own
// names and of limits, is safe to show that caller.
func Newf(k Kind, format string, args ...any) error {
	return &classed{kind: k, msg: fmt.Sprintf(format, args...)}
}

// Detail returns an error that is the sentinel base, with a text of its own
// that is safe to show the caller and says what to do next.
func Detail(base error, format string, args ...any) error {
	return &classed{kind: KindOf(base), msg: fmt.Sprintf(format, args...), base: base}
}

// KindOf returns the kind of the first classified error in err's tree.
func KindOf(err error) Kind {
	if c, ok := errors.AsType[*classed](err); ok {
		return c.kind
	}
	switch {
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return Deadline
	}
	return Internal
}

// Public returns the text of the first classified error in err's tree: the
// part that holds no path, foreign SQL, URL or credential.
func Public(err error) string {
	if c, ok := errors.AsType[*classed](err); ok {
		return c.msg
	}
	switch {
	case errors.Is(err, context.Canceled):
		return "the request was cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return "the deadline passed; ask for less, or allow more time"
	}
	return "internal error; the server's log has the details"
}

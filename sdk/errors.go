package sdk

import "github.com/lakeward/lake/fault"

// What an error asks of its caller, by errors.Is. Its text says what to do next.
var (
	ErrInvalid     = fault.Class(fault.Invalid)     // the request is malformed; do not retry
	ErrNotFound    = fault.Class(fault.NotFound)    // no such table or file
	ErrExists      = fault.Class(fault.Exists)      // the name is taken
	ErrConflict    = fault.Class(fault.Conflict)    // somebody else won: read again, then decide
	ErrStale       = fault.Class(fault.Stale)       // a ticket, snapshot or operation id is over; never retried
	ErrExhausted   = fault.Class(fault.Exhausted)   // a limit was hit; the text names it
	ErrDenied      = fault.Class(fault.Denied)      // not allowed
	ErrCorrupt     = fault.Class(fault.Corrupt)     // stored bytes do not verify
	ErrUnavailable = fault.Class(fault.Unavailable) // nobody answers: retry
	ErrUnsupported = fault.Class(fault.Unsupported) // this server cannot do that
)

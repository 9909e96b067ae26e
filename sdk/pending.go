package sdk

import (
	"fmt"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
)

// A Pending change was sent, and whether it was made is not known. The same
// change with this operation id finds out, and makes it if it was not.
type Pending struct {
	Operation ident.OperationID
	Err       error
}

func (p *Pending) Error() string {
	return fmt.Sprintf("%v (run it again with --op %s)", p.Err, p.Operation)
}

func (p *Pending) Unwrap() error { return p.Err }

// pending is the error of a change that was sent whole: a Pending, unless the
// server refused it.
func pending(op ident.OperationID, err error) error {
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Deadline, fault.Canceled, fault.Internal:
		return &Pending{op, err}
	}
	return err
}

// operation is the id that a caller gave, or a new one.
func operation(op ident.OperationID) (ident.OperationID, error) {
	if op == (ident.OperationID{}) {
		return ident.NewOperation()
	}
	return op, nil
}

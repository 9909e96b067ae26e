package exec

import (
	"strings"

	"github.com/lakeward/lake/fault"
)

var errRowsClosed = fault.New(fault.Canceled, "the rows have been closed")

// broken reports whether the engine may be in a bad state after the failure.
func (f *failure) broken() bool {
	switch f.Class {
	case "Internal", "INTERNAL", "FATAL", "Fatal", "Serialization", "Worker":
		return true
	}
	return strings.Contains(f.Message, "database has been invalidated")
}

// translate is what a client sees of a failure of its statement.
func (l *loan) translate(f *failure) error {
	return fault.Newf(fault.Invalid, "%s", f.Error())
}

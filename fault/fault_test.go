package fault_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lakeward/lake/fault"
)

var errNoTable = fault.New(fault.NotFound, "table does not exist")

func TestKindAndPublicText(t *testing.T) {
	for _, tt := range []struct {
		name   string
		err    error
		kind   fault.Kind
		public string
	}{
		{"a sentinel shows its text", errNoTable, fault.NotFound, "table does not exist"},
		{"context added on the way up stays inside", fmt.Errorf("open /data/x: %w", errNoTable), fault.NotFound, "table does not exist"},
		{"a joined error is found", errors.Join(errors.New("close"), errNoTable), fault.NotFound, "table does not exist"},
		{"a detail replaces the sentinel's text", fault.Detail(errNoTable, "table a.b does not exist"), fault.NotFound, "table a.b does not exist"},
		{"a cancelled context is Canceled", fmt.Errorf("scan: %w", context.Canceled), fault.Canceled, "the request was cancelled"},
		{"a passed deadline is Deadline", context.DeadlineExceeded, fault.Deadline, "the deadline passed; ask for less, or allow more time"},
		{"an unclassified error shows nothing of itself", errors.New("open /secret/path"), fault.Internal, "internal error; the server's log has the details"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := fault.KindOf(tt.err); got != tt.kind {
				t.Errorf("KindOf = %v, want %v", got, tt.kind)
			}
			if got := fault.Public(tt.err); got != tt.public {
				t.Errorf("Public = %q, want %q", got, tt.public)
			}
		})
	}
}

func TestDetailIsItsSentinel(t *testing.T) {
	err := fmt.Errorf("load: %w", fault.Detail(errNoTable, "table a.b does not exist"))
	if !errors.Is(err, errNoTable) {
		t.Error("a detail is not errors.Is its sentinel")
	}
}

func TestEveryKindHasAName(t *testing.T) {
	for k := fault.Internal; k <= fault.Deadline; k++ {
		if s := k.String(); s == "" || strings.HasPrefix(s, "kind(") {
			t.Errorf("kind %d has no name", k)
		}
	}
}

func TestClassIsEveryErrorOfItsKind(t *testing.T) {
	err := fmt.Errorf("load: %w", fault.Detail(errNoTable, "table a.b does not exist"))
	if !errors.Is(err, fault.Class(fault.NotFound)) {
		t.Error("an error of kind NotFound is not of its class")
	}
	if errors.Is(err, fault.Class(fault.Exists)) || errors.Is(errors.New("x"), fault.Class(fault.Internal)) {
		t.Error("an error is of a class that it has not")
	}
}

package engine

import (
	"context"
	"time"

	"github.com/lakeward/lake/ident"
)

// A Historian is a Table that knows what made its versions.
type Historian interface {
	// History returns what made version v and those below it, newest first and
	// limit at most: fewer where the table has forgotten older ones. v itself
	// must be there, else it is ErrNoVersion.
	History(ctx context.Context, v ident.Version, limit int) ([]Change, error)
}

// A Change is what made a version.
type Change struct {
	Version   ident.Version
	Time      time.Time         // zero if not known
	Operation string            // in the words of the table's format
	Op        ident.OperationID // zero if it was not lake's
	Rows      int64             // that it added; -1 if not known
}

// Package meta is the key/value contract under lake's registry.
package meta

import (
	"context"

	"github.com/lakeward/lake/fault"
)

// ErrGuard says that a guard of a Commit did not hold: nothing was written.
var ErrGuard = fault.New(fault.Conflict, "somebody else changed this at the same time; try again")

// Bounds that every Store accepts.
const (
	KeyBytesMax    = 512
	ValueBytesMax  = 256 << 10
	CommitPairsMax = 64   // guards and writes together
	ScanLimitMax   = 1000 // pairs a page
)

// A Store is a small ordered map with one kind of write: all or nothing, and
// only if every guard still holds. Reads and commits are linearizable: a read
// sees every commit that returned before it began. Keys are not empty and
// sort bytewise. All methods may be called from many goroutines at once.
type Store interface {
	// Get returns the value of key, or nil if it is absent. The caller owns
	// the bytes.
	Get(ctx context.Context, key string) ([]byte, error)

	// Scan returns at most limit pairs whose keys begin with prefix and sort
	// after the key after ("" for the first page), in order and as of one
	// moment. Fewer than limit means that there are no more.
	Scan(ctx context.Context, prefix, after string, limit int) ([]Pair, error)

	// Commit makes all writes if all guards hold, durably before it returns,
	// and returns ErrGuard with nothing written if one does not. Any other
	// error leaves open whether the commit happened: the caller reads to know.
	// No key is written twice in one commit. Neither slice nor its bytes are
	// kept or changed.
	Commit(ctx context.Context, guards, writes []Pair) error

	// Close releases the store. No other method may be called after it.
	Close() error
}

// A Pair is a key and its value. A nil Value means "absent" as a guard and
// "delete" as a write; an empty one is a value.
type Pair struct {
	Key   string
	Value []byte
}

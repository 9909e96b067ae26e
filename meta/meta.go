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

// A Change is part of a commit: what one record's package wants guarded and
// written. Several make one commit.
type Change struct {
	Guards, Writes []Pair
}

// Commit makes all changes in one commit.
func Commit(ctx context.Context, s Store, changes ...Change) error {
	var all Change
	for _, c := range changes {
		all.Guards = append(all.Guards, c.Guards...)
		all.Writes = append(all.Writes, c.Writes...)
	}
	return s.Commit(ctx, all.Guards, all.Writes)
}

// CheckCommit refuses what no Store accepts: a commit over the bounds, an empty
// key, or a key written twice. Stores call it first.
func CheckCommit(guards, writes []Pair) error {
	if n := len(guards) + len(writes); n > CommitPairsMax {
		return fault.Newf(fault.Exhausted, "a metadata commit of %d pairs is over the bound of %d", n, CommitPairsMax)
	}
	written := make(map[string]bool, len(writes))
	for i, p := range append(append(make([]Pair, 0, len(guards)+len(writes)), writes...), guards...) {
		switch {
		case p.Key == "" || len(p.Key) > KeyBytesMax:
			return fault.Newf(fault.Invalid, "a metadata key of %d bytes is not within 1 to %d", len(p.Key), KeyBytesMax)
		case len(p.Value) > ValueBytesMax:
			return fault.Newf(fault.Exhausted, "a metadata record of %d bytes is over the bound of %d", len(p.Value), ValueBytesMax)
		case i < len(writes) && written[p.Key]:
			return fault.New(fault.Internal, "a metadata commit writes one key twice")
		}
		written[p.Key] = true
	}
	return nil
}

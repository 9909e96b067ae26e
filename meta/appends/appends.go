// Package appends is the record of an append: what makes a retry find its own
// earlier work, whatever was lost in between.
package appends

import (
	"context"
	"fmt"
	"time"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta"
	"github.com/lakeward/lake/meta/appends/appendspb"
)

// ErrOtherInput says that an operation id was used before, for other input.
var ErrOtherInput = fault.New(fault.Stale, "this operation id was used for other input; use a new one")

const formatNumber = 1

// A State says how far an operation is known to have come. The zero value is
// not a state.
type State uint8

// An operation is reserved before the engine is asked to commit it, and done
// in the commit that publishes its version.
const (
	Reserved State = iota + 1
	Done
)

func (s State) String() string {
	switch s {
	case Reserved:
		return "reserved"
	case Done:
		return "done"
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// An Operation is the record of one append to one incarnation.
type Operation struct {
	Incarnation ident.Incarnation
	ID          ident.OperationID
	State       State
	Digest      ident.Digest // of the input
	Tenant      ident.Tenant
	Base        ident.Version // it was not applied at or before this version
	Version     ident.Version // that it made, once Done
	Rows        int64         // that it adds
	ReservedAt  time.Time     // milliseconds

	stored []byte // the record that this was read from, nil if new
}

// Flight says which operation may be committing to an incarnation now.
type Flight struct {
	Incarnation ident.Incarnation
	ID          ident.OperationID // zero if none

	stored []byte
}

// Empty reports whether no operation is in flight.
func (f Flight) Empty() bool { return f.stored == nil }

const opPrefix = "op/"

func opKey(i ident.Incarnation, id ident.OperationID) string {
	return opPrefix + string(i) + "/" + id.String()
}

func flightKey(i ident.Incarnation) string { return "inflight/" + string(i) }

// Lookup returns the record of an operation; ok is false if there is none.
func Lookup(ctx context.Context, s meta.Store, i ident.Incarnation, id ident.OperationID) (op Operation, ok bool, err error) {
	b, err := s.Get(ctx, opKey(i, id))
	if err != nil {
		return Operation{}, false, fmt.Errorf("read operation %s: %w", id, err)
	}
	if b == nil {
		return Operation{}, false, nil
	}
	op, err = decode(i, id, b)
	return op, err == nil, err
}

// InFlight returns which operation is in flight on an incarnation.
func InFlight(ctx context.Context, s meta.Store, i ident.Incarnation) (Flight, error) {
	f := Flight{Incarnation: i}
	b, err := s.Get(ctx, flightKey(i))
	if err != nil {
		return f, fmt.Errorf("read the operation in flight: %w", err)
	}
	if b == nil {
		return f, nil
	}
	var p appendspb.Inflight
	if err := meta.Decode("the record of the operation in flight", formatNumber, b, &p); err != nil {
		return f, err
	}
	f.stored = b
	if f.ID, err = ident.ParseOperation(p.GetOperation()); err != nil {
		return f, fmt.Errorf("%w: %v", errRecord, err)
	}
	return f, nil
}

// Reserve records that op is about to be committed on top of op.Base, as the
// one in flight instead of was. It holds if both are still what they were when
// read. The operation and flight to go on with come back.
func Reserve(op Operation, was Flight) (Operation, Flight, meta.Change, error) {
	op.State = Reserved
	b, err := encode(op)
	if err != nil {
		return op, was, meta.Change{}, err
	}
	f, err := meta.Encode(formatNumber, &appendspb.Inflight{Operation: op.ID.String()})
	if err != nil {
		return op, was, meta.Change{}, err
	}
	ok, fk := opKey(op.Incarnation, op.ID), flightKey(op.Incarnation)
	c := meta.Change{
		Guards: []meta.Pair{{Key: ok, Value: op.stored}, {Key: fk, Value: was.stored}},
		Writes: []meta.Pair{{Key: ok, Value: b}, {Key: fk, Value: f}},
	}
	op.stored = b
	return op, Flight{op.Incarnation, op.ID, f}, c, nil
}

// Finish closes op as having made version, and lands the flight. It
// belongs in the commit that publishes the version.
func Finish(op Operation, was Flight, version ident.Version) (Operation, meta.Change, error) {
	op.State, op.Version = Done, version
	b, err := encode(op)
	if err != nil {
		return op, meta.Change{}, err
	}
	k := opKey(op.Incarnation, op.ID)
	c := meta.Change{
		Guards: []meta.Pair{{Key: k, Value: op.stored}},
		Writes: []meta.Pair{{Key: k, Value: b}},
	}
	if was.ID == op.ID {
		fk := flightKey(op.Incarnation)
		c.Guards = append(c.Guards, meta.Pair{Key: fk, Value: was.stored})
		c.Writes = append(c.Writes, meta.Pair{Key: fk})
	}
	op.stored = b
	return op, c, nil
}

// expirePage is how many records one step of Expire looks at; it deletes at
// most expireDeletes of them in one commit.
const (
	expirePage    = 500
	expireDeletes = meta.CommitPairsMax / 2
)

// Expire deletes the records of operations whose ids are older than before:
// these are refused by age, so that nothing asks for them. One that is in
// flight stays. It returns how many it deleted.
func Expire(ctx context.Context, s meta.Store, before time.Time) (deleted int, err error) {
	after := ""
	for {
		page, err := s.Scan(ctx, opPrefix, after, expirePage)
		if err != nil {
			return deleted, fmt.Errorf("list operations: %w", err)
		}
		var c meta.Change
		flush := func() error {
			err := meta.Commit(ctx, s, c)
			if err == nil {
				deleted += len(c.Writes)
			}
			c = meta.Change{}
			if fault.KindOf(err) == fault.Conflict {
				return nil // one of them moved; the next run sees it again
			}
			return err
		}
		for _, p := range page {
			after = p.Key
			i, id, err := splitKey(p.Key)
			if err != nil {
				return deleted, err
			}
			if !id.Time().Before(before) {
				continue
			}
			f, err := InFlight(ctx, s, i)
			if err != nil {
				return deleted, err
			}
			if !f.Empty() && f.ID == id {
				continue
			}
			c.Guards = append(c.Guards, p)
			c.Writes = append(c.Writes, meta.Pair{Key: p.Key})
			if len(c.Writes) == expireDeletes {
				if err := flush(); err != nil {
					return deleted, err
				}
			}
		}
		if len(c.Writes) > 0 {
			if err := flush(); err != nil {
				return deleted, err
			}
		}
		if len(page) < expirePage {
			return deleted, nil
		}
	}
}

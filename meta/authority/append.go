package authority

import (
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta"
	"github.com/lakeward/lake/meta/appends"
	"github.com/lakeward/lake/meta/registry"
)

// An AppendRequest asks for staged files to become rows of a table.
type AppendRequest struct {
	Tenant      ident.Tenant
	Table       ident.Table
	Incarnation ident.Incarnation // the one that the files were staged for
	Operation   ident.OperationID
	Digest      ident.Digest // of the input that the files hold
	Manifest    engine.Manifest
}

// A Result is what became of an append.
type Result struct {
	Version  ident.Version // that the operation made
	Rows     int64         // that it added
	Digest   ident.Digest
	Replayed bool // it had been applied before
}

// Applied says whether an operation was applied to a table before, and to
// which registration a new one would be staged. An operation over other input
// is refused; without a digest, the caller compares that of the result.
func (a *Authority) Applied(ctx context.Context, t ident.Table, id ident.OperationID, digest *ident.Digest) (registry.Registration, Result, bool, error) {
	if err := id.CheckAge(a.now()); err != nil {
		return registry.Registration{}, Result{}, false, err
	}
	reg, err := a.registry.Lookup(ctx, t)
	if err != nil {
		return reg, Result{}, false, err
	}
	op, ok, err := appends.Lookup(ctx, a.store, reg.Incarnation, id)
	if err != nil || !ok {
		return reg, Result{}, false, err
	}
	if digest != nil {
		if err := sameInput(op, *digest); err != nil {
			return reg, Result{}, false, err
		}
	}
	return reg, replayed(op), op.State == appends.Done, nil
}

// Append commits staged files as one version and publishes it, exactly once
// for an operation however often it is sent. See DESIGN.md for the protocol.
func (a *Authority) Append(ctx context.Context, r AppendRequest) (Result, error) {
	if err := r.Operation.CheckAge(a.now()); err != nil {
		return Result{}, err
	}
	unlock, err := a.tables.lock(ctx, r.Table)
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	ctx, cancel := detached(ctx)
	defer cancel()

	reg, err := a.registry.Lookup(ctx, r.Table)
	if err != nil {
		return Result{}, err
	}
	if reg.Incarnation != r.Incarnation {
		return Result{}, ErrReplaced
	}
	table, err := a.table(reg)
	if err != nil {
		return Result{}, err
	}
	op, known, err := appends.Lookup(ctx, a.store, reg.Incarnation, r.Operation)
	if err != nil {
		return Result{}, err
	}
	if known {
		if err := sameInput(op, r.Digest); err != nil {
			return Result{}, err
		}
		if op.State == appends.Done {
			return replayed(op), nil
		}
	}
	flight, err := appends.InFlight(ctx, a.store, reg.Incarnation)
	if err != nil {
		return Result{}, err
	}
	if !flight.Empty() && flight.ID != r.Operation {
		if reg, flight, err = a.settle(ctx, reg, table, flight); err != nil {
			return Result{}, err
		}
	}

	var version ident.Version
	found := false
	if known {
		// Left in the middle by an earlier try: it may be in the table.
		if version, found, err = table.Find(ctx, op.Base, op.ID); err != nil {
			return Result{}, err
		}
	} else {
		op = appends.Operation{
			Incarnation: reg.Incarnation,
			ID:          r.Operation,
			Digest:      r.Digest,
			Tenant:      r.Tenant,
			Base:        reg.Version,
			Rows:        r.Manifest.Rows(),
			ReservedAt:  a.now(),
		}
	}
	if flight.ID != op.ID {
		var reserve meta.Change
		if op, flight, reserve, err = appends.Reserve(op, flight); err != nil {
			return Result{}, err
		}
		if err := meta.Commit(ctx, a.store, reserve); err != nil {
			return Result{}, fmt.Errorf("reserve %s: %w", op.ID, unknown(err))
		}
	}
	if !found {
		attempt, err := ident.NewAttempt()
		if err != nil {
			return Result{}, err
		}
		version, err = table.Commit(ctx, reg.Version, engine.Op{Tenant: op.Tenant, ID: op.ID, Digest: op.Digest, Attempt: attempt}, r.Manifest)
		if err != nil {
			return Result{}, fmt.Errorf("append to %s: %w", r.Table, err)
		}
	}
	op, err = a.publish(ctx, reg, op, flight, version)
	if err != nil {
		return Result{}, err
	}
	a.log.InfoContext(ctx, "append published", "table", r.Table.String(), "version", int64(version), "rows", op.Rows, "op", op.ID.String(), "found", found)
	return Result{Version: op.Version, Rows: op.Rows, Digest: op.Digest}, nil
}

// A RowsRequest asks for an append of rows that nobody has staged yet.
type RowsRequest struct {
	Tenant    ident.Tenant
	Table     ident.Table
	Operation ident.OperationID
	Digest    ident.Digest // of the input that the rows were read from
	Schema    *arrow.Schema
	Rows      iter.Seq2[arrow.RecordBatch, error]
}

// AppendRows stages rows and appends them. An operation that was applied
// before stages nothing.
func (a *Authority) AppendRows(ctx context.Context, r RowsRequest) (Result, error) {
	reg, result, done, err := a.Applied(ctx, r.Table, r.Operation, &r.Digest)
	if err != nil || done {
		return result, err
	}
	table, err := a.table(reg)
	if err != nil {
		return Result{}, err
	}
	schema, err := engine.DecodeSchema(reg.Schema)
	if err != nil {
		return Result{}, err
	}
	if err := engine.Compatible(schema, r.Schema); err != nil {
		return Result{}, err
	}
	m, err := table.Stage(ctx, schema, r.Rows)
	if err != nil {
		return Result{}, err
	}
	return a.Append(ctx, AppendRequest{
		Tenant: r.Tenant, Table: r.Table, Incarnation: reg.Incarnation, Operation: r.Operation, Digest: r.Digest, Manifest: m,
	})
}

// publish moves the pointer and closes the record in one commit, so that there
// is no moment at which a reader sees the version and a replay does not.
func (a *Authority) publish(ctx context.Context, reg registry.Registration, op appends.Operation, flight appends.Flight, version ident.Version) (appends.Operation, error) {
	done, finish, err := appends.Finish(op, flight, version)
	if err != nil {
		return op, err
	}
	// A later operation may have published past this one before it was found.
	advance, err := a.registry.Advance(reg, max(reg.Version, version))
	if err != nil {
		return op, err
	}
	if err := meta.Commit(ctx, a.store, advance, finish); err != nil {
		if stored, ok, lerr := appends.Lookup(ctx, a.store, op.Incarnation, op.ID); lerr == nil && ok && stored.State == appends.Done {
			return stored, nil // the answer was lost, the commit was not
		}
		return op, fmt.Errorf("publish version %d: %w", version, unknown(err))
	}
	return done, nil
}

// settle finds out what became of the operation that a crash left in flight:
// if the engine has it, it is published; if not, its record stays reserved, so
// that its retry looks again before it commits.
func (a *Authority) settle(ctx context.Context, reg registry.Registration, table engine.Table, flight appends.Flight) (registry.Registration, appends.Flight, error) {
	op, ok, err := appends.Lookup(ctx, a.store, reg.Incarnation, flight.ID)
	if err != nil {
		return reg, flight, err
	}
	if !ok {
		return reg, flight, fault.Newf(fault.Corrupt, "operation %s is in flight on %s and has no record; restore the metastore from a backup", flight.ID, reg.Table)
	}
	version, found, err := table.Find(ctx, op.Base, op.ID)
	if err != nil {
		return reg, flight, err
	}
	if !found {
		return reg, flight, nil
	}
	if _, err := a.publish(ctx, reg, op, flight, version); err != nil {
		return reg, flight, err
	}
	a.log.InfoContext(ctx, "append of an earlier run published", "table", reg.Table.String(), "version", int64(version), "op", op.ID.String())
	if reg, err = a.registry.Lookup(ctx, reg.Table); err != nil {
		return reg, flight, err
	}
	flight, err = appends.InFlight(ctx, a.store, reg.Incarnation)
	return reg, flight, err
}

func sameInput(op appends.Operation, digest ident.Digest) error {
	if op.Digest != digest {
		return fault.Detail(appends.ErrOtherInput, "operation %s was used before, for other input; use a new id for other files", op.ID)
	}
	return nil
}

func replayed(op appends.Operation) Result {
	return Result{Version: op.Version, Rows: op.Rows, Digest: op.Digest, Replayed: true}
}

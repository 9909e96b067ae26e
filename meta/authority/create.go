package authority

import (
	"context"
	"errors"
	"fmt"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta/appends"
	"github.com/lakeward/lake/meta/registry"
	"github.com/lakeward/lake/objects"
)

// A CreateRequest asks for a new table without rows.
type CreateRequest struct {
	Tenant    ident.Tenant
	Table     ident.Table
	Engine    string // "" is the default one
	Schema    []byte // Arrow IPC schema message, as the client sent it
	Operation ident.OperationID
}

// Create makes version 0 of a new incarnation and registers the name. The same
// operation, sent again, gets the table that it made (replayed); any other
// finds the name taken. An incarnation that a crash leaves without a name is
// never used again: its location holds no rows, and gc removes it.
func (a *Authority) Create(ctx context.Context, r CreateRequest) (reg registry.Registration, replayed bool, err error) {
	if err := r.Operation.CheckAge(a.now()); err != nil {
		return reg, false, err
	}
	name := r.Engine
	if name == "" {
		name = a.standard
	}
	e, err := a.engine(name)
	if err != nil {
		return reg, false, err
	}
	sent, err := engine.DecodeSchema(r.Schema)
	if err != nil {
		return reg, false, fault.Detail(engine.ErrSchema, "the schema of the new table does not decode: send an Arrow IPC schema message")
	}
	schema, next, err := engine.NewSchema(sent)
	if err != nil {
		return reg, false, err
	}
	if err := e.Check(schema); err != nil {
		return reg, false, err
	}
	digest := ident.CreateDigest(name, r.Schema)

	unlock, err := a.tables.lock(ctx, r.Table)
	if err != nil {
		return reg, false, err
	}
	defer unlock()

	switch old, err := a.registry.Lookup(ctx, r.Table); {
	case err == nil:
		reg, err = sameCreate(old, r.Operation, digest)
		return reg, err == nil, err
	case !errors.Is(err, registry.ErrNoTable):
		return reg, false, err
	}

	reg = registry.Registration{
		Table:       r.Table,
		Engine:      name,
		Schema:      engine.EncodeSchema(schema),
		NextFieldID: next,
		Tenant:      r.Tenant,
		CreatedBy:   r.Operation,
		CreatedFor:  digest,
		CreatedAt:   a.now(),
	}
	if reg.Incarnation, err = ident.NewIncarnation(); err != nil {
		return reg, false, err
	}
	attempt, err := ident.NewAttempt()
	if err != nil {
		return reg, false, err
	}
	at := objects.TableLocation(r.Table, reg.Incarnation)
	reg.Location = string(at)

	ctx, cancel := detached(ctx)
	defer cancel()
	reg.Version, err = e.Create(ctx, at, schema, engine.Op{Tenant: r.Tenant, ID: r.Operation, Digest: digest, Attempt: attempt})
	if err != nil {
		return reg, false, fmt.Errorf("create %s: %w", r.Table, err)
	}
	if err := a.registry.Create(ctx, reg); err != nil {
		// The name may be ours by a commit whose answer was lost.
		now, lerr := a.registry.Lookup(ctx, r.Table)
		switch {
		case lerr == nil && now.Incarnation == reg.Incarnation:
		case lerr == nil:
			return reg, false, tableExists(r.Table)
		default:
			return reg, false, fmt.Errorf("register %s: %w", r.Table, unknown(err))
		}
	}
	a.log.InfoContext(ctx, "table created", "table", r.Table.String(), "incarnation", reg.Incarnation, "op", r.Operation.String())
	// The registration that was stored, so that it can be a guard.
	reg, err = a.registry.Lookup(ctx, r.Table)
	return reg, false, err
}

// sameCreate is the answer to a create of a name that is taken.
func sameCreate(old registry.Registration, op ident.OperationID, digest ident.Digest) (registry.Registration, error) {
	switch {
	case old.CreatedBy != op:
		return registry.Registration{}, tableExists(old.Table)
	case old.CreatedFor != digest:
		return registry.Registration{}, fault.Detail(appends.ErrOtherInput,
			"operation %s created %s with another schema; use a new operation id, or leave out --create", op, old.Table)
	}
	return old, nil
}

func tableExists(t ident.Table) error {
	return fault.Detail(registry.ErrTableExists, "table %s already exists; choose another name, or load into it without --create", t)
}

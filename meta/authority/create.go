package authority

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

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

	// Incarnation and Placement are what Place gave out, if rows were staged
	// before the table is there; else both are empty.
	Incarnation ident.Incarnation
	Placement   []byte
}

// placementLife bounds how long rows are staged for a table that is not there.
const placementLife = 24 * time.Hour

var errPlacement = fault.New(fault.Stale, "the place of the new table is no longer held; send the rows again, with the same operation id")

// Create makes version 0 of a new incarnation and registers the name. The same
// operation, sent again, gets the table that it made (replayed); any other
// finds the name taken. An incarnation that a crash leaves without a name is
// never used again: its location holds no rows, and gc removes it.
func (a *Authority) Create(ctx context.Context, r CreateRequest) (reg registry.Registration, replayed bool, err error) {
	p, err := a.plan(r)
	if err != nil {
		return reg, false, err
	}
	unlock, err := a.tables.lock(ctx, r.Table)
	if err != nil {
		return reg, false, err
	}
	defer unlock()
	if reg, ok, err := a.created(ctx, p); ok || err != nil {
		return reg, ok, err
	}

	reg = p.reg
	if reg.Incarnation, err = a.incarnation(r); err != nil {
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
	reg.Version, err = p.engine.Create(ctx, at, p.schema, engine.Op{Tenant: r.Tenant, ID: r.Operation, Digest: reg.CreatedFor, Attempt: attempt})
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

// Place says where a create would put its table, and makes nothing: rows can be
// staged there, and are seen by nobody if their client goes away. The
// placement goes into the CreateRequest that follows. If this operation has
// created the table before, that one comes back, without a placement.
func (a *Authority) Place(ctx context.Context, r CreateRequest) (reg registry.Registration, placement []byte, err error) {
	p, err := a.plan(r)
	if err != nil {
		return reg, nil, err
	}
	if reg, ok, err := a.created(ctx, p); ok || err != nil {
		return reg, nil, err
	}
	reg = p.reg
	if reg.Incarnation, err = ident.NewIncarnation(); err != nil {
		return reg, nil, err
	}
	reg.Location = string(objects.TableLocation(r.Table, reg.Incarnation))
	return reg, a.placement(r.Table, reg.Incarnation), nil
}

// A plan is a create that has been checked, but for its name.
type plan struct {
	engine engine.Engine
	schema *arrow.Schema
	reg    registry.Registration // without incarnation and location
}

func (a *Authority) plan(r CreateRequest) (p plan, err error) {
	if err := r.Operation.CheckAge(a.now()); err != nil {
		return p, err
	}
	name := r.Engine
	if name == "" {
		name = a.standard
	}
	if p.engine, err = a.engine(name); err != nil {
		return p, err
	}
	sent, err := engine.DecodeSchema(r.Schema)
	if err != nil {
		return p, fault.Detail(engine.ErrSchema, "the schema of the new table does not decode: send an Arrow IPC schema message")
	}
	schema, next, err := engine.NewSchema(sent)
	if err != nil {
		return p, err
	}
	if err := p.engine.Check(schema); err != nil {
		return p, err
	}
	p.schema = schema
	p.reg = registry.Registration{
		Table:       r.Table,
		Engine:      name,
		Schema:      engine.EncodeSchema(schema),
		NextFieldID: next,
		Tenant:      r.Tenant,
		CreatedBy:   r.Operation,
		CreatedFor:  ident.CreateDigest(name, r.Schema),
		CreatedAt:   a.now(),
	}
	return p, nil
}

// created is the table that a create's own operation has made before; ok is
// false if the name is free.
func (a *Authority) created(ctx context.Context, p plan) (reg registry.Registration, ok bool, err error) {
	switch old, err := a.registry.Lookup(ctx, p.reg.Table); {
	case err == nil:
		reg, err = sameCreate(old, p.reg.CreatedBy, p.reg.CreatedFor)
		return reg, err == nil, err
	case !errors.Is(err, registry.ErrNoTable):
		return reg, false, err
	}
	return reg, false, nil
}

// incarnation is that of a new table: one that nobody knows yet, or the one
// that was placed for it.
func (a *Authority) incarnation(r CreateRequest) (ident.Incarnation, error) {
	if r.Incarnation == "" {
		return ident.NewIncarnation()
	}
	if !hmac.Equal(r.Placement, a.placement(r.Table, r.Incarnation)) || a.now().Sub(r.Incarnation.Time()) > placementLife {
		return "", errPlacement
	}
	return r.Incarnation, nil
}

// placement proves that Place gave out an incarnation for a name, in this
// process: no other is used, or one might be used again.
func (a *Authority) placement(t ident.Table, i ident.Incarnation) []byte {
	h := hmac.New(sha256.New, a.placing[:])
	fmt.Fprintf(h, "%s %s", t, i)
	return h.Sum(nil)
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

// Package registry maps table names to incarnations: where each lies, what its
// exact schema is, and which version readers see.
package registry

import (
	"context"
	"fmt"
	"time"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta"
	"github.com/lakeward/lake/meta/registry/registrypb"
)

// Errors of the registry.
var (
	ErrNoTable     = fault.New(fault.NotFound, "table does not exist")
	ErrTableExists = fault.New(fault.Exists, "table already exists")

	errRacing = fault.New(fault.Unavailable, "too many tables are being created at once; try again")
)

// Bounds on listing all tables.
const (
	TablesMax  = 20_000
	pageTables = 64
	racesMax   = 3
	// createRacesMax bounds how often other tables' creates may come between.
	createRacesMax = 100
	formatNumber   = 1
)

// A Registration is what a table name stands for.
type Registration struct {
	Table       ident.Table
	Incarnation ident.Incarnation
	Engine      string
	Location    string // in the object store
	Version     ident.Version
	Schema      []byte // Arrow IPC schema message, exact, with field ids
	NextFieldID int
	Tenant      ident.Tenant // who created it
	CreatedBy   ident.OperationID
	CreatedFor  ident.Digest // of what that operation asked for
	CreatedAt   time.Time    // milliseconds

	stored []byte // the record that this was read from
}

// Ref is the version that readers see.
func (r Registration) Ref() ident.Ref {
	return ident.Ref{Table: r.Table, Incarnation: r.Incarnation, Version: r.Version}
}

// A Registry is a view of a metastore.
type Registry struct{ store meta.Store }

// New returns the registry that lies in store.
func New(store meta.Store) *Registry { return &Registry{store} }

const (
	tablePrefix  = "table/"
	directoryKey = "directory"
)

func tableKey(t ident.Table) string { return tablePrefix + string(t.Namespace) + "/" + t.Name }

// Lookup returns a table's registration, or ErrNoTable.
func (r *Registry) Lookup(ctx context.Context, t ident.Table) (Registration, error) {
	b, err := r.store.Get(ctx, tableKey(t))
	if err != nil {
		return Registration{}, fmt.Errorf("look up %s: %w", t, err)
	}
	if b == nil {
		return Registration{}, fault.Detail(ErrNoTable, "table %s does not exist; `lake table ls` lists those that do", t)
	}
	return decode(t, b)
}

// Create registers a name that is free, and moves the directory's generation.
// A name that is taken, even a moment before, is ErrTableExists.
func (r *Registry) Create(ctx context.Context, reg Registration) error {
	b, err := encode(reg)
	if err != nil {
		return err
	}
	for range createRacesMax {
		directory, err := r.nextGeneration(ctx)
		if err != nil {
			return err
		}
		err = meta.Commit(ctx, r.store, directory, meta.Change{
			Guards: []meta.Pair{{Key: tableKey(reg.Table)}},
			Writes: []meta.Pair{{Key: tableKey(reg.Table), Value: b}},
		})
		if fault.KindOf(err) != fault.Conflict {
			return err
		}
		// Another table moved the generation, or somebody took the name.
		switch _, lerr := r.Lookup(ctx, reg.Table); fault.KindOf(lerr) {
		case fault.NotFound:
		default:
			if lerr != nil {
				return lerr
			}
			return ErrTableExists
		}
	}
	return errRacing
}

// Advance moves the version that readers see, if reg is still what it was
// when read.
func (r *Registry) Advance(reg Registration, to ident.Version) (meta.Change, error) {
	next := reg
	next.Version = to
	b, err := encode(next)
	if err != nil {
		return meta.Change{}, err
	}
	key := tableKey(reg.Table)
	return meta.Change{
		Guards: []meta.Pair{{Key: key, Value: reg.stored}},
		Writes: []meta.Pair{{Key: key, Value: b}},
	}, nil
}

// All returns every registration in order of name, and the directory's
// generation at which these were the tables. Their versions may be newer.
func (r *Registry) All(ctx context.Context) ([]Registration, uint64, error) {
	for range racesMax {
		before, _, err := r.generation(ctx)
		if err != nil {
			return nil, 0, err
		}
		regs, err := r.scan(ctx)
		if err != nil {
			return nil, 0, err
		}
		after, _, err := r.generation(ctx)
		if err != nil {
			return nil, 0, err
		}
		if before == after {
			return regs, after, nil
		}
	}
	return nil, 0, errRacing
}

func (r *Registry) scan(ctx context.Context) (regs []Registration, err error) {
	after := ""
	for {
		page, err := r.store.Scan(ctx, tablePrefix, after, pageTables)
		if err != nil {
			return nil, fmt.Errorf("list tables: %w", err)
		}
		for _, p := range page {
			ns, name, err := splitKey(p.Key)
			if err != nil {
				return nil, err
			}
			reg, err := decode(ident.Table{Namespace: ns, Name: name}, p.Value)
			if err != nil {
				return nil, err
			}
			regs = append(regs, reg)
			after = p.Key
		}
		if len(page) < pageTables {
			return regs, nil
		}
		if len(regs) > TablesMax {
			return nil, fault.Newf(fault.Exhausted, "there are more than %d tables, the most that are listed at once", TablesMax)
		}
	}
}

// Generation returns the directory's generation: it grows whenever the set of
// tables or a schema changes.
func (r *Registry) Generation(ctx context.Context) (uint64, error) {
	n, _, err := r.generation(ctx)
	return n, err
}

// generation returns the directory's generation and its stored record.
func (r *Registry) generation(ctx context.Context) (uint64, []byte, error) {
	b, err := r.store.Get(ctx, directoryKey)
	if err != nil {
		return 0, nil, fmt.Errorf("read the directory's generation: %w", err)
	}
	if b == nil {
		return 0, nil, nil
	}
	var d registrypb.Directory
	if err := meta.Decode("the directory record", formatNumber, b, &d); err != nil {
		return 0, nil, err
	}
	return d.GetGeneration(), b, nil
}

func (r *Registry) nextGeneration(ctx context.Context) (meta.Change, error) {
	n, stored, err := r.generation(ctx)
	if err != nil {
		return meta.Change{}, err
	}
	b, err := meta.Encode(formatNumber, &registrypb.Directory{Generation: n + 1})
	if err != nil {
		return meta.Change{}, err
	}
	return meta.Change{
		Guards: []meta.Pair{{Key: directoryKey, Value: stored}},
		Writes: []meta.Pair{{Key: directoryKey, Value: b}},
	}, nil
}

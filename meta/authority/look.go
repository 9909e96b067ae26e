package authority

import (
	"context"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta/registry"
)

var errNoHistory = fault.New(fault.Unsupported, "the engine of this table keeps no history; ask for the table itself")

// Contents is how much a version of a table holds.
type Contents struct {
	Rows  int64 // -1 if another writer of the table has not said it
	Files int64
	Bytes int64
}

// Contents returns a table and how much its present version holds, as its
// metadata says.
func (a *Authority) Contents(ctx context.Context, t ident.Table) (reg registry.Registration, c Contents, err error) {
	if reg, err = a.registry.Lookup(ctx, t); err != nil {
		return reg, c, err
	}
	table, err := a.table(reg)
	if err != nil {
		return reg, c, err
	}
	s, err := table.Snapshot(ctx, reg.Version)
	if err != nil {
		return reg, c, err
	}
	scan, err := s.Scan(ctx)
	if err != nil {
		return reg, c, err
	}
	for _, f := range scan.Files {
		c.Files++
		c.Bytes += f.Bytes
		if c.Rows >= 0 && f.Rows >= 0 {
			c.Rows += f.Rows
		} else {
			c.Rows = -1
		}
	}
	return reg, c, nil
}

// History returns what made a table's newest versions, newest first.
func (a *Authority) History(ctx context.Context, t ident.Table, limit int) ([]engine.Change, error) {
	reg, err := a.registry.Lookup(ctx, t)
	if err != nil {
		return nil, err
	}
	table, err := a.table(reg)
	if err != nil {
		return nil, err
	}
	h, ok := table.(engine.Historian)
	if !ok {
		return nil, errNoHistory
	}
	return h.History(ctx, reg.Version, limit)
}

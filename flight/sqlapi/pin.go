package sqlapi

import (
	"context"
	"errors"
	"fmt"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/tickets"
	"github.com/lakeward/lake/ident"
)

// pin fixes the tables of a statement: what each name stands for now, or what
// it stood for in the version that the statement asks for.
func (s *Server) pin(ctx context.Context, sql string) ([]tickets.Pin, error) {
	refs, err := s.exec.Tables(ctx, sql)
	if err != nil {
		return nil, err
	}
	if len(refs) > TablesMax {
		return nil, fault.Newf(fault.Exhausted, "the statement names %d tables, more than the %d of one statement; split it", len(refs), TablesMax)
	}
	pins := make([]tickets.Pin, len(refs))
	for i, r := range refs {
		reg, err := s.catalog.Resolve(ctx, r.Table)
		if err != nil {
			return nil, err
		}
		pins[i] = tickets.Pin{
			Namespace: r.Table.Namespace, Name: r.Table.Name, Incarnation: reg.Incarnation,
			Engine: reg.Engine, Location: reg.Location, Version: reg.Version, At: string(r.At),
		}
		if r.At != "" {
			if pins[i].Version, err = s.travel(ctx, pins[i], r.At); err != nil {
				return nil, err
			}
		}
	}
	return pins, nil
}

// travel returns the version of a pinned table that a statement asks for, one
// that is published and still there.
func (s *Server) travel(ctx context.Context, p tickets.Pin, at engine.At) (ident.Version, error) {
	table, err := s.table(p)
	if err != nil {
		return 0, err
	}
	v, byNumber := at.Version()
	if !byNumber {
		t, ok := at.Time()
		line, can := table.(engine.Timeline)
		if !ok || !can {
			return 0, fault.Newf(fault.Unsupported, "tables of engine %s do not say when their versions were made; ask for one with AT (VERSION => n)", p.Engine)
		}
		if v, err = line.VersionAt(ctx, p.Version, t); err != nil {
			return 0, fmt.Errorf("find version of %s at %s: %w", p.Table(), at, err)
		}
	}
	if v <= p.Version {
		_, err = table.Snapshot(ctx, v)
	}
	switch {
	case v > p.Version:
		return 0, fault.Newf(fault.NotFound, "table %s has no version %d; its newest is %d, and lake table history lists the others", p.Table(), v, p.Version)
	case errors.Is(err, engine.ErrNoVersion):
		return 0, fault.Newf(fault.NotFound, "version %d of table %s is no longer kept; lake table history lists those that are", v, p.Table())
	case err != nil:
		return 0, fmt.Errorf("open %s version %d: %w", p.Table(), v, err)
	}
	return v, nil
}

// bind gives a query the pinned snapshots, never newer ones.
func (s *Server) bind(ctx context.Context, q engine.Query, pins []tickets.Pin) (engine.Query, error) {
	q.Tables = make([]engine.Binding, len(pins))
	for i, p := range pins {
		scan, err := s.scan(ctx, p)
		if err != nil {
			return q, fmt.Errorf("open %s version %d: %w", p.Table(), p.Version, err)
		}
		q.Tables[i] = engine.Binding{Table: p.Table(), At: engine.At(p.At), Scan: scan}
	}
	return q, nil
}

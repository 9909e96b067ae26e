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
		if r.Table.Namespace == engine.InformationSchema {
			d, err := s.catalog.Directory(ctx)
			if err != nil {
				return nil, err
			}
			pins[i] = tickets.Pin{Namespace: r.Table.Namespace, Name: r.Table.Name, Version: ident.Version(d.Generation)}
			continue
		}
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
	for _, p := range pins {
		if p.Namespace == engine.InformationSchema {
			if err := s.list(ctx, &q, p); err != nil {
				return q, err
			}
			continue
		}
		scan, err := s.scan(ctx, p)
		if err != nil {
			return q, fmt.Errorf("open %s version %d: %w", p.Table(), p.Version, err)
		}
		q.Tables = append(q.Tables, engine.Binding{Table: p.Table(), At: engine.At(p.At), Scan: scan})
	}
	return q, nil
}

var errListing = fault.New(fault.Stale, "tables have been created or changed since the statement was planned; ask for its FlightInfo again")

// list gives a query the directory of the generation that was pinned. A
// listing of another one would be of other tables than were planned.
func (s *Server) list(ctx context.Context, q *engine.Query, p tickets.Pin) error {
	d, err := s.catalog.Directory(ctx)
	if err != nil {
		return err
	}
	if ident.Version(d.Generation) != p.Version {
		return errListing
	}
	if q.Directory != nil {
		return nil
	}
	q.Directory = make([]engine.Listed, len(d.Tables))
	for i, r := range d.Tables {
		schema, err := engine.DecodeSchema(r.Schema)
		if err != nil {
			return fmt.Errorf("list table %s: %w", r.Table, err)
		}
		q.Directory[i] = engine.Listed{Table: r.Table, Schema: schema}
	}
	return nil
}

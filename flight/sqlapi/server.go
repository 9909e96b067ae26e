// Package sqlapi is what clients of a Query replica talk to: Flight SQL
// queries answered from exact snapshots, ingests, whose rows it stages, and
// lake's own actions and appends, which it hands on to Metasrv.
package sqlapi

import (
	"context"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"golang.org/x/sync/semaphore"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/flight/tickets"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta/registry"
)

// TablesMax bounds the tables of one statement.
const TablesMax = 64

// executor is what runs statements: engine/exec, which the role passes.
type executor interface {
	// Tables parses and gates a statement and returns the tables it names, and
	// in which versions.
	Tables(ctx context.Context, sql string) ([]engine.Reference, error)
	// Describe returns what is known of a query before it runs.
	Describe(ctx context.Context, q engine.Query) (engine.Description, error)
	// Query runs a query.
	Query(ctx context.Context, q engine.Query) (engine.Rows, error)
}

// resolver is what fixing a statement's snapshots needs from the catalog.
type resolver interface {
	Resolve(ctx context.Context, t ident.Table) (registry.Registration, error)
	Invalidate(t ident.Table)
	directory
}

// authority is Metasrv, to which changes go.
type authority interface {
	Forward(ctx context.Context, a *arrowflight.Action, each func(*arrowflight.Result) error) error
	ForwardPut(ctx context.Context, first *arrowflight.FlightData, next func() (*arrowflight.FlightData, error), each func(*arrowflight.PutResult) error) error
	writer
}

// Options of a Server.
type Options struct {
	Tenant     ident.Tenant  // of every caller, while there are no identities
	Version    string        // of the server, as clients see it
	TicketLife time.Duration // default tickets.LifeDefault
	Now        func() time.Time
}

// A Server is the Flight service of a Query replica.
type Server struct {
	arrowflight.BaseFlightServer
	exec    executor
	catalog resolver
	meta    authority
	keys    *tickets.Keyring
	engines map[string]engine.Engine
	tools   arrowflight.FlightServer // answers discovery
	running running
	ingests *semaphore.Weighted
	o       Options
}

// NewServer returns the service. It keeps no state of its own: a ticket holds
// all that its answer needs.
func NewServer(exec executor, catalog resolver, meta authority, keys *tickets.Keyring, engines []engine.Engine, o Options) (*Server, error) {
	d, err := newDiscovery(catalog, o.Version)
	if err != nil {
		return nil, err
	}
	s := &Server{tools: flightsql.NewFlightServer(d), exec: exec, catalog: catalog, meta: meta, keys: keys, engines: map[string]engine.Engine{}, ingests: semaphore.NewWeighted(ingestSlots), o: o}
	for _, e := range engines {
		s.engines[e.Name()] = e
	}
	if s.o.TicketLife == 0 {
		s.o.TicketLife = tickets.LifeDefault
	}
	if s.o.Now == nil {
		s.o.Now = time.Now
	}
	return s, nil
}

// Package authority is the one writer of a lake: it orders the changes of each
// table, places new tables, and carries a create or an append from its first
// record to the commit that publishes it.
package authority

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"time"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/meta"
	"github.com/lakeward/lake/meta/registry"
	"github.com/lakeward/lake/objects"
)

// Errors of the authority.
var (
	// ErrReplaced says that a change was prepared for an earlier incarnation.
	ErrReplaced = fault.New(fault.Stale, "the table was dropped and created again since; start over with a new operation id")

	// ErrOutcomeUnknown says that the metastore did not answer a commit. The
	// same operation id, sent again, finds what became of it.
	ErrOutcomeUnknown = fault.New(fault.Unavailable, "whether the change was made is not known; send it again with the same operation id")

	errNoEngine = fault.New(fault.Unsupported, "this server does not have that table engine; leave the engine out to use the default")
)

// settleTimeout bounds the work that goes on when a caller has gone away in
// the middle of a change.
const settleTimeout = time.Minute

// Options of an Authority. The zero value is useful.
type Options struct {
	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default: none
}

// An Authority makes changes. Only one may be at work on a metastore.
type Authority struct {
	store    meta.Store
	registry *registry.Registry
	engines  map[string]engine.Engine
	standard string // the engine of tables that ask for none
	tables   locks
	placing  [32]byte // key of placements, of this process
	now      func() time.Time
	log      *slog.Logger
}

// New returns an authority over a metastore. The first engine is the one that
// new tables get when their creator does not say.
func New(store meta.Store, engines []engine.Engine, o Options) *Authority {
	a := &Authority{
		store:    store,
		registry: registry.New(store),
		engines:  map[string]engine.Engine{},
		standard: engines[0].Name(),
		now:      o.Now,
		log:      o.Logger,
	}
	for _, e := range engines {
		a.engines[e.Name()] = e
	}
	_, _ = rand.Read(a.placing[:]) // never fails
	if a.now == nil {
		a.now = time.Now
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	return a
}

// Registry is the authority's view of what there is.
func (a *Authority) Registry() *registry.Registry { return a.registry }

func (a *Authority) engine(name string) (engine.Engine, error) {
	e, ok := a.engines[name]
	if !ok {
		return nil, fmt.Errorf("engine %q: %w", name, errNoEngine)
	}
	return e, nil
}

// table returns the engine's table of a registration.
func (a *Authority) table(reg registry.Registration) (engine.Table, error) {
	e, err := a.engine(reg.Engine)
	if err != nil {
		return nil, err
	}
	at, err := objects.ParseLocation(reg.Location)
	if err != nil {
		return nil, fault.Newf(fault.Corrupt, "the registration of %s has a location that is not valid; restore the metastore from a backup", reg.Table)
	}
	return e.Table(at), nil
}

// unknown classifies the error of a metadata commit: one that the store did
// not refuse may have happened.
func unknown(err error) error {
	switch fault.KindOf(err) {
	case fault.Internal, fault.Unavailable, fault.Deadline, fault.Canceled:
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	return err
}

// detached returns a context that outlives the caller's: a change that has
// begun is brought to an end that its record knows.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
}

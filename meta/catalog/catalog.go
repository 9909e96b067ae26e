// Package catalog is the read side of the registry: registrations that Query
// replicas keep for a short while, so that authority stays off a warm path.
package catalog

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta/registry"
)

// A Source is where registrations come from.
type Source interface {
	// Table returns the present registration of a table, or an error of kind
	// NotFound.
	Table(ctx context.Context, t ident.Table) (registry.Registration, error)

	// Directory returns all tables, or the one known if its generation is
	// still the present one.
	Directory(ctx context.Context, known *Directory) (*Directory, error)
}

// Options of a Cache. The zero value is useful.
type Options struct {
	TTL      time.Duration    // a reader is at most this stale; default 2 s
	StaleMax time.Duration    // entries serve this long while no leader answers; default 10 min
	Tables   int              // kept at most; default 10 000
	ListTTL  time.Duration    // a listing is at most this stale; default 5 s
	Now      func() time.Time // default time.Now
}

// A Cache answers which registration a table name stands for.
type Cache struct {
	source Source
	o      Options
	kept   *otter.Cache[ident.Table, entry]
	loads  singleflight.Group
	epoch  atomic.Uint64 // grows with every Invalidate
	stale  atomic.Int64

	mu        sync.Mutex
	directory listing // the last good one
}

type entry struct {
	reg registry.Registration
	at  time.Time // when the source was asked
}

// New returns an empty cache over source.
func New(source Source, o Options) (*Cache, error) {
	if o.TTL == 0 {
		o.TTL = 2 * time.Second
	}
	if o.StaleMax == 0 {
		o.StaleMax = 10 * time.Minute
	}
	if o.ListTTL == 0 {
		o.ListTTL = 5 * time.Second
	}
	if o.Tables == 0 {
		o.Tables = 10_000
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	kept, err := otter.New(&otter.Options[ident.Table, entry]{MaximumSize: o.Tables})
	if err != nil {
		return nil, err
	}
	return &Cache{source: source, o: o, kept: kept}, nil
}

// Resolve returns a table's registration, at most TTL old, or older while no
// leader answers.
func (c *Cache) Resolve(ctx context.Context, t ident.Table) (registry.Registration, error) {
	e, ok := c.kept.GetIfPresent(t)
	if ok && c.age(e) < c.o.TTL {
		return e.reg, nil
	}
	reg, err := c.load(ctx, t)
	switch fault.KindOf(err) {
	case fault.NotFound:
		c.kept.Invalidate(t)
	case fault.Unavailable, fault.Deadline:
		// A caller whose own time is up gets its own error.
		if ok && err != nil && ctx.Err() == nil && c.age(e) < c.o.StaleMax {
			c.stale.Add(1)
			return e.reg, nil
		}
	}
	return reg, err
}

func (c *Cache) age(e entry) time.Duration { return c.o.Now().Sub(e.at) }

// load asks the source, once for all who wait. An answer that was asked for
// before an Invalidate is neither kept nor given to who comes after it.
func (c *Cache) load(ctx context.Context, t ident.Table) (registry.Registration, error) {
	epoch := c.epoch.Load()
	key := t.String() + "@" + strconv.FormatUint(epoch, 10)
	answer := c.loads.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
		defer cancel()
		at := c.o.Now()
		reg, err := c.source.Table(ctx, t)
		if err == nil && c.epoch.Load() == epoch {
			c.kept.Set(t, entry{reg, at})
		}
		return reg, err
	})
	select {
	case r := <-answer:
		return r.Val.(registry.Registration), r.Err
	case <-ctx.Done():
		return registry.Registration{}, ctx.Err()
	}
}

// loadTimeout bounds one question to the source.
const loadTimeout = 10 * time.Second

// Invalidate makes the next Resolve of a table ask the source. A change that
// this process has seen acknowledged is called with it before its own answer.
func (c *Cache) Invalidate(t ident.Table) {
	c.epoch.Add(1)
	c.kept.Invalidate(t)
}

// StaleServed is how often an entry was served past its time for want of a
// leader.
func (c *Cache) StaleServed() int64 { return c.stale.Load() }

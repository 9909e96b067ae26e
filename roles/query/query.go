// Package query assembles the role that answers SQL.
package query

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"google.golang.org/grpc"

	"github.com/lakeward/lake/config"
	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/delta"
	"github.com/lakeward/lake/engine/exec"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight"
	"github.com/lakeward/lake/flight/control"
	"github.com/lakeward/lake/flight/sqlapi"
	"github.com/lakeward/lake/flight/tickets"
	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta/catalog"
	"github.com/lakeward/lake/objects"
	"github.com/lakeward/lake/objects/local"
	"github.com/lakeward/lake/roles"
)

// joinEvery is how often a replica asks for a Metasrv that is not there yet.
const joinEvery = 200 * time.Millisecond

var errOtherLake = fault.New(fault.Stale, "the root given here belongs to another lake than the metadata server's; give the --root that it uses")

// A Replica is an assembled role.
type Replica struct {
	root   *local.Store
	pool   *exec.Pool
	conn   *grpc.ClientConn
	meta   *control.Client
	server *flight.Server
	log    *slog.Logger
}

// Open starts the workers and listens. meta is the URI of Metasrv. Close
// the replica, also after its stages have run.
func Open(ctx context.Context, cfg config.Config, meta, version string, log *slog.Logger) (r *Replica, err error) {
	r = &Replica{log: log}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return r, fmt.Errorf("make %s: %w", cfg.Dir, err)
	}
	if r.root, err = local.Open(cfg.Root, local.Options{}); err != nil {
		return r, err
	}
	r.pool, err = exec.Open(ctx, exec.Options{
		Dir:         cfg.Dir,
		Slots:       cfg.Query.Slots,
		Warm:        cfg.Query.Warm,
		Threads:     cfg.Query.Threads,
		MemoryBytes: cfg.Query.MemoryBytes,
		SpillBytes:  cfg.Query.SpillBytes,
		QueueWait:   cfg.Query.QueueWait,
		DeadlineMax: cfg.Query.Deadline,
		Place:       r.root.Link,
		Logger:      log,
	})
	if err != nil {
		return r, err
	}
	if r.conn, err = wire.Dial(meta); err != nil {
		return r, err
	}
	r.meta = control.NewClient(r.conn)
	cache, err := catalog.New(r.meta, catalog.Options{TTL: cfg.Query.CatalogTTL})
	if err != nil {
		return r, err
	}
	keys, err := tickets.NewEphemeral(nil)
	if err != nil {
		return r, err
	}
	l, err := flight.Listen(cfg.Query.Flight)
	if err != nil {
		return r, err
	}
	engines := []engine.Engine{delta.New(r.root, delta.Options{Version: version, RowGroupBytes: sqlapi.RowGroupBytes})}
	service, err := sqlapi.NewServer(r.pool, cache, r.meta, keys, engines, sqlapi.Options{
		Tenant:     ident.DevTenant,
		Version:    version,
		TicketLife: cfg.Query.TicketLife,
	})
	if err != nil {
		return r, errors.Join(err, l.Close())
	}
	r.server = flight.NewServer(l, service, log)
	return r, nil
}

// URI is where the role serves.
func (r *Replica) URI() string { return r.server.URI() }

// Stages are the parts of the role, in the order of their start.
func (r *Replica) Stages() []roles.Stage {
	return []roles.Stage{
		{Name: "join", Run: r.join},
		{Name: "query", Run: r.server.Serve},
	}
}

// join waits for Metasrv and makes sure that both have the same lake.
func (r *Replica) join(ctx context.Context, up func()) error {
	tick := time.NewTicker(joinEvery)
	defer tick.Stop()
	for {
		theirs, err := r.meta.Lake(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case fault.KindOf(err) == fault.Unavailable:
			r.log.DebugContext(ctx, "metadata server not there yet", "err", err)
		case err != nil:
			return err
		default:
			ours, err := objects.Lake(ctx, r.root)
			if err != nil {
				return err
			}
			if ours != theirs {
				return errOtherLake
			}
			up()
			<-ctx.Done()
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Close stops the workers and lets go of everything that Open took.
func (r *Replica) Close() error {
	var errs []error
	if r.server != nil {
		errs = append(errs, r.server.Close())
	}
	if r.conn != nil {
		errs = append(errs, r.conn.Close())
	}
	if r.pool != nil {
		errs = append(errs, r.pool.Close())
	}
	if r.root != nil {
		errs = append(errs, r.root.Close())
	}
	return errors.Join(errs...)
}

// Package meta assembles the role that owns tables and versions.
package meta

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/lakeward/lake/config"
	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/delta"
	"github.com/lakeward/lake/flight"
	"github.com/lakeward/lake/flight/control"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta/appends"
	"github.com/lakeward/lake/meta/authority"
	"github.com/lakeward/lake/meta/bolt"
	"github.com/lakeward/lake/objects"
	"github.com/lakeward/lake/objects/local"
	"github.com/lakeward/lake/roles"
)

// expireEvery is how often the records of operations past their retention are
// deleted.
const expireEvery = time.Hour

// A Metasrv is an assembled role.
type Metasrv struct {
	store  *bolt.Store
	root   *local.Store
	server *flight.Server
	log    *slog.Logger
}

// Open takes the metastore's file and the root of the object store, which it
// makes a lake if both are new, and listens. Close it, also after its stages
// have run.
func Open(ctx context.Context, cfg config.Config, version string, log *slog.Logger) (m *Metasrv, err error) {
	m = &Metasrv{log: log}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Close())
		}
	}()
	for _, dir := range []string{cfg.Dir, cfg.Root} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return m, fmt.Errorf("make %s: %w", dir, err)
		}
	}
	if m.store, err = bolt.Open(filepath.Join(cfg.Dir, "meta.db"), bolt.Options{NoSync: cfg.UnsafeNoFsync}); err != nil {
		return m, err
	}
	if m.root, err = local.Open(cfg.Root, local.Options{NoSync: cfg.UnsafeNoFsync}); err != nil {
		return m, err
	}
	lake, err := objects.MakeLake(ctx, m.root)
	if err != nil {
		return m, err
	}
	engines := []engine.Engine{delta.New(m.root, delta.Options{Version: version})}
	a := authority.New(m.store, engines, authority.Options{Logger: log})
	if err := a.Registry().BindRoot(ctx, lake); err != nil {
		return m, err
	}
	abs, err := filepath.Abs(cfg.Root)
	if err != nil {
		return m, err
	}
	l, err := flight.Listen(cfg.Meta.Listen)
	if err != nil {
		return m, err
	}
	service := control.NewServer(a, control.Options{
		Tenant: ident.DevTenant,
		Root:   (&url.URL{Scheme: "file", Path: filepath.ToSlash(abs)}).String(),
		Lake:   lake,
	})
	m.server = flight.NewServer(l, service, log)
	return m, nil
}

// URI is where the role serves.
func (m *Metasrv) URI() string { return m.server.URI() }

// Stages are the parts of the role, in the order of their start.
func (m *Metasrv) Stages() []roles.Stage {
	return []roles.Stage{
		{Name: "expire", Run: m.expire},
		{Name: "meta", Run: m.server.Serve},
	}
}

// expire deletes old operation records from time to time.
func (m *Metasrv) expire(ctx context.Context, up func()) error {
	up()
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	for {
		n, err := appends.Expire(ctx, m.store, time.Now().Add(-ident.OperationRetention))
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			m.log.WarnContext(ctx, "operation records not expired", "err", err)
		case n > 0:
			m.log.InfoContext(ctx, "operation records expired", "records", n)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Close lets go of everything that Open took.
func (m *Metasrv) Close() error {
	var errs []error
	if m.server != nil {
		errs = append(errs, m.server.Close())
	}
	if m.root != nil {
		errs = append(errs, m.root.Close())
	}
	if m.store != nil {
		errs = append(errs, m.store.Close())
	}
	return errors.Join(errs...)
}

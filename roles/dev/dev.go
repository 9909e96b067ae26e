// Package dev runs several roles in one process.
package dev

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/lakeward/lake/config"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/roles"
	"github.com/lakeward/lake/roles/meta"
	"github.com/lakeward/lake/roles/query"
)

// The roles there are.
const (
	Query = "query"
	Meta  = "meta"
)

// All are the roles of `lake dev`.
func All() []string { return []string{Query, Meta} }

// Run runs the roles until ctx ends or one fails. Roles of one process talk to
// each other as they do between processes, over loopback.
func Run(ctx context.Context, cfg config.Config, names []string, version string, log *slog.Logger) (err error) {
	for _, n := range names {
		if !slices.Contains(All(), n) {
			return fault.Newf(fault.Invalid, "there is no role %.40q; the roles are query and meta", n)
		}
	}
	ready := roles.Ready{PID: os.Getpid()}
	var stages []roles.Stage
	if slices.Contains(names, Meta) {
		m, err := meta.Open(ctx, cfg, version, log)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, m.Close()) }()
		ready.Meta = m.URI()
		stages = append(stages, m.Stages()...)
	}
	if slices.Contains(names, Query) {
		uri, err := metaURI(cfg, ready.Meta)
		if err != nil {
			return err
		}
		q, err := query.Open(ctx, cfg, uri, version, log)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, q.Close()) }()
		ready.Flight = q.URI()
		stages = append(stages, q.Stages()...)
	}
	if len(stages) == 0 {
		return fault.New(fault.Invalid, "no role was named; give --role=query, --role=meta, or both")
	}
	for _, n := range All() {
		if slices.Contains(names, n) {
			ready.Roles = append(ready.Roles, n)
		}
	}
	files := []string{filepath.Join(cfg.Dir, "run", "ready.json")}
	if cfg.ReadyFile != "" {
		files = append(files, cfg.ReadyFile)
	}
	stages = append(stages, roles.Announce(func() roles.Ready {
		log.InfoContext(ctx, "serving", "roles", ready.Roles, "flight", ready.Flight, "meta", ready.Meta)
		return ready
	}, files...))
	return roles.Run(ctx, cfg.Grace, stages...)
}

// metaURI is where a Query role finds Metasrv: in this process, or where the
// configuration says.
func metaURI(cfg config.Config, own string) (string, error) {
	switch n := len(cfg.Query.Meta); {
	case own != "" && n > 0:
		return "", fault.New(fault.Invalid, "--meta names metadata servers, and this process is to be one; leave out one of the two")
	case own != "":
		return own, nil
	case n == 0:
		return "", fault.New(fault.Invalid, "a query role needs a metadata server; give --meta host:port, or --role=query,meta")
	case n > 1:
		return "", fault.New(fault.Unsupported, "more than one metadata server is not supported yet; give one --meta host:port")
	}
	return "grpc://" + cfg.Query.Meta[0], nil
}

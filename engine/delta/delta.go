// Package delta keeps tables in the Delta Lake format: a log of JSON commits and
// immutable Parquet files, which Spark, Trino, delta-rs and DuckDB read as well.
// DESIGN.md has its rules.
package delta

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/uuid"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/objects"
)

// Name is the engine's name in registrations.
const Name = "delta"

// Defaults of Options.
const (
	fileBytesDefault      = 1 << 30
	rowGroupRowsDefault   = 122_880
	rowGroupBytesDefault  = 256 << 20
	cachedFilesMaxDefault = 1 << 18
)

// Options of an Engine. The zero value is useful.
type Options struct {
	// Version of lake, for the engineInfo of commits.
	Version string

	// Clock gives the time of commits; time.Now if nil.
	Clock func() time.Time

	// Columns is how many columns of a row group are encoded at a time; the
	// number of processors if zero.
	Columns int

	// FileBytes is the size at which Stage begins another file; 1 GiB if zero.
	FileBytes int64

	// RowGroupRows and RowGroupBytes end a row group: 122,880 rows, which is
	// the executor's unit of parallel work, or 256 MiB of Arrow data if zero.
	// Stage holds two row groups in memory.
	RowGroupRows  int64
	RowGroupBytes int64

	// CachedFiles bounds the snapshots that are kept in memory, in data files
	// of all of them; 262,144 if zero, which is some hundred megabytes.
	CachedFiles int
}

// Engine is the engine.Engine of Delta tables.
type Engine struct {
	store objects.Store
	o     Options
	cache *stateCache
}

// New returns the engine of the tables in a store.
func New(store objects.Store, o Options) *Engine {
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Columns <= 0 {
		o.Columns = runtime.GOMAXPROCS(0)
	}
	if o.FileBytes <= 0 {
		o.FileBytes = fileBytesDefault
	}
	if o.RowGroupRows <= 0 {
		o.RowGroupRows = rowGroupRowsDefault
	}
	if o.RowGroupBytes <= 0 {
		o.RowGroupBytes = rowGroupBytesDefault
	}
	if o.CachedFiles <= 0 {
		o.CachedFiles = cachedFilesMaxDefault
	}
	return &Engine{store: store, o: o, cache: newStateCache(o.CachedFiles)}
}

// Name implements engine.Engine.
func (e *Engine) Name() string { return Name }

// Check implements engine.Engine.
func (e *Engine) Check(schema *arrow.Schema) error {
	for _, f := range schema.Fields() {
		if _, err := storedField(f); err != nil {
			return err
		}
	}
	return nil
}

// errTaken says that a location holds a table.
var errTaken = fault.New(fault.Exists, "the location already holds a table")

// Create implements engine.Engine. An attempt that is made again finds its own
// commit, which is then no error.
func (e *Engine) Create(ctx context.Context, at objects.Location, schema *arrow.Schema, op engine.Op) (ident.Version, error) {
	text, ntz, err := encodeSchema(schema)
	if err != nil {
		return 0, err
	}
	p := protocol{MinReader: 1, MinWriter: 2}
	if ntz {
		p = protocol{
			MinReader: 3, MinWriter: 7,
			ReaderFeatures: []string{featureNTZ},
			WriterFeatures: []string{"appendOnly", "invariants", featureNTZ},
		}
	}
	id, err := uuid.NewRandom()
	if err != nil {
		return 0, fmt.Errorf("name a table: %w", err)
	}
	t := &table{e, at}
	now := e.o.Clock().UnixMilli()
	body := encodeCommit(
		action{CommitInfo: e.info(now, "CREATE TABLE", nil, op)},
		action{Protocol: &p},
		action{MetaData: &metaData{
			ID:               id.String(),
			Format:           format{Provider: "parquet", Options: map[string]string{}},
			SchemaString:     text,
			PartitionColumns: []string{},
			Configuration:    map[string]string{},
			CreatedTime:      now,
		}},
	)
	// A log may be there without its version 0.
	if found, err := e.store.List(ctx, at.Join(logDir)+"/", "", 1); err != nil {
		return 0, fmt.Errorf("create %s: %w", at, err)
	} else if len(found) > 0 && found[0].Name != t.commitName(0) {
		return 0, errTaken
	}
	switch won, err := t.put(ctx, 0, body, op.Attempt); {
	case err != nil:
		return 0, fmt.Errorf("create %s: %w", at, err)
	case won != nil:
		return 0, errTaken
	}
	return 0, nil
}

// info is the commitInfo of our commits.
func (e *Engine) info(ms int64, operation string, parameters map[string]string, op engine.Op) *commitInfo {
	return &commitInfo{
		Timestamp:  ms,
		Operation:  operation,
		Parameters: parameters,
		EngineInfo: "lake/" + e.o.Version,
		TxnID:      string(op.Attempt),
		Blind:      true,
		Lake: &evidence{
			Format: evidenceFormat,
			Tenant: string(op.Tenant),
			Op:     op.ID.String(),
			Digest: op.Digest.String(),
		},
	}
}

// Table implements engine.Engine.
func (e *Engine) Table(at objects.Location) engine.Table { return &table{e, at} }

// table is one incarnation of a table.
type table struct {
	e  *Engine
	at objects.Location
}

// Snapshot implements engine.Table.
func (t *table) Snapshot(ctx context.Context, v ident.Version) (engine.Snapshot, error) {
	s, err := t.state(ctx, v)
	if err != nil {
		return nil, fmt.Errorf("snapshot %d of %s: %w", v, t.at, err)
	}
	if err := s.readable(); err != nil {
		return nil, fmt.Errorf("snapshot %d of %s: %w", v, t.at, err)
	}
	return snapshot{s}, nil
}

// Find implements engine.Table.
func (t *table) Find(ctx context.Context, base ident.Version, id ident.OperationID) (ident.Version, bool, error) {
	want := id.String()
	for v := base + 1; ; v++ {
		c, err := t.readCommit(ctx, v)
		if errors.Is(err, objects.ErrNotFound) {
			return 0, false, nil
		}
		if err != nil {
			return 0, false, fmt.Errorf("find an operation in %s: %w", t.at, err)
		}
		if l := c.info.Lake; l != nil && l.Op == want {
			if l.Format != evidenceFormat {
				return 0, false, fmt.Errorf("find an operation in %s: %w", t.at,
					fault.Newf(fault.Unsupported, "version %d was written by a newer lake (evidence format %d); upgrade this one", v, l.Format))
			}
			return v, true, nil
		}
	}
}

// snapshot implements engine.Snapshot.
type snapshot struct{ s *state }

func (s snapshot) Version() ident.Version { return s.s.version }

func (s snapshot) Scan(context.Context) (engine.Scan, error) {
	return engine.Scan{Columns: s.s.columns, Files: s.s.dataFiles()}, nil
}

package sqlapi

import (
	"context"
	"fmt"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	flightgen "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"golang.org/x/sync/semaphore"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/rpcerr"
	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/flight/wire/wirepb"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta/registry"
	"github.com/lakeward/lake/objects"
)

// Bounds on ingests: how many at once, and how long one more waits. Each has
// two row groups in memory, of RowGroupBytes at most.
const (
	ingestSlots   = 4
	ingestWait    = 30 * time.Second
	RowGroupBytes = 64 << 20
)

var (
	errIngests   = fault.Newf(fault.Exhausted, "%d ingests are under way, the most at once; try again in a moment", ingestSlots)
	errReplace   = fault.New(fault.Unsupported, "this server cannot drop tables yet, so it replaces none; ingest with mode create into another name, or append")
	errTemporary = fault.New(fault.Unsupported, "there are no temporary tables; ingest into a table of a name of its own")
	errMode      = fault.New(fault.Invalid, "the ingest does not say what to do if the table exists, and if it does not; use one of the modes create, append and create_append")
)

// An ingest is what a CommandStatementIngest asks for.
type ingest struct {
	table     ident.Table
	op        ident.OperationID
	create    bool // if the table does not exist
	append    bool // if it exists
	operation bool // op is the client's, so it may have been applied before
}

func parseIngest(cmd *flightgen.CommandStatementIngest) (r ingest, err error) {
	if len(cmd.GetTransactionId()) > 0 {
		return r, errTransaction
	}
	if cmd.GetTemporary() {
		return r, errTemporary
	}
	if c := cmd.GetCatalog(); c != "" && c != ident.Catalog {
		return r, fault.Newf(fault.NotFound, "there is no catalog %.80q; the one there is, is %s: leave it out", c, ident.Catalog)
	}
	namespace := cmd.GetSchema()
	if namespace == "" {
		namespace = string(ident.DefaultNamespace)
	}
	if r.table, err = ident.NewTable(namespace, cmd.GetTable()); err != nil {
		return r, err
	}
	for name, value := range cmd.GetOptions() {
		if name != wire.OperationOption {
			return r, fault.Newf(fault.Unsupported, "an ingest has no option %.80q; the one there is, is %s", name, wire.OperationOption)
		}
		if r.op, err = ident.ParseOperation(value); err != nil {
			return r, err
		}
		r.operation = true
	}
	if !r.operation {
		if r.op, err = ident.NewOperation(); err != nil {
			return r, err
		}
	}
	o := cmd.GetTableDefinitionOptions()
	switch o.GetIfNotExist() {
	case flightgen.CommandStatementIngest_TableDefinitionOptions_TABLE_NOT_EXIST_OPTION_CREATE:
		r.create = true
	case flightgen.CommandStatementIngest_TableDefinitionOptions_TABLE_NOT_EXIST_OPTION_FAIL:
	default:
		return r, errMode
	}
	switch o.GetIfExists() {
	case flightgen.CommandStatementIngest_TableDefinitionOptions_TABLE_EXISTS_OPTION_APPEND:
		r.append = true
	case flightgen.CommandStatementIngest_TableDefinitionOptions_TABLE_EXISTS_OPTION_FAIL:
		if !r.create {
			return r, errMode
		}
	case flightgen.CommandStatementIngest_TableDefinitionOptions_TABLE_EXISTS_OPTION_REPLACE:
		return r, errReplace
	default:
		return r, errMode
	}
	return r, nil
}

// writer is what an ingest needs from Metasrv.
type writer interface {
	Place(ctx context.Context, r *wirepb.CreateTable) (reg registry.Registration, placement []byte, err error)
	Create(ctx context.Context, r *wirepb.CreateTable) (registry.Registration, error)
	Applied(ctx context.Context, r *wirepb.StageAppend) (registry.Registration, *wirepb.Appended, error)
	Append(ctx context.Context, cmd *wirepb.AppendCommand, m engine.Manifest) (*wirepb.Appended, error)
}

// ingest answers a CommandStatementIngest: it stages the rows as they come and
// commits them when the client has ended its upload, all of them or none.
func (s *Server) ingest(stream arrowflight.FlightService_DoPutServer, first *arrowflight.FlightData, cmd *flightgen.CommandStatementIngest) error {
	ctx := stream.Context()
	r, err := parseIngest(cmd)
	if err != nil {
		return err
	}
	if err := enter(ctx, s.ingests); err != nil {
		return err
	}
	defer s.ingests.Release(1)

	up := &replay{first: first, stream: stream}
	frames, err := wire.ReadFrames(func() (*arrowflight.FlightData, error) {
		m, err := up.Recv()
		return m, rpcerr.FromStatus(err)
	}, ident.NewIngestDigest(), wire.FrameLimits{})
	if err != nil {
		return err
	}
	t, err := s.target(ctx, r, frames)
	if err != nil {
		return err
	}
	var rows int64
	if t.done != nil {
		rows, err = replayed(r, t.done, frames)
	} else {
		rows, err = s.load(ctx, r, t, frames)
	}
	// Also after an error: the change may have been made.
	s.catalog.Invalidate(r.table)
	if err != nil {
		return err
	}
	b, err := wire.Encode(&flightgen.DoPutUpdateResult{RecordCount: rows})
	if err != nil {
		return err
	}
	return stream.Send(&arrowflight.PutResult{AppMetadata: b})
}

// enter waits for an ingest's slot.
func enter(ctx context.Context, slots *semaphore.Weighted) error {
	wait, cancel := context.WithTimeout(ctx, ingestWait)
	defer cancel()
	switch err := slots.Acquire(wait, 1); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return errIngests
}

// A target is where the rows of an ingest go.
type target struct {
	reg    registry.Registration
	create *wirepb.CreateTable // that makes the table, when the rows are there
	done   *wirepb.Appended    // of this operation, by an earlier call
}

func (s *Server) target(ctx context.Context, r ingest, frames *wire.Frames) (t target, err error) {
	t.reg, t.done, err = s.meta.Applied(ctx, &wirepb.StageAppend{Table: r.table.String(), Operation: r.op.String()})
	switch {
	case err == nil && (r.append || t.done != nil):
		return t, nil
	case err == nil && !r.operation:
		return t, taken(r.table)
	case err != nil && fault.KindOf(err) != fault.NotFound:
		return t, err
	case err != nil && !r.create:
		return t, fault.Newf(fault.NotFound, "table %s does not exist; ingest with mode create or create_append, or make it with `lake table create`", r.table)
	}
	c := &wirepb.CreateTable{Table: r.table.String(), Schema: engine.EncodeSchema(frames.Schema()), Operation: r.op.String()}
	t.reg, c.Placement, err = s.meta.Place(ctx, c)
	if fault.KindOf(err) == fault.Exists {
		return t, taken(r.table)
	}
	if len(c.Placement) > 0 {
		c.Incarnation = string(t.reg.Incarnation)
		t.create = c
	}
	return t, err
}

func taken(t ident.Table) error {
	return fault.Newf(fault.Exists, "table %s already exists; ingest with mode append, or under another name", t)
}

// replayed reads an upload that was applied before, to see that it is the same.
func replayed(r ingest, done *wirepb.Appended, frames *wire.Frames) (rows int64, err error) {
	if err := frames.Drain(); err != nil {
		return 0, err
	}
	if d := frames.Digest(); string(d[:]) != string(done.GetDigest()) {
		return 0, fault.Newf(fault.Stale, "operation %s was used before, for other rows; use a new id for other rows", r.op)
	}
	return done.GetRows(), nil
}

// load stages the rows of an ingest and commits them.
func (s *Server) load(ctx context.Context, r ingest, t target, frames *wire.Frames) (rows int64, err error) {
	e, ok := s.engines[t.reg.Engine]
	if !ok {
		return 0, errNoEngine
	}
	at, err := objects.ParseLocation(t.reg.Location)
	if err != nil {
		return 0, err
	}
	schema, err := engine.DecodeSchema(t.reg.Schema)
	if err != nil {
		return 0, err
	}
	if err := engine.Compatible(schema, frames.Schema()); err != nil {
		return 0, err
	}
	m, err := e.Table(at).Stage(ctx, schema, frames.Batches())
	if err != nil {
		return 0, err
	}
	digest := frames.Digest()
	if t.create != nil {
		err = wire.Retry(ctx, func() error {
			_, err := s.meta.Create(ctx, t.create)
			return err
		})
		if err != nil {
			return 0, unsure(r, err)
		}
	}
	cmd := &wirepb.AppendCommand{Table: r.table.String(), Incarnation: string(t.reg.Incarnation), Operation: r.op.String(), Digest: digest[:]}
	var done *wirepb.Appended
	err = wire.Retry(ctx, func() (err error) { done, err = s.meta.Append(ctx, cmd, m); return err })
	if err != nil {
		return 0, unsure(r, err)
	}
	return done.GetRows(), nil
}

var errUnsure = fault.New(fault.Unavailable, "whether the rows are in the table is not known; send them again with the same operation id")

// unsure is the error of a commit of which the client cannot know the outcome:
// it says by which id the same rows are applied once.
func unsure(r ingest, err error) error {
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Deadline, fault.Canceled, fault.Internal:
		text := fault.Detail(errUnsure, "whether the rows are in %s is not known; send the same rows again with the option %s=%s: they are applied once", r.table, wire.OperationOption, r.op)
		return fmt.Errorf("%w: %w", text, err)
	}
	return err
}

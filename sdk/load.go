package sdk

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/delta"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/rpcerr"
	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/flight/wire/wirepb"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/objects"
	"github.com/lakeward/lake/objects/local"
)

// A Load says which files become rows of which table.
type Load struct {
	Table string // namespace.table

	// Files are names of files, whose rows are appended in this order; patterns
	// such as "logs/*.parquet", which stand for what they match in bytewise
	// order; and "-", which is standard input.
	Files []string

	// Format is that of the files: Parquet or Arrow, or "" to look at them.
	Format Format

	// PerFile makes each file a version of its own, under an operation id that
	// follows from Operation and its place. A load that fails in the middle
	// has loaded the files before; run again, it goes on.
	PerFile bool

	// Create makes the table first, with the schema of the first file. The
	// name must be free, or taken by this same operation.
	Create bool

	// Operation makes the load repeatable: run again with the same id and
	// files, it is applied once. The zero value is a new id.
	Operation ident.OperationID

	// NoSync leaves staged files to the operating system's write-back: a
	// crash of the machine can lose them. For benchmarks only.
	NoSync bool

	// Progress, if set, is told the rows staged so far, from one goroutine.
	Progress func(rows int64)
}

// Loaded is what became of a load.
type Loaded struct {
	Table     string
	Version   int64 // that the load made
	Rows      int64
	Files     int // staged by this run
	Bytes     int64
	Operation string
	Replayed  bool // an earlier run had applied it; this one changed nothing

	Each []Loaded // with PerFile: what became of each file
}

// A Format is that of files to load.
type Format string

// The formats. Arrow is Arrow IPC, as a file or as a stream.
const (
	Parquet Format = "parquet"
	Arrow   Format = "arrow"
)

// Load appends files to a table as one version: all of them or none,
// and once for an operation id. It writes the data files itself, so the
// lake's object store must be reachable from here.
func (c *Client) Load(ctx context.Context, l Load) (_ Loaded, err error) {
	switch l.Format {
	case "", Parquet, Arrow:
	default:
		return Loaded{}, fault.Newf(fault.Unsupported, "files of format %.40q cannot be loaded; convert them to Parquet", string(l.Format))
	}
	if l.Files, err = match(l.Files); err != nil {
		return Loaded{}, err
	}
	if l.Operation, err = operation(l.Operation); err != nil {
		return Loaded{}, err
	}
	if l.PerFile {
		return c.loadEach(ctx, l)
	}
	return c.load(ctx, l)
}

// loadEach loads each file as a version of its own.
func (c *Client) loadEach(ctx context.Context, l Load) (Loaded, error) {
	out := Loaded{Operation: l.Operation.String(), Replayed: true}
	for i, name := range l.Files {
		one := l
		one.Files, one.Operation, one.Create = []string{name}, l.Operation.PerFile(i), l.Create && i == 0
		if before := out.Rows; l.Progress != nil {
			one.Progress = func(rows int64) { l.Progress(before + rows) }
		}
		done, err := c.load(ctx, one)
		if err != nil {
			if p, ok := errors.AsType[*Pending](err); ok {
				err = &Pending{l.Operation, p.Err} // the id that the caller can use
			}
			return out, err
		}
		out.Each = append(out.Each, done)
		out.Table, out.Version = done.Table, max(out.Version, done.Version)
		out.Rows += done.Rows
		out.Files += done.Files
		out.Bytes += done.Bytes
		out.Replayed = out.Replayed && done.Replayed
	}
	return out, nil
}

// load loads files as one version.
func (c *Client) load(ctx context.Context, l Load) (Loaded, error) {
	op := l.Operation
	in, err := openInput(ctx, l.Files, l.Format)
	if err != nil {
		return Loaded{}, err
	}
	defer in.close()
	digest, err := ident.LoadDigest(in.sources, loadOptions{Format: in.format})
	if err != nil {
		return Loaded{}, err
	}
	out := Loaded{Operation: op.String()}
	var place *wirepb.CreateTable // of a table that is not there yet
	var target wirepb.StageTarget
	if l.Create {
		if place, err = c.place(ctx, l.Table, in.schema, op, &target); err != nil {
			return out, err
		}
	}
	if place == nil {
		req := &wirepb.StageAppend{Table: l.Table, Operation: op.String(), Digest: digest[:]}
		if err := c.ask(ctx, wire.StageAppend, req, &target); err != nil {
			return out, err
		}
	}
	t, err := decodeTable(target.GetTable())
	if err != nil {
		return out, err
	}
	out.Table = t.Name
	if done := target.GetDone(); done != nil {
		out.Version, out.Rows, out.Replayed = done.GetVersion(), done.GetRows(), true
		return out, nil
	}
	if err := engine.Compatible(t.Schema, in.schema); err != nil {
		return out, err
	}
	m, err := stage(ctx, &target, t, in, l)
	if err != nil {
		return out, err
	}
	if err := in.unchanged(); err != nil {
		return out, err // the staged files stay nameless and are reclaimed
	}
	if place != nil {
		if err := c.ask(ctx, wire.CreateTable, place, &wirepb.TableCreated{}); err != nil {
			return out, pending(op, err)
		}
	}
	cmd := &wirepb.AppendCommand{Table: t.Name, Incarnation: t.Incarnation, Operation: op.String(), Digest: digest[:]}
	var done *wirepb.Appended
	err = wire.Retry(ctx, func() (err error) { done, err = c.commit(ctx, cmd, m); return err })
	if err != nil {
		return out, pending(op, err)
	}
	out.Version, out.Rows, out.Replayed = done.GetVersion(), done.GetRows(), done.GetReplayed()
	out.Files, out.Bytes = len(m.Files), m.Bytes()
	return out, nil
}

// place asks where a new table will be, so that it appears when its rows are
// staged, and not before. It returns nil if this operation has made it already.
func (c *Client) place(ctx context.Context, table string, schema *arrow.Schema, op ident.OperationID, target *wirepb.StageTarget) (*wirepb.CreateTable, error) {
	r := &wirepb.CreateTable{Table: table, Schema: engine.EncodeSchema(schema), Operation: op.String()}
	var placed wirepb.TablePlaced
	if err := c.ask(ctx, wire.PlaceTable, r, &placed); err != nil || len(placed.GetPlacement()) == 0 {
		return nil, err
	}
	var root wirepb.Root
	if err := c.ask(ctx, wire.GetRoot, &wirepb.GetRoot{}, &root); err != nil {
		return nil, err
	}
	target.Table, target.Root = placed.GetTable(), &root
	r.Incarnation, r.Placement = placed.GetTable().GetIncarnation(), placed.GetPlacement()
	return r, nil
}

// loadOptions are the options that change rows: part of the load's digest.
type loadOptions struct {
	Format Format `json:"format"`
}

// stage writes the input's rows as data files below the table's location.
func stage(ctx context.Context, target *wirepb.StageTarget, t Table, in *input, l Load) (engine.Manifest, error) {
	store, err := openRoot(ctx, target.GetRoot(), l.NoSync)
	if err != nil {
		return engine.Manifest{}, err
	}
	defer store.Close()
	at, err := objects.ParseLocation(t.Location)
	if err != nil {
		return engine.Manifest{}, fmt.Errorf("%w: %w", errAnswer, err)
	}
	e := delta.New(store, delta.Options{})
	if t.Engine != e.Name() {
		return engine.Manifest{}, fault.Newf(fault.Unsupported, "table %s has engine %.40q, which this client cannot write; use a newer client", t.Name, t.Engine)
	}
	return e.Table(at).Stage(ctx, t.Schema, in.rows(l.Progress))
}

// openRoot opens the object store that a server names, if it holds the lake
// that it should.
func openRoot(ctx context.Context, root *wirepb.Root, noSync bool) (*local.Store, error) {
	u, err := url.Parse(root.GetUrl())
	if err != nil || u.Scheme != "file" {
		return nil, fault.New(fault.Unsupported, "the lake's object store is not a local folder; use a newer client")
	}
	away := fault.New(fault.Unavailable, "the lake's folder is not on this machine; run the load where the server runs")
	if _, err := os.Stat(u.Path); err != nil {
		return nil, fmt.Errorf("%w: %w", away, err)
	}
	store, err := local.Open(u.Path, local.Options{NoSync: noSync})
	if err != nil {
		return nil, err
	}
	if id, err := objects.Lake(ctx, store); err != nil || id != root.GetLake() {
		return nil, errors.Join(fmt.Errorf("%w: %w", away, err), store.Close())
	}
	return store, nil
}

// commit sends a manifest and returns the answer.
func (c *Client) commit(ctx context.Context, cmd *wirepb.AppendCommand, m engine.Manifest) (*wirepb.Appended, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	desc, err := descriptor(cmd)
	if err != nil {
		return nil, err
	}
	stream, err := c.flight.DoPut(ctx)
	if err != nil {
		return nil, rpcerr.FromStatus(err)
	}
	for part := range wire.Parts(m) {
		b, err := wire.Encode(part)
		if err != nil {
			return nil, err
		}
		if err := stream.Send(&arrowflight.FlightData{FlightDescriptor: desc, AppMetadata: b}); err != nil {
			break // Recv says why
		}
		desc = nil
	}
	var done wirepb.Appended
	return &done, answer(stream, &done)
}

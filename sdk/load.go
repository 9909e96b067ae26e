package sdk

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
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
	Table string   // namespace.table
	Files []string // Parquet files, whose rows are appended in this order

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
}

// Load appends Parquet files to a table as one version: all of them or none,
// and once for an operation id. It writes the data files itself, so the
// lake's object store must be reachable from here.
func (c *Client) Load(ctx context.Context, l Load) (Loaded, error) {
	if len(l.Files) == 0 {
		return Loaded{}, fault.New(fault.Invalid, "no file to load was named")
	}
	op, err := operation(l.Operation)
	if err != nil {
		return Loaded{}, err
	}
	in, err := openInput(ctx, l.Files)
	if err != nil {
		return Loaded{}, err
	}
	defer in.close()
	digest, err := ident.LoadDigest(in.sources, loadOptions{Format: "parquet"})
	if err != nil {
		return Loaded{}, err
	}
	if l.Create {
		if _, err := c.CreateTable(ctx, l.Table, in.schema, op); err != nil {
			return Loaded{}, err
		}
	}
	out := Loaded{Operation: op.String()}
	var target wirepb.StageTarget
	req := &wirepb.StageAppend{Table: l.Table, Operation: op.String(), Digest: digest[:]}
	err = wire.Retry(ctx, func() error {
		return c.action(ctx, wire.StageAppend, req, func(b []byte) error { return wire.Decode(b, &target) })
	})
	if err != nil {
		return out, err
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

// loadOptions are the options that change rows: part of the load's digest.
type loadOptions struct {
	Format string `json:"format"`
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

// input is the files of a load, open from the moment they were hashed.
type input struct {
	files   []inputFile
	sources []ident.Source
	schema  *arrow.Schema // of the first file, which all others have
}

type inputFile struct {
	name string
	f    *os.File
	info os.FileInfo
	rows iter.Seq2[arrow.RecordBatch, error]
	done func() error
}

var errChanged = fault.New(fault.Conflict, "a file changed while it was loaded; nothing was loaded: load it again when it is complete")

func openInput(ctx context.Context, names []string) (_ *input, err error) {
	in := &input{}
	defer func() {
		if err != nil {
			in.close()
		}
	}()
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, fault.Newf(fault.NotFound, "cannot read %s: %v", name, errors.Unwrap(err))
		}
		file := inputFile{name: name, f: f, done: f.Close}
		if file.info, err = f.Stat(); err == nil && !file.info.Mode().IsRegular() {
			err = fault.Newf(fault.Invalid, "%s is not a regular file; name Parquet files", name)
		}
		in.files = append(in.files, file)
		if err != nil {
			return nil, err
		}
		h := sha256.New()
		n, err := io.Copy(h, contextReader{ctx, f})
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		in.sources = append(in.sources, ident.Source{Bytes: n, SHA256: ident.Digest(h.Sum(nil))})

		schema, rows, done, err := delta.ParquetRows(ctx, f, n)
		if err != nil {
			return nil, fault.Detail(err, "%s: %s", name, fault.Public(err))
		}
		last := &in.files[len(in.files)-1]
		last.rows = rows
		last.done = func() error { return errors.Join(done(), f.Close()) }
		if in.schema == nil {
			in.schema = schema
		} else if err := engine.Compatible(in.schema, schema); err != nil {
			return nil, fault.Detail(err, "%s differs from %s: %s", name, names[0], fault.Public(err))
		}
	}
	return in, nil
}

// rows yields the batches of all files in order.
func (in *input) rows(progress func(int64)) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		var total int64
		for _, f := range in.files {
			for batch, err := range f.rows {
				if err != nil {
					yield(nil, fault.Detail(err, "%s: %s", f.name, fault.Public(err)))
					return
				}
				total += batch.NumRows()
				if !yield(batch, nil) {
					return
				}
				if progress != nil {
					progress(total)
				}
			}
		}
	}
}

// unchanged reports a file that is not what was hashed.
func (in *input) unchanged() error {
	for i, f := range in.files {
		now, err := f.f.Stat()
		if err != nil || now.Size() != in.sources[i].Bytes || !now.ModTime().Equal(f.info.ModTime()) {
			return fmt.Errorf("%s: %w", f.name, errChanged)
		}
	}
	return nil
}

func (in *input) close() {
	for _, f := range in.files {
		_ = f.done() // read only
	}
}

// contextReader ends when its context does.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// Package control is Metasrv on the wire: the actions that change and look up
// tables, the stream that commits an append, and the client of both.
package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"golang.org/x/sync/semaphore"
	"google.golang.org/protobuf/proto"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/flight/wire/wirepb"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta/authority"
	"github.com/lakeward/lake/meta/registry"
)

// Bounds on appends: how many at once, and how long one more waits.
const (
	appendSlots     = 8
	appendQueueWait = 100 * time.Millisecond
)

var (
	errAction  = fault.New(fault.Unsupported, "this server does not know that action; use a client of the same lake version")
	errPut     = fault.New(fault.Unsupported, "this server takes no such upload; use a client of the same lake version")
	errAppends = fault.Newf(fault.Exhausted, "%d appends are being committed, the most at once; try again in a moment", appendSlots)
)

// Options of a Server.
type Options struct {
	Tenant ident.Tenant // of every caller, while there are no identities
	Root   string       // URL of the object store, for writers that stage files
	Lake   string       // id of the lake in that store
}

// A Server answers for an authority.
type Server struct {
	arrowflight.BaseFlightServer
	authority *authority.Authority
	o         Options
	appends   *semaphore.Weighted
	memory    *semaphore.Weighted // bytes of rowsMemory
}

// NewServer returns the Flight service of an authority.
func NewServer(a *authority.Authority, o Options) *Server {
	return &Server{authority: a, o: o, appends: semaphore.NewWeighted(appendSlots), memory: semaphore.NewWeighted(rowsMemory)}
}

// DoAction implements the Flight service.
func (s *Server) DoAction(a *arrowflight.Action, stream arrowflight.FlightService_DoActionServer) error {
	if n := len(a.GetBody()); n > wire.ActionBytesMax {
		return fault.Newf(fault.Exhausted, "an action of %d bytes is over the bound of %d; use fewer columns", n, wire.ActionBytesMax)
	}
	ctx := stream.Context()
	send := func(m proto.Message) error {
		b, err := wire.Encode(m)
		if err != nil {
			return err
		}
		return stream.Send(&arrowflight.Result{Body: b})
	}
	switch a.GetType() {
	case wire.CreateTable:
		return s.create(ctx, a.GetBody(), send)
	case wire.PlaceTable:
		return s.place(ctx, a.GetBody(), send)
	case wire.GetTable:
		return s.get(ctx, a.GetBody(), send)
	case wire.GetContents:
		return s.contents(ctx, a.GetBody(), send)
	case wire.GetHistory:
		return s.history(ctx, a.GetBody(), send)
	case wire.ListTables:
		return s.list(ctx, a.GetBody(), send)
	case wire.GetRoot:
		return send(s.root())
	case wire.StageAppend:
		return s.stage(ctx, a.GetBody(), send)
	}
	return errAction
}

func (s *Server) create(ctx context.Context, body []byte, send func(proto.Message) error) error {
	r, err := s.createRequest(body)
	if err != nil {
		return err
	}
	reg, replayed, err := s.authority.Create(ctx, r)
	if err != nil {
		return err
	}
	return send(&wirepb.TableCreated{Table: encodeTable(reg), Replayed: replayed})
}

func (s *Server) place(ctx context.Context, body []byte, send func(proto.Message) error) error {
	r, err := s.createRequest(body)
	if err != nil {
		return err
	}
	reg, placement, err := s.authority.Place(ctx, r)
	if err != nil {
		return err
	}
	return send(&wirepb.TablePlaced{Table: encodeTable(reg), Placement: placement})
}

func (s *Server) createRequest(body []byte) (r authority.CreateRequest, err error) {
	var p wirepb.CreateTable
	if err := wire.Decode(body, &p); err != nil {
		return r, err
	}
	r = authority.CreateRequest{Tenant: s.o.Tenant, Engine: p.GetEngine(), Schema: p.GetSchema(), Placement: p.GetPlacement()}
	if r.Table, err = ident.ParseTable(p.GetTable()); err != nil {
		return r, err
	}
	if i := p.GetIncarnation(); i != "" {
		if r.Incarnation, err = ident.ParseIncarnation(i); err != nil {
			return r, err
		}
	}
	r.Operation, err = ident.ParseOperation(p.GetOperation())
	return r, err
}

func (s *Server) get(ctx context.Context, body []byte, send func(proto.Message) error) error {
	var r wirepb.GetTable
	if err := wire.Decode(body, &r); err != nil {
		return err
	}
	t, err := ident.ParseTable(r.GetTable())
	if err != nil {
		return err
	}
	reg, err := s.authority.Registry().Lookup(ctx, t)
	if err != nil {
		return err
	}
	return send(encodeTable(reg))
}

// pageBytes is the size at which the next page of a listing begins; a table's
// own entry is at most a schema larger.
const pageBytes = 2 << 20

func (s *Server) list(ctx context.Context, body []byte, send func(proto.Message) error) error {
	var r wirepb.ListTables
	if err := wire.Decode(body, &r); err != nil {
		return err
	}
	if r.KnownGeneration != nil {
		now, err := s.authority.Registry().Generation(ctx)
		if err != nil {
			return err
		}
		if now == r.GetKnownGeneration() {
			return send(&wirepb.TablePage{Generation: now, Unchanged: true})
		}
	}
	regs, generation, err := s.authority.Registry().All(ctx)
	if err != nil {
		return err
	}
	page, bytes := &wirepb.TablePage{Generation: generation}, 0
	for _, reg := range regs {
		t := encodeTable(reg)
		page.Tables = append(page.Tables, t)
		if bytes += proto.Size(t); bytes > pageBytes {
			if err := send(page); err != nil {
				return err
			}
			page, bytes = &wirepb.TablePage{Generation: generation}, 0
		}
	}
	return send(page)
}

func (s *Server) root() *wirepb.Root { return &wirepb.Root{Url: s.o.Root, Lake: s.o.Lake} }

func (s *Server) stage(ctx context.Context, body []byte, send func(proto.Message) error) error {
	var r wirepb.StageAppend
	if err := wire.Decode(body, &r); err != nil {
		return err
	}
	t, op, digest, err := parseAppend(r.GetTable(), r.GetOperation(), r.GetDigest())
	if err != nil {
		return err
	}
	reg, result, done, err := s.authority.Applied(ctx, t, op, digest)
	if err != nil {
		return err
	}
	target := &wirepb.StageTarget{Table: encodeTable(reg), Root: s.root()}
	if done {
		target.Done = encodeResult(result)
	}
	return send(target)
}

// appendFiles commits files that were staged. Nothing is committed unless the
// whole manifest arrives.
func (s *Server) appendFiles(stream arrowflight.FlightService_DoPutServer, first *arrowflight.FlightData, cmd *wirepb.AppendCommand) (err error) {
	ctx := stream.Context()
	r := authority.AppendRequest{Tenant: s.o.Tenant}
	var digest *ident.Digest
	if r.Table, r.Operation, digest, err = parseAppend(cmd.GetTable(), cmd.GetOperation(), cmd.GetDigest()); err != nil {
		return err
	}
	if digest == nil {
		return errDigest
	}
	r.Digest = *digest
	if r.Incarnation, err = ident.ParseIncarnation(cmd.GetIncarnation()); err != nil {
		return err
	}
	if err := s.enter(ctx, s.appends, 1, errAppends); err != nil {
		return err
	}
	defer s.appends.Release(1)

	var manifest wire.ManifestReader
	for msg := first; ; {
		if b := msg.GetAppMetadata(); len(b) > 0 {
			if err := manifest.Add(b); err != nil {
				return err
			}
		}
		if msg, err = stream.Recv(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("read the manifest: %w", err)
		}
	}
	if r.Manifest, err = manifest.Manifest(); err != nil {
		return err
	}
	result, err := s.authority.Append(ctx, r)
	if err != nil {
		return err
	}
	b, err := wire.Encode(encodeResult(result))
	if err != nil {
		return err
	}
	return stream.Send(&arrowflight.PutResult{AppMetadata: b})
}

var errDigest = fault.New(fault.Invalid, "an append's digest has 32 bytes; use a client of the same lake version")

// parseAppend reads what names an append. There may be no digest yet.
func parseAppend(table, operation string, digest []byte) (t ident.Table, op ident.OperationID, d *ident.Digest, err error) {
	if t, err = ident.ParseTable(table); err != nil {
		return t, op, nil, err
	}
	if op, err = ident.ParseOperation(operation); err != nil {
		return t, op, nil, err
	}
	switch len(digest) {
	case 0:
		return t, op, nil, nil
	case len(d):
		return t, op, new(ident.Digest(digest)), nil
	}
	return t, op, nil, errDigest
}

func encodeTable(r registry.Registration) *wirepb.Table {
	return &wirepb.Table{
		Namespace:   string(r.Table.Namespace),
		Name:        r.Table.Name,
		Incarnation: string(r.Incarnation),
		Engine:      r.Engine,
		Location:    r.Location,
		Version:     int64(r.Version),
		Schema:      r.Schema,
	}
}

func encodeResult(r authority.Result) *wirepb.Appended {
	return &wirepb.Appended{Version: int64(r.Version), Rows: r.Rows, Digest: r.Digest[:], Replayed: r.Replayed}
}

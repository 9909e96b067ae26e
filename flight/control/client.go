package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	flightgen "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/rpcerr"
	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/flight/wire/wirepb"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta/catalog"
	"github.com/lakeward/lake/meta/registry"
)

// A Client asks Metasrv. It is a catalog.Source.
type Client struct {
	flight flightgen.FlightServiceClient
}

// NewClient returns a client over a connection, which the caller closes.
func NewClient(c grpc.ClientConnInterface) *Client {
	return &Client{flightgen.NewFlightServiceClient(c)}
}

// Table returns the present registration of a table.
func (c *Client) Table(ctx context.Context, t ident.Table) (registry.Registration, error) {
	var p wirepb.Table
	if err := c.ask(ctx, wire.GetTable, &wirepb.GetTable{Table: t.String()}, &p); err != nil {
		return registry.Registration{}, err
	}
	return decodeTable(&p)
}

// Directory returns all tables, or the directory known if nothing changed.
func (c *Client) Directory(ctx context.Context, known *catalog.Directory) (*catalog.Directory, error) {
	req := &wirepb.ListTables{}
	if known != nil {
		req.KnownGeneration = &known.Generation
	}
	b, err := wire.Encode(req)
	if err != nil {
		return nil, err
	}
	d := &catalog.Directory{}
	err = c.Forward(ctx, &arrowflight.Action{Type: wire.ListTables, Body: b}, func(r *arrowflight.Result) error {
		var page wirepb.TablePage
		if err := wire.Decode(r.GetBody(), &page); err != nil {
			return err
		}
		if page.GetUnchanged() && known != nil {
			d = known
			return nil
		}
		d.Generation = page.GetGeneration()
		for _, p := range page.GetTables() {
			reg, err := decodeTable(p)
			if err != nil {
				return err
			}
			d.Tables = append(d.Tables, reg)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Place asks where a create would put its table, and with which exact schema.
// placement is nil if the operation has created the table before.
func (c *Client) Place(ctx context.Context, r *wirepb.CreateTable) (reg registry.Registration, placement []byte, err error) {
	var p wirepb.TablePlaced
	if err := c.ask(ctx, wire.PlaceTable, r, &p); err != nil {
		return registry.Registration{}, nil, err
	}
	reg, err = decodeTable(p.GetTable())
	return reg, p.GetPlacement(), err
}

// Create makes a table.
func (c *Client) Create(ctx context.Context, r *wirepb.CreateTable) (registry.Registration, error) {
	var p wirepb.TableCreated
	if err := c.ask(ctx, wire.CreateTable, r, &p); err != nil {
		return registry.Registration{}, err
	}
	return decodeTable(p.GetTable())
}

// Applied says to which registration rows would be staged, and what became of
// the operation if it was applied before. Without a digest in the question, it
// may have been applied to other input.
func (c *Client) Applied(ctx context.Context, r *wirepb.StageAppend) (registry.Registration, *wirepb.Appended, error) {
	var p wirepb.StageTarget
	if err := c.ask(ctx, wire.StageAppend, r, &p); err != nil {
		return registry.Registration{}, nil, err
	}
	reg, err := decodeTable(p.GetTable())
	return reg, p.GetDone(), err
}

// Append commits staged files.
func (c *Client) Append(ctx context.Context, cmd *wirepb.AppendCommand, m engine.Manifest) (*wirepb.Appended, error) {
	b, err := wire.EncodeCommand(cmd)
	if err != nil {
		return nil, err
	}
	parts, stop := iter.Pull(wire.Parts(m))
	defer stop()
	next := func() (*arrowflight.FlightData, error) {
		p, ok := parts()
		if !ok {
			return nil, io.EOF
		}
		b, err := wire.Encode(p)
		return &arrowflight.FlightData{AppMetadata: b}, err
	}
	first, err := next() // there is one part at least
	if err != nil {
		return nil, err
	}
	first.FlightDescriptor = &arrowflight.FlightDescriptor{Type: arrowflight.DescriptorCMD, Cmd: b}
	var done *wirepb.Appended
	err = c.ForwardPut(ctx, first, next, func(r *arrowflight.PutResult) error {
		done = &wirepb.Appended{}
		return wire.Decode(r.GetAppMetadata(), done)
	})
	if err == nil && done == nil {
		err = errAnswer
	}
	return done, err
}

// ask sends an action that has one answer.
func (c *Client) ask(ctx context.Context, action string, req, resp proto.Message) error {
	b, err := wire.Encode(req)
	if err != nil {
		return err
	}
	return c.Forward(ctx, &arrowflight.Action{Type: action, Body: b}, func(r *arrowflight.Result) error {
		return wire.Decode(r.GetBody(), resp)
	})
}

// Lake returns the id of the lake that Metasrv owns.
func (c *Client) Lake(ctx context.Context) (string, error) {
	var p wirepb.Root
	err := c.ask(ctx, wire.GetRoot, &wirepb.GetRoot{}, &p)
	return p.GetLake(), err
}

// Forward sends an action and hands on each answer.
func (c *Client) Forward(ctx context.Context, a *arrowflight.Action, each func(*arrowflight.Result) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.flight.DoAction(ctx, a)
	if err != nil {
		return rpcerr.FromStatus(err)
	}
	for {
		r, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return rpcerr.FromStatus(err)
		}
		if err := each(r); err != nil {
			return err
		}
	}
}

// ForwardPut sends on an upload whose first message has been read, and hands
// on each answer.
func (c *Client) ForwardPut(ctx context.Context, first *arrowflight.FlightData, next func() (*arrowflight.FlightData, error), each func(*arrowflight.PutResult) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.flight.DoPut(ctx)
	if err != nil {
		return rpcerr.FromStatus(err)
	}
	for msg := first; ; {
		if err := stream.Send(msg); err != nil {
			break // the answer says why
		}
		if msg, err = next(); errors.Is(err, io.EOF) {
			if err := stream.CloseSend(); err != nil {
				return rpcerr.FromStatus(err)
			}
			break
		} else if err != nil {
			// The client went away: without its end, nothing is committed.
			return fmt.Errorf("read an upload: %w", err)
		}
	}
	for {
		r, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return rpcerr.FromStatus(err)
		}
		if err := each(r); err != nil {
			return err
		}
	}
}

var errAnswer = fault.New(fault.Internal, "the metadata server's answer does not decode; run one version of lake everywhere")

func decodeTable(p *wirepb.Table) (registry.Registration, error) {
	t, err := ident.NewTable(p.GetNamespace(), p.GetName())
	if err != nil {
		return registry.Registration{}, fmt.Errorf("%w: %w", errAnswer, err)
	}
	inc, err := ident.ParseIncarnation(p.GetIncarnation())
	if err != nil {
		return registry.Registration{}, fmt.Errorf("%w: %w", errAnswer, err)
	}
	return registry.Registration{
		Table:       t,
		Incarnation: inc,
		Engine:      p.GetEngine(),
		Location:    p.GetLocation(),
		Version:     ident.Version(p.GetVersion()),
		Schema:      p.GetSchema(),
	}, nil
}

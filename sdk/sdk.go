// Package sdk is the Go client of lake: SQL in, Arrow out; rows and files in,
// table versions out. The command line and the console use nothing else.
package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
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
)

// Options say how to reach a server.
type Options struct {
	URI string // grpc://host:port of a Query replica
}

// A Client talks to one lake. It may be used by many goroutines at once.
type Client struct {
	conn   *grpc.ClientConn
	flight flightgen.FlightServiceClient
}

// Open returns a client. It connects at the first call.
func Open(o Options) (*Client, error) {
	c, err := wire.Dial(o.URI)
	if err != nil {
		return nil, err
	}
	return &Client{conn: c, flight: flightgen.NewFlightServiceClient(c)}, nil
}

// Close ends the connection and all calls on it.
func (c *Client) Close() error { return c.conn.Close() }

// A Table is what a table's name stands for.
type Table struct {
	Name        string // namespace.table
	Incarnation string // UUIDv7 of this life of the name
	Engine      string
	Location    string // below the root of the object store
	Version     int64
	Schema      *arrow.Schema // exact
}

// Tables returns all tables, in order of name.
func (c *Client) Tables(ctx context.Context) (tables []Table, err error) {
	err = c.action(ctx, wire.ListTables, &wirepb.ListTables{}, func(b []byte) error {
		var page wirepb.TablePage
		if err := wire.Decode(b, &page); err != nil {
			return err
		}
		for _, p := range page.GetTables() {
			t, err := decodeTable(p)
			if err != nil {
				return err
			}
			tables = append(tables, t)
		}
		return nil
	})
	return tables, err
}

// Table returns one table by its name.
func (c *Client) Table(ctx context.Context, name string) (Table, error) {
	var p wirepb.Table
	err := c.action(ctx, wire.GetTable, &wirepb.GetTable{Table: name}, func(b []byte) error { return wire.Decode(b, &p) })
	if err != nil {
		return Table{}, err
	}
	return decodeTable(&p)
}

// CreateTable makes an empty table: version 0. The same operation, sent again,
// gets the table that it made; any other finds the name taken (fault.Exists).
// A zero operation is a new one.
func (c *Client) CreateTable(ctx context.Context, name string, schema *arrow.Schema, op ident.OperationID) (Table, error) {
	op, err := operation(op)
	if err != nil {
		return Table{}, err
	}
	var made wirepb.TableCreated
	req := &wirepb.CreateTable{Table: name, Schema: engine.EncodeSchema(schema), Operation: op.String()}
	if err := c.ask(ctx, wire.CreateTable, req, &made); err != nil {
		return Table{}, err
	}
	return decodeTable(made.GetTable())
}

// ask sends an action that has one answer, and again while it has none.
func (c *Client) ask(ctx context.Context, name string, req, resp proto.Message) error {
	return wire.Retry(ctx, func() error {
		return c.action(ctx, name, req, func(b []byte) error { return wire.Decode(b, resp) })
	})
}

// action sends an action and hands on each answer's body.
func (c *Client) action(ctx context.Context, name string, body proto.Message, each func([]byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b, err := wire.Encode(body)
	if err != nil {
		return err
	}
	stream, err := c.flight.DoAction(ctx, &arrowflight.Action{Type: name, Body: b})
	if err != nil {
		return rpcerr.FromStatus(err)
	}
	answers := 0
	for ; ; answers++ {
		r, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && answers > 0:
			return nil
		case errors.Is(err, io.EOF):
			return errNoAnswer
		case err != nil:
			return rpcerr.FromStatus(err)
		}
		if err := each(r.GetBody()); err != nil {
			return err
		}
	}
}

var (
	errNoAnswer = fault.New(fault.Internal, "the server ended the call without an answer; use a client of the same lake version")
	errAnswer   = fault.New(fault.Internal, "the server's answer does not decode; use a client of the same lake version")
)

func decodeTable(p *wirepb.Table) (Table, error) {
	schema, err := engine.DecodeSchema(p.GetSchema())
	if err != nil {
		return Table{}, fmt.Errorf("%w: %w", errAnswer, err)
	}
	return Table{
		Name:        p.GetNamespace() + "." + p.GetName(),
		Incarnation: p.GetIncarnation(),
		Engine:      p.GetEngine(),
		Location:    p.GetLocation(),
		Version:     p.GetVersion(),
		Schema:      schema,
	}, nil
}

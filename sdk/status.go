package sdk

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	flightgen "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lakeward/lake/flight/rpcerr"
	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/flight/wire/wirepb"
)

// A Status is what a server says of itself.
type Status struct {
	Version string // of lake
	Lake    string // id of the lake that it serves
	Root    string // URL of the lake's object store
}

// Status asks the server what it is, which also asks its metadata server.
func (c *Client) Status(ctx context.Context) (Status, error) {
	root, err := c.root(ctx)
	if err != nil {
		return Status{}, err
	}
	version, err := c.version(ctx)
	return Status{Version: version, Lake: root.GetLake(), Root: root.GetUrl()}, err
}

// CheckRoot reports why the lake's object store cannot be used from here, as a
// load would find.
func (c *Client) CheckRoot(ctx context.Context) error {
	root, err := c.root(ctx)
	if err != nil {
		return err
	}
	store, err := openRoot(ctx, root, true)
	if err != nil {
		return err
	}
	return store.Close()
}

func (c *Client) root(ctx context.Context) (*wirepb.Root, error) {
	var root wirepb.Root
	err := c.action(ctx, wire.GetRoot, &wirepb.GetRoot{}, func(b []byte) error { return wire.Decode(b, &root) })
	return &root, err
}

// serverVersion is FLIGHT_SQL_SERVER_VERSION of FlightSql.proto.
const serverVersion = 1

// version asks as any Flight SQL client does.
func (c *Client) version(ctx context.Context) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a, err := anypb.New(&flightgen.CommandGetSqlInfo{Info: []uint32{serverVersion}})
	if err != nil {
		return "", err
	}
	cmd, err := wire.Encode(a)
	if err != nil {
		return "", err
	}
	info, err := c.flight.GetFlightInfo(ctx, &arrowflight.FlightDescriptor{Type: arrowflight.DescriptorCMD, Cmd: cmd})
	if err != nil {
		return "", rpcerr.FromStatus(err)
	}
	if len(info.GetEndpoint()) != 1 {
		return "", errAnswer
	}
	stream, err := c.flight.DoGet(ctx, info.GetEndpoint()[0].GetTicket())
	if err != nil {
		return "", rpcerr.FromStatus(err)
	}
	r, err := arrowflight.NewRecordReader(stream)
	if err != nil {
		return "", rpcerr.FromStatus(err)
	}
	defer r.Release()
	for r.Next() {
		if v, ok := versionIn(r.RecordBatch()); ok {
			return v, nil
		}
	}
	if err := readError(r); err != nil {
		return "", err
	}
	return "", errAnswer
}

func versionIn(b arrow.RecordBatch) (string, bool) {
	if b.NumRows() < 1 || b.NumCols() != 2 {
		return "", false
	}
	value, ok := b.Column(1).(*array.DenseUnion)
	if !ok {
		return "", false
	}
	text, ok := value.Field(value.ChildID(0)).(*array.String)
	if !ok {
		return "", false
	}
	return text.Value(int(value.ValueOffset(0))), true
}

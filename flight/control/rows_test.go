package control_test

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	flightgen "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/flight/wire/wirepb"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta/authority"
)

// upload is the messages of an append, and their digest.
type upload struct {
	sent   []*arrowflight.FlightData
	digest ident.FrameDigest
	bytes  int64
}

func (u *upload) Send(d *arrowflight.FlightData) error {
	m := &arrowflight.FlightData{DataHeader: append([]byte{}, d.DataHeader...), DataBody: append([]byte{}, d.DataBody...)}
	u.sent = append(u.sent, m)
	u.digest.Add(m.DataHeader, m.DataBody, m.AppMetadata)
	u.bytes += int64(len(m.DataHeader) + len(m.DataBody))
	return nil
}

// numbers are n rows, in batches of some size, of one column.
func numbers(t *testing.T, column string, n, size int) *upload {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: column, Type: arrow.PrimitiveTypes.Int64}}, nil)
	u := &upload{digest: ident.NewAppendDigest()}
	w := arrowflight.NewRecordWriter(u, ipc.WithSchema(schema))
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for at := 0; at < n; at += size {
		for i := at; i < min(n, at+size); i++ {
			b.Field(0).(*array.Int64Builder).Append(int64(i))
		}
		batch := b.NewRecordBatch()
		if err := w.Write(batch); err != nil {
			t.Fatal(err)
		}
		batch.Release()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return u
}

// put sends an append of rows and returns the answer.
func put(ctx context.Context, c flightgen.FlightServiceClient, cmd *wirepb.AppendRows, u *upload) (*wirepb.Appended, error) {
	b, err := wire.EncodeCommand(cmd)
	if err != nil {
		return nil, err
	}
	stream, err := c.DoPut(ctx)
	if err != nil {
		return nil, err
	}
	desc := &arrowflight.FlightDescriptor{Type: arrowflight.DescriptorCMD, Cmd: b}
	for _, m := range u.sent {
		if err := stream.Send(&arrowflight.FlightData{FlightDescriptor: desc, DataHeader: m.DataHeader, DataBody: m.DataBody}); err != nil {
			break // the answer says why
		}
		desc = nil
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	r, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	var done wirepb.Appended
	return &done, proto.Unmarshal(r.GetAppMetadata(), &done)
}

func command(t *testing.T) *wirepb.AppendRows {
	t.Helper()
	op, err := ident.NewOperation()
	if err != nil {
		t.Fatal(err)
	}
	return &wirepb.AppendRows{Table: "demo.flights", Operation: op.String()}
}

func versionOf(t *testing.T, a *authority.Authority) ident.Version {
	t.Helper()
	reg, err := a.Registry().Lookup(t.Context(), ident.Table{Namespace: "demo", Name: "flights"})
	if err != nil {
		t.Fatal(err)
	}
	return reg.Version
}

func TestAppendOfRowsIsAppliedOnce(t *testing.T) {
	c, _, a := open(t)
	create(t, a, "demo.flights")
	for i, sent := range []bool{false, true} { // without a digest, and with
		cmd, u := command(t), numbers(t, "id", wire.RowsMax, 7)
		want := u.digest.Sum()
		if sent {
			cmd.Digest, cmd.Bytes = want[:], u.bytes
		}
		for again := range 3 {
			done, err := put(t.Context(), c, cmd, u)
			if err != nil {
				t.Fatal(err)
			}
			if done.GetRows() != wire.RowsMax || done.GetVersion() != int64(i+1) || ident.Digest(done.GetDigest()) != want || done.GetReplayed() != (again > 0) {
				t.Errorf("try %d: %v", again, done)
			}
		}
		if _, err := put(t.Context(), c, &wirepb.AppendRows{Table: cmd.Table, Operation: cmd.Operation}, numbers(t, "id", 3, 3)); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("the same operation with other rows: %v", err)
		}
	}
	if v := versionOf(t, a); v != 2 {
		t.Errorf("version %d after two operations", v)
	}
}

func TestAppendsOfRowsThatAreRefused(t *testing.T) {
	c, _, a := open(t)
	create(t, a, "demo.flights")
	other := numbers(t, "id", 4, 4).digest.Sum()
	for _, tt := range []struct {
		name   string
		change func(*wirepb.AppendRows)
		u      *upload
		code   codes.Code
		says   string
	}{
		{"no rows", nil, numbers(t, "id", 0, 1), codes.InvalidArgument, "no rows"},
		{"one row too many", nil, numbers(t, "id", wire.RowsMax+1, 1000), codes.ResourceExhausted, "10000 rows"},
		{"more bytes than were announced", func(cmd *wirepb.AppendRows) { cmd.Bytes = 100 }, numbers(t, "id", 1000, 1000), codes.ResourceExhausted, "100 bytes"},
		{"more bytes than may be", func(cmd *wirepb.AppendRows) { cmd.Bytes = wire.RowsBytesMax + 1 }, numbers(t, "id", 1, 1), codes.ResourceExhausted, "lake load"},
		{"another digest", func(cmd *wirepb.AppendRows) { cmd.Digest = other[:] }, numbers(t, "id", 5, 5), codes.InvalidArgument, "digest"},
		{"half a digest", func(cmd *wirepb.AppendRows) { cmd.Digest = other[:16] }, numbers(t, "id", 5, 5), codes.InvalidArgument, "32 bytes"},
		{"another column", nil, numbers(t, "number", 5, 5), codes.InvalidArgument, `"number"`},
		{"no such table", func(cmd *wirepb.AppendRows) { cmd.Table = "demo.nothing" }, numbers(t, "id", 5, 5), codes.NotFound, "demo.nothing"},
		{"no operation", func(cmd *wirepb.AppendRows) { cmd.Operation = "" }, numbers(t, "id", 5, 5), codes.InvalidArgument, "UUIDv7"},
		{"no schema", nil, &upload{sent: numbers(t, "id", 5, 5).sent[1:]}, codes.InvalidArgument, "schema"},
		{"nothing", nil, &upload{sent: []*arrowflight.FlightData{{}}}, codes.InvalidArgument, "schema"},
	} {
		cmd := command(t)
		if tt.change != nil {
			tt.change(cmd)
		}
		_, err := put(t.Context(), c, cmd, tt.u)
		if s := status.Convert(err); s.Code() != tt.code || !strings.Contains(s.Message(), tt.says) {
			t.Errorf("%s: %v %q, want %v that says %q", tt.name, s.Code(), s.Message(), tt.code, tt.says)
		}
	}
	if v := versionOf(t, a); v != 0 {
		t.Errorf("version %d after refusals", v)
	}
}

// Appends that say nothing of their size count as the largest: four fit.
func TestMemoryOfRowsIsBounded(t *testing.T) {
	c, _, a := open(t)
	create(t, a, "demo.flights")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 4 {
		b, err := wire.EncodeCommand(command(t))
		if err != nil {
			t.Fatal(err)
		}
		stream, err := c.DoPut(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(&arrowflight.FlightData{FlightDescriptor: &arrowflight.FlightDescriptor{Type: arrowflight.DescriptorCMD, Cmd: b}}); err != nil {
			t.Fatal(err)
		}
	}
	u := numbers(t, "id", 5, 5)
	full := false
	for i := 0; i < 100 && !full; i++ { // they take it as soon as the server reads them
		_, err := put(t.Context(), c, command(t), u)
		full = status.Code(err) == codes.ResourceExhausted
	}
	if !full {
		t.Error("a fifth append of unknown size finds memory")
	}
	cancel()
	cmd := command(t)
	cmd.Bytes = u.bytes
	for i := 0; ; i++ { // and give it back when they have gone
		_, err := put(t.Context(), c, cmd, u)
		if err == nil {
			break
		}
		if status.Code(err) != codes.ResourceExhausted || i == 100 {
			t.Fatalf("after they have gone: %v", err)
		}
	}
}

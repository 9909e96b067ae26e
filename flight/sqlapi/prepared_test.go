package sqlapi_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	flightgen "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// params is rows of one bigint.
func params(t *testing.T, values ...int64) arrow.RecordBatch {
	t.Helper()
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(values, nil)
	col := b.NewArray()
	defer col.Release()
	s := arrow.NewSchema([]arrow.Field{{Name: "$1", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	return array.NewRecordBatch(s, []arrow.Array{col}, int64(len(values)))
}

func (l *lake) prepare(t *testing.T, sql string) *flightsql.PreparedStatement {
	t.Helper()
	p, err := l.sql.Prepare(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (l *lake) execute(t *testing.T, p *flightsql.PreparedStatement) (int64, error) {
	t.Helper()
	info, err := p.Execute(t.Context())
	if err != nil {
		return 0, err
	}
	return l.get(t, info.GetEndpoint()[0].GetTicket())
}

func TestPreparedStatementSaysItsSchemas(t *testing.T) {
	l := open(t)
	l.create(t, "demo.flights")
	p := l.prepare(t, "SELECT count(*) FROM demo.flights WHERE id = $1")
	if !p.DatasetSchema().Equal(countSchema) {
		t.Errorf("result: %v", p.DatasetSchema())
	}
	if s := p.ParameterSchema(); s.NumFields() != 1 || s.Field(0).Name != "$1" || !arrow.TypeEqual(s.Field(0).Type, arrow.PrimitiveTypes.Int64) {
		t.Errorf("parameters: %v", s)
	}
	none := l.prepare(t, "SELECT count(*) FROM demo.flights")
	if s := none.ParameterSchema(); s == nil || s.NumFields() != 0 {
		t.Errorf("no parameters: %v", s)
	}
}

// A handle pins no snapshot: each execution sees the tables of its moment.
func TestPreparedStatementRunsAnew(t *testing.T) {
	l := open(t)
	table := l.create(t, "demo.flights")
	p := l.prepare(t, "SELECT count(*) FROM demo.flights")
	for want := range int64(3) {
		if n, err := l.execute(t, p); n != want*10 || err != nil {
			t.Errorf("%d rows (%v), want %d", n, err, want*10)
		}
		l.append(t, table, 10)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestParametersAreSealedIntoTheHandle(t *testing.T) {
	l := open(t)
	l.append(t, l.create(t, "demo.flights"), 10)
	p := l.prepare(t, "SELECT count(*) FROM demo.flights WHERE id = $1")
	if _, err := l.execute(t, p); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "bind") {
		t.Errorf("without parameters: %v", err)
	}
	for _, v := range []int64{5, 700} {
		p.SetParameters(params(t, v))
		if n, err := l.execute(t, p); n != 10+v || err != nil {
			t.Errorf("with %d: %d (%v), want %d", v, n, err, 10+v)
		}
	}
	p.SetParameters(params(t, 1, 2))
	if _, err := l.execute(t, p); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "one row") {
		t.Errorf("with two rows: %v", err)
	}
}

func TestPreparedStatementOfAnotherSchemaIsPreparedAgain(t *testing.T) {
	l := open(t)
	l.create(t, "demo.flights")
	p := l.prepare(t, "SELECT count(*) FROM demo.flights")
	l.exec.columns.Store("other")
	if _, err := l.execute(t, p); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "prepare it again") {
		t.Errorf("%v", err)
	}
}

func TestHandlesAreNotTicketsAndEnd(t *testing.T) {
	l := open(t)
	l.create(t, "demo.flights")
	handle := l.prepare(t, "SELECT count(*) FROM demo.flights").Handle()
	ticket := l.info(t, "SELECT count(*) FROM demo.flights").GetEndpoint()[0].GetTicket()
	run := func(handle []byte) error {
		a, err := anypb.New(&flightgen.CommandPreparedStatementQuery{PreparedStatementHandle: handle})
		if err != nil {
			t.Fatal(err)
		}
		b, err := proto.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.client.GetFlightInfo(t.Context(), &arrowflight.FlightDescriptor{Type: arrowflight.DescriptorCMD, Cmd: b})
		return err
	}
	if err := run(handle); err != nil {
		t.Errorf("the handle itself: %v", err)
	}
	changed := bytes.Clone(handle)
	changed[len(changed)/2] ^= 1
	var inTicket anypb.Any
	var stmt flightgen.TicketStatementQuery
	if err := proto.Unmarshal(ticket.GetTicket(), &inTicket); err != nil {
		t.Fatal(err)
	}
	if err := inTicket.UnmarshalTo(&stmt); err != nil {
		t.Fatal(err)
	}
	for name, h := range map[string][]byte{"changed": changed, "empty": nil, "a ticket": stmt.GetStatementHandle()} {
		if err := run(h); status.Code(err) != codes.Unauthenticated {
			t.Errorf("%s: %v", name, err)
		}
	}
	l.now.Store(int64(24*time.Hour + time.Second))
	if err := run(handle); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("after a day: %v", err)
	}
}

// bindRaw uploads parameters as a client of its own mind would.
func (l *lake) bindRaw(t *testing.T, handle []byte, frames ...*arrowflight.FlightData) error {
	t.Helper()
	stream, err := l.client.DoPut(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	frames[0].FlightDescriptor = descriptor(t, &flightgen.CommandPreparedStatementQuery{PreparedStatementHandle: handle})
	for _, f := range frames {
		if stream.Send(f) != nil {
			break // the answer says why
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	return err
}

// frames are the messages of rows.
func frames(t *testing.T, b arrow.RecordBatch, o ...ipc.Option) []*arrowflight.FlightData {
	t.Helper()
	var f collected
	w := arrowflight.NewRecordWriter(&f, append(o, ipc.WithSchema(b.Schema()))...)
	if err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return f
}

type collected []*arrowflight.FlightData

func (c *collected) Send(d *arrowflight.FlightData) error {
	*c = append(*c, proto.Clone(d).(*arrowflight.FlightData))
	return nil
}

func TestParametersAreLookedAtBeforeTheyAreRead(t *testing.T) {
	l := open(t)
	l.append(t, l.create(t, "demo.flights"), 10)
	p := l.prepare(t, "SELECT count(*) FROM demo.flights WHERE id = $1")
	good := func() []*arrowflight.FlightData { return frames(t, params(t, 5)) }
	if err := l.bindRaw(t, p.Handle(), good()...); err != nil {
		t.Fatalf("as they should be: %v", err)
	}
	cut := good()
	cut[1].DataBody = cut[1].DataBody[:1]
	large := good()
	large[1].DataBody = append(large[1].DataBody, make([]byte, 200<<10)...)
	noSchema := good()[1:]
	for name, tt := range map[string]struct {
		frames []*arrowflight.FlightData
		code   codes.Code
	}{
		"compressed":                 {frames(t, params(t, 5), ipc.WithZstd()), codes.Unimplemented},
		"less body than they say":    {cut, codes.InvalidArgument},
		"more bytes than there may":  {large, codes.ResourceExhausted},
		"without a schema":           {noSchema, codes.InvalidArgument},
		"a schema that is no schema": {[]*arrowflight.FlightData{{DataHeader: []byte("garbage")}}, codes.InvalidArgument},
		"a schema only":              {good()[:1], codes.InvalidArgument},
	} {
		if err := l.bindRaw(t, p.Handle(), tt.frames...); status.Code(err) != tt.code {
			t.Errorf("%s: %v, want %v", name, err, tt.code)
		}
	}
}

// Python's None is a column without a type, and its row has no bytes.
func TestAParameterMayHaveNoType(t *testing.T) {
	l := open(t)
	l.append(t, l.create(t, "demo.flights"), 10)
	p := l.prepare(t, "SELECT count(*) FROM demo.flights WHERE id = $1")
	schema := arrow.NewSchema([]arrow.Field{{Name: "0", Type: arrow.Null, Nullable: true}}, nil)
	p.SetParameters(array.NewRecordBatch(schema, []arrow.Array{array.NewNull(1)}, 1))
	if n, err := l.execute(t, p); n != 10 || err != nil {
		t.Errorf("%d rows (%v)", n, err)
	}
}

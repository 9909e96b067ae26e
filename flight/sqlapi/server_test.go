package sqlapi_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	flightgen "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/delta"
	"github.com/lakeward/lake/flight"
	"github.com/lakeward/lake/flight/control"
	"github.com/lakeward/lake/flight/sqlapi"
	"github.com/lakeward/lake/flight/tickets"
	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/flight/wire/wirepb"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta/authority"
	"github.com/lakeward/lake/meta/catalog"
	metamem "github.com/lakeward/lake/meta/mem"
	"github.com/lakeward/lake/objects"
	objectsmem "github.com/lakeward/lake/objects/mem"
)

// counting stands for the engine: the answer to any statement is the number of
// rows in the snapshots that it was given, the tables in the directory, and the
// value of its parameter more.
type counting struct {
	released atomic.Int64
	columns  atomic.Value // string: the name of the result's column, if not rows
}

var (
	fromClause  = regexp.MustCompile(`(?i)from\s+(\S+)(?: AT \((?:VERSION => (\d+)|TIMESTAMP => '([^']+)')\))?`)
	countSchema = arrow.NewSchema([]arrow.Field{{Name: "rows", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
)

func (c *counting) Tables(_ context.Context, sql string) (out []engine.Reference, err error) {
	for _, m := range fromClause.FindAllStringSubmatch(sql, -1) {
		if name, ok := strings.CutPrefix(m[1], "information_schema."); ok {
			out = append(out, engine.Reference{Table: ident.Table{Namespace: engine.InformationSchema, Name: name}})
			continue
		}
		t, err := ident.ParseTable(m[1])
		if err != nil {
			return nil, err
		}
		r := engine.Reference{Table: t}
		if v, err := strconv.ParseInt(m[2], 10, 64); err == nil {
			r.At = engine.AtVersion(ident.Version(v))
		}
		if t, err := time.Parse(time.RFC3339Nano, m[3]); err == nil {
			r.At = engine.AtTime(t)
		}
		out = append(out, r)
	}
	return out, nil
}

func (c *counting) Describe(_ context.Context, q engine.Query) (engine.Description, error) {
	var params []arrow.Field
	if strings.Contains(q.SQL, "$1") {
		params = []arrow.Field{{Name: "$1", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}
	}
	result := countSchema
	if name, ok := c.columns.Load().(string); ok {
		result = arrow.NewSchema([]arrow.Field{{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	}
	return engine.Description{Result: result, Params: arrow.NewSchema(params, nil)}, nil
}

func (c *counting) Query(_ context.Context, q engine.Query) (engine.Rows, error) {
	n := int64(len(q.Directory))
	for _, t := range q.Tables {
		for _, f := range t.Scan.Files {
			n += f.Rows
		}
	}
	if q.Params != nil {
		r, err := ipc.NewReader(bytes.NewReader(q.Params))
		if err != nil {
			return nil, err
		}
		defer r.Release()
		for r.Next() {
			if v, ok := r.RecordBatch().Column(0).(*array.Int64); ok {
				n += v.Value(0)
			}
		}
	}
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.Append(n)
	col := b.NewArray()
	defer col.Release()
	batch := array.NewRecordBatch(countSchema, []arrow.Array{col}, 1)
	defer batch.Release()
	m := &messages{c: c, endless: strings.Contains(q.SQL, "endless")}
	w := arrowflight.NewRecordWriter(m, ipc.WithSchema(countSchema))
	return m, errors.Join(w.Write(batch), w.Close())
}

// messages is a result that is already there.
type messages struct {
	c       *counting
	left    [][]byte
	endless bool // waits for ever before its end
}

func (m *messages) Send(d *arrowflight.FlightData) error {
	b, err := proto.Marshal(d)
	m.left = append(m.left, b)
	return err
}

func (m *messages) Next(ctx context.Context) (engine.Message, error) {
	if len(m.left) == 0 && m.endless {
		<-ctx.Done()
		return engine.Message{}, ctx.Err()
	}
	if len(m.left) == 0 {
		return engine.Message{}, io.EOF
	}
	b := m.left[0]
	m.left = m.left[1:]
	return engine.Message{Bytes: b, Release: func() { m.c.released.Add(1) }}, nil
}

func (m *messages) Close() {}

// lake is a Query replica and a Metasrv over memory.
type lake struct {
	objs   objects.Store
	exec   *counting
	client flightgen.FlightServiceClient
	meta   *authority.Authority
	sql    *flightsql.Client
	now    atomic.Int64 // nanoseconds added to the clock that tickets and commits see
}

func serve(t *testing.T, service arrowflight.FlightServer) *grpc.ClientConn {
	t.Helper()
	l, err := flight.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := flight.NewServer(l, service, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, func() {}) }()
	conn, err := wire.Dial(s.URI())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("server: %v", err)
		}
	})
	return conn
}

func open(t *testing.T) *lake {
	t.Helper()
	l := &lake{objs: objectsmem.New(), exec: &counting{}}
	clock := func() time.Time { return time.Now().Add(time.Duration(l.now.Load())) }
	engines := []engine.Engine{delta.New(l.objs, delta.Options{Version: "test", Clock: clock})}
	a := authority.New(metamem.New(), engines, authority.Options{})
	l.meta = a
	meta := control.NewClient(serve(t, control.NewServer(a, control.Options{Tenant: ident.DevTenant, Root: "file:///lake", Lake: "id"})))
	cache, err := catalog.New(meta, catalog.Options{TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := tickets.NewEphemeral(clock)
	if err != nil {
		t.Fatal(err)
	}
	service, err := sqlapi.NewServer(l.exec, cache, meta, keys, engines, sqlapi.Options{Tenant: ident.DevTenant, Version: "1.2.3", Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	conn := serve(t, service)
	l.client = flightgen.NewFlightServiceClient(conn)
	l.sql = &flightsql.Client{Client: arrowflight.NewClientFromConn(conn, nil)}
	return l
}

func (l *lake) action(t *testing.T, name string, req, resp proto.Message) error {
	t.Helper()
	body, err := proto.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := l.client.DoAction(t.Context(), &arrowflight.Action{Type: name, Body: body})
	if err != nil {
		return err
	}
	r, err := stream.Recv()
	if err != nil {
		return err
	}
	return proto.Unmarshal(r.GetBody(), resp)
}

var schema = arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)

func (l *lake) create(t *testing.T, name string) *wirepb.Table {
	t.Helper()
	op, _ := ident.NewOperation()
	var made wirepb.TableCreated
	req := &wirepb.CreateTable{Table: name, Schema: engine.EncodeSchema(schema), Operation: op.String()}
	if err := l.action(t, wire.CreateTable, req, &made); err != nil {
		t.Fatal(err)
	}
	return made.GetTable()
}

func (l *lake) stage(t *testing.T, table *wirepb.Table, n int64) engine.Manifest {
	t.Helper()
	exact, err := engine.DecodeSchema(table.GetSchema())
	if err != nil {
		t.Fatal(err)
	}
	rows := func(yield func(arrow.RecordBatch, error) bool) {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		defer b.Release()
		for i := range n {
			b.Append(i)
		}
		col := b.NewArray()
		defer col.Release()
		batch := array.NewRecordBatch(schema, []arrow.Array{col}, n)
		defer batch.Release()
		yield(batch, nil)
	}
	e := delta.New(l.objs, delta.Options{})
	m, err := e.Table(objects.Location(table.GetLocation())).Stage(t.Context(), exact, iter.Seq2[arrow.RecordBatch, error](rows))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// put sends parts of a manifest and returns the answer.
func (l *lake) put(t *testing.T, table *wirepb.Table, parts ...*wirepb.ManifestPart) (*wirepb.Appended, error) {
	t.Helper()
	op, _ := ident.NewOperation()
	cmd, err := wire.EncodeCommand(&wirepb.AppendCommand{
		Table: table.GetNamespace() + "." + table.GetName(), Incarnation: table.GetIncarnation(),
		Operation: op.String(), Digest: make([]byte, 32),
	})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := l.client.DoPut(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	desc := &arrowflight.FlightDescriptor{Type: arrowflight.DescriptorCMD, Cmd: cmd}
	for _, p := range parts {
		b, err := proto.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(&arrowflight.FlightData{FlightDescriptor: desc, AppMetadata: b}); err != nil {
			break
		}
		desc = nil
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	r, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	var done wirepb.Appended
	return &done, proto.Unmarshal(r.GetAppMetadata(), &done)
}

func (l *lake) append(t *testing.T, table *wirepb.Table, n int64) *wirepb.Appended {
	t.Helper()
	var parts []*wirepb.ManifestPart
	for p := range wire.Parts(l.stage(t, table, n)) {
		parts = append(parts, p)
	}
	done, err := l.put(t, table, parts...)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func (l *lake) get(t *testing.T, ticket *arrowflight.Ticket) (int64, error) {
	t.Helper()
	r, err := l.sql.DoGet(t.Context(), ticket)
	if err != nil {
		return 0, err
	}
	defer r.Release()
	var n int64
	for r.Next() {
		n += r.RecordBatch().Column(0).(*array.Int64).Value(0)
	}
	return n, r.Err()
}

func (l *lake) info(t *testing.T, sql string) *arrowflight.FlightInfo {
	t.Helper()
	info, err := l.sql.Execute(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestTicketReadsTheSnapshotThatWasPlanned(t *testing.T) {
	l := open(t)
	table := l.create(t, "demo.flights")
	l.append(t, table, 10)
	info := l.info(t, "SELECT count(*) FROM demo.flights")
	l.append(t, table, 5)
	for range 2 { // a ticket can be redeemed again
		if n, err := l.get(t, info.GetEndpoint()[0].GetTicket()); n != 10 || err != nil {
			t.Errorf("the old ticket counts %d rows (%v), want 10", n, err)
		}
	}
	if n, err := l.get(t, l.info(t, "SELECT count(*) FROM demo.flights").GetEndpoint()[0].GetTicket()); n != 15 || err != nil {
		t.Errorf("a new ticket counts %d rows (%v), want 15: this replica acknowledged them", n, err)
	}
	if sent := l.exec.released.Load(); sent != 6 {
		t.Errorf("%d messages were released, want 6: a schema and a batch for each answer", sent)
	}
}

// A writer whose answer was lost asks again and hears that its rows are there:
// it must see them, although this replica did not bring that answer before.
func TestAcknowledgedReplayIsSeenAtOnce(t *testing.T) {
	l := open(t)
	table := l.create(t, "demo.flights")
	count := func() int64 {
		n, err := l.get(t, l.info(t, "SELECT count(*) FROM demo.flights").GetEndpoint()[0].GetTicket())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := count(); n != 0 {
		t.Fatalf("%d rows", n)
	}
	op, _ := ident.NewOperation()
	_, err := l.meta.Append(t.Context(), authority.AppendRequest{
		Tenant: ident.DevTenant, Table: ident.Table{Namespace: "demo", Name: "flights"},
		Incarnation: ident.Incarnation(table.GetIncarnation()), Operation: op, Manifest: l.stage(t, table, 10),
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := count(); n != 0 {
		t.Fatalf("the cache of this test was to be stale: %d rows", n)
	}
	var target wirepb.StageTarget
	req := &wirepb.StageAppend{Table: "demo.flights", Operation: op.String(), Digest: make([]byte, 32)}
	if err := l.action(t, wire.StageAppend, req, &target); err != nil || target.GetDone().GetRows() != 10 {
		t.Fatalf("%v, %v", &target, err)
	}
	if n := count(); n != 10 {
		t.Errorf("%d rows after the acknowledgement, want 10", n)
	}
}

func TestFlightInfoHasTheSchemaAndOneEndpoint(t *testing.T) {
	l := open(t)
	l.create(t, "demo.flights")
	info := l.info(t, "SELECT count(*) FROM demo.flights")
	got, err := arrowflight.DeserializeSchema(info.GetSchema(), memory.DefaultAllocator)
	if err != nil || !got.Equal(countSchema) {
		t.Errorf("schema %v (%v)", got, err)
	}
	if n := len(info.GetEndpoint()); n != 1 || len(info.GetEndpoint()[0].GetLocation()) != 0 {
		t.Errorf("%d endpoints", n)
	}
	desc := info.GetFlightDescriptor()
	res, err := l.client.GetSchema(t.Context(), desc)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := arrowflight.DeserializeSchema(res.GetSchema(), memory.DefaultAllocator); err != nil || !got.Equal(countSchema) {
		t.Errorf("GetSchema: %v (%v)", got, err)
	}
}

func TestTicketsThatAreNotOursOrAreOver(t *testing.T) {
	l := open(t)
	l.create(t, "demo.flights")
	good := l.info(t, "SELECT count(*) FROM demo.flights").GetEndpoint()[0].GetTicket().GetTicket()
	changed := append([]byte{}, good...)
	changed[len(changed)-1] ^= 1
	for name, b := range map[string][]byte{"changed": changed, "empty": nil, "garbage": []byte("garbage")} {
		if _, err := l.get(t, &arrowflight.Ticket{Ticket: b}); status.Code(err) != codes.Unauthenticated {
			t.Errorf("%s: %v", name, err)
		}
	}
	l.now.Store(int64(time.Hour + time.Second))
	if _, err := l.get(t, &arrowflight.Ticket{Ticket: good}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("expired: %v", err)
	}
}

func TestHalfAManifestCommitsNothing(t *testing.T) {
	l := open(t)
	table := l.create(t, "demo.flights")
	var part *wirepb.ManifestPart
	for p := range wire.Parts(l.stage(t, table, 10)) {
		part = p
	}
	part.Last = false
	if _, err := l.put(t, table, part); status.Code(err) != codes.InvalidArgument {
		t.Errorf("without its last part: %v", err)
	}
	if _, err := l.put(t, table); err == nil {
		t.Error("without any part: no error")
	}
	part.Last = true
	if _, err := l.put(t, table, part, part); status.Code(err) != codes.InvalidArgument {
		t.Errorf("with a part after its last: %v", err)
	}
	if n, err := l.get(t, l.info(t, "SELECT count(*) FROM demo.flights").GetEndpoint()[0].GetTicket()); n != 0 || err != nil {
		t.Errorf("%d rows (%v) after refusals", n, err)
	}
}

func TestWhatIsNotThereIsRefusedByName(t *testing.T) {
	l := open(t)
	command := func(m proto.Message) *arrowflight.FlightDescriptor {
		a, err := anypb.New(m)
		if err != nil {
			t.Fatal(err)
		}
		b, err := proto.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		return &arrowflight.FlightDescriptor{Type: arrowflight.DescriptorCMD, Cmd: b}
	}
	info := func(d *arrowflight.FlightDescriptor) error {
		_, err := l.client.GetFlightInfo(t.Context(), d)
		return err
	}
	put := func(d *arrowflight.FlightDescriptor) error {
		stream, err := l.client.DoPut(t.Context())
		if err != nil {
			return err
		}
		_ = stream.Send(&arrowflight.FlightData{FlightDescriptor: d})
		_, err = stream.Recv()
		return err
	}
	tx := &flightgen.CommandStatementQuery{Query: "SELECT 1", TransactionId: []byte("x")}
	for _, tt := range []struct {
		name string
		err  error
		code codes.Code
		says string
	}{
		{"a path", info(&arrowflight.FlightDescriptor{Type: arrowflight.DescriptorPATH, Path: []string{"x"}}), codes.Unimplemented, "Flight SQL"},
		{"garbage", info(&arrowflight.FlightDescriptor{Type: arrowflight.DescriptorCMD, Cmd: []byte("garbage")}), codes.InvalidArgument, "Flight SQL"},
		{"no command", info(&arrowflight.FlightDescriptor{Type: arrowflight.DescriptorCMD}), codes.InvalidArgument, "Flight SQL"},
		{"another command", info(command(&flightgen.CommandStatementSubstraitPlan{})), codes.Unimplemented, "CommandStatementSubstraitPlan"},
		{"a transaction", info(command(tx)), codes.Unimplemented, "autocommit"},
		{"an update", put(command(&flightgen.CommandStatementUpdate{Query: "DROP TABLE x"})), codes.Unimplemented, "lake load"},
		{"an unknown action", l.action(t, "BeginTransaction", &wirepb.GetRoot{}, &wirepb.Root{}), codes.Unimplemented, "BeginTransaction"},
		{"a table that does not exist", info(command(&flightgen.CommandStatementQuery{Query: "SELECT 1 FROM demo.nothing"})), codes.NotFound, "demo.nothing"},
	} {
		s := status.Convert(tt.err)
		if s.Code() != tt.code || !strings.Contains(s.Message(), tt.says) {
			t.Errorf("%s: %v %q, want %v that says %q", tt.name, s.Code(), s.Message(), tt.code, tt.says)
		}
	}
}

func TestListingGoesOnOverPages(t *testing.T) {
	l := open(t)
	const tables = 3
	for i := range tables {
		l.create(t, "demo.t"+string(rune('a'+i)))
	}
	stream, err := l.client.DoAction(t.Context(), &arrowflight.Action{Type: wire.ListTables})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var page wirepb.TablePage
		if err := proto.Unmarshal(r.GetBody(), &page); err != nil {
			t.Fatal(err)
		}
		for _, p := range page.GetTables() {
			names = append(names, p.GetName())
		}
	}
	if got := strings.Join(names, " "); got != "ta tb tc" {
		t.Errorf("listed %q", got)
	}
}

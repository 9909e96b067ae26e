package sqlapi_test

import (
	"context"
	"fmt"
	"math"
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
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/delta"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta/authority"
	"github.com/lakeward/lake/objects"
)

type definition = flightgen.CommandStatementIngest_TableDefinitionOptions

var (
	createMode = &definition{
		IfNotExist: flightgen.CommandStatementIngest_TableDefinitionOptions_TABLE_NOT_EXIST_OPTION_CREATE,
		IfExists:   flightgen.CommandStatementIngest_TableDefinitionOptions_TABLE_EXISTS_OPTION_FAIL,
	}
	appendMode = &definition{
		IfNotExist: flightgen.CommandStatementIngest_TableDefinitionOptions_TABLE_NOT_EXIST_OPTION_FAIL,
		IfExists:   flightgen.CommandStatementIngest_TableDefinitionOptions_TABLE_EXISTS_OPTION_APPEND,
	}
	createAppendMode = &definition{
		IfNotExist: flightgen.CommandStatementIngest_TableDefinitionOptions_TABLE_NOT_EXIST_OPTION_CREATE,
		IfExists:   flightgen.CommandStatementIngest_TableDefinitionOptions_TABLE_EXISTS_OPTION_APPEND,
	}
	replaceMode = &definition{
		IfNotExist: flightgen.CommandStatementIngest_TableDefinitionOptions_TABLE_NOT_EXIST_OPTION_CREATE,
		IfExists:   flightgen.CommandStatementIngest_TableDefinitionOptions_TABLE_EXISTS_OPTION_REPLACE,
	}
)

// ids are batches of n rows each, with numbers from first on.
func ids(t testing.TB, first int64, sizes ...int) []arrow.RecordBatch {
	t.Helper()
	var out []arrow.RecordBatch
	for _, n := range sizes {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		defer b.Release()
		for range n {
			b.Field(0).(*array.Int64Builder).Append(first)
			first++
		}
		batch := b.NewRecordBatch()
		t.Cleanup(batch.Release)
		out = append(out, batch)
	}
	return out
}

// ingest sends batches as a stock client does.
func (l *lake) ingest(ctx context.Context, cmd *flightgen.CommandStatementIngest, batches ...arrow.RecordBatch) (int64, error) {
	// Stock clients know no bound on what they send.
	const unbounded = math.MaxInt32
	r, err := array.NewRecordReader(batches[0].Schema(), batches)
	if err != nil {
		return 0, err
	}
	defer r.Release()
	c := &flightsql.Client{Client: l.sql.Client, Alloc: memory.DefaultAllocator}
	return c.ExecuteIngest(ctx, r, (*flightsql.ExecuteIngestOpts)(cmd), grpc.MaxCallSendMsgSize(unbounded))
}

func (l *lake) rowsOf(t *testing.T, table string) int64 {
	t.Helper()
	n, err := l.get(t, l.info(t, "SELECT count(*) FROM "+table).GetEndpoint()[0].GetTicket())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (l *lake) version(t *testing.T, name string) ident.Version {
	t.Helper()
	table, err := ident.ParseTable(name)
	if err != nil {
		t.Fatal(err)
	}
	reg, err := l.meta.Registry().Lookup(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	return reg.Version
}

func TestIngestModes(t *testing.T) {
	l := open(t)
	l.create(t, "demo.there")
	for _, tt := range []struct {
		name  string
		cmd   *flightgen.CommandStatementIngest
		code  codes.Code
		says  string
		table string // what has 10 rows more then
	}{
		{name: "append", cmd: &flightgen.CommandStatementIngest{Table: "there", Schema: new("demo"), TableDefinitionOptions: appendMode}, table: "demo.there"},
		{name: "append to nothing", cmd: &flightgen.CommandStatementIngest{Table: "nothing", Schema: new("demo"), TableDefinitionOptions: appendMode}, code: codes.NotFound, says: "mode create"},
		{name: "create", cmd: &flightgen.CommandStatementIngest{Table: "made", Schema: new("demo"), TableDefinitionOptions: createMode}, table: "demo.made"},
		{name: "create what is there", cmd: &flightgen.CommandStatementIngest{Table: "there", Schema: new("demo"), TableDefinitionOptions: createMode}, code: codes.AlreadyExists, says: "mode append"},
		{name: "create or append, there", cmd: &flightgen.CommandStatementIngest{Table: "there", Schema: new("demo"), TableDefinitionOptions: createAppendMode}, table: "demo.there"},
		{name: "create or append, not there", cmd: &flightgen.CommandStatementIngest{Table: "both", Schema: new("demo"), TableDefinitionOptions: createAppendMode}, table: "demo.both"},
		{name: "the default namespace", cmd: &flightgen.CommandStatementIngest{Table: "Made", TableDefinitionOptions: createMode}, table: "main.made"},
		{name: "the catalog by name", cmd: &flightgen.CommandStatementIngest{Table: "again", Catalog: new("lake"), TableDefinitionOptions: createMode}, table: "main.again"},
		{name: "replace", cmd: &flightgen.CommandStatementIngest{Table: "there", Schema: new("demo"), TableDefinitionOptions: replaceMode}, code: codes.Unimplemented, says: "cannot drop"},
		{name: "no mode", cmd: &flightgen.CommandStatementIngest{Table: "there", TableDefinitionOptions: &definition{}}, code: codes.InvalidArgument, says: "create_append"},
		{name: "a mode that does nothing", cmd: &flightgen.CommandStatementIngest{Table: "there", TableDefinitionOptions: &definition{IfNotExist: appendMode.IfNotExist, IfExists: createMode.IfExists}}, code: codes.InvalidArgument, says: "create_append"},
		{name: "a temporary table", cmd: &flightgen.CommandStatementIngest{Table: "t", Temporary: true, TableDefinitionOptions: createMode}, code: codes.Unimplemented, says: "temporary"},
		{name: "a transaction", cmd: &flightgen.CommandStatementIngest{Table: "t", TransactionId: []byte("x"), TableDefinitionOptions: createMode}, code: codes.Unimplemented, says: "autocommit"},
		{name: "another catalog", cmd: &flightgen.CommandStatementIngest{Table: "t", Catalog: new("hive"), TableDefinitionOptions: createMode}, code: codes.NotFound, says: "hive"},
		{name: "a reserved namespace", cmd: &flightgen.CommandStatementIngest{Table: "t", Schema: new("system"), TableDefinitionOptions: createMode}, code: codes.InvalidArgument, says: "reserved"},
		{name: "a name that is none", cmd: &flightgen.CommandStatementIngest{Table: "a table", TableDefinitionOptions: createMode}, code: codes.InvalidArgument, says: "a table"},
		{name: "an option that is not there", cmd: &flightgen.CommandStatementIngest{Table: "t", Options: map[string]string{"x": "y"}, TableDefinitionOptions: createMode}, code: codes.Unimplemented, says: "lake.operation_id"},
		{name: "an operation that is none", cmd: &flightgen.CommandStatementIngest{Table: "t", Options: map[string]string{"lake.operation_id": "y"}, TableDefinitionOptions: createMode}, code: codes.InvalidArgument, says: "UUIDv7"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var before int64
			if tt.table == "demo.there" {
				before = l.rowsOf(t, tt.table)
			}
			n, err := l.ingest(t.Context(), tt.cmd, ids(t, 0, 7, 0, 3)...)
			if s := status.Convert(err); s.Code() != tt.code || !strings.Contains(s.Message(), tt.says) {
				t.Fatalf("%v %q, want %v that says %q", s.Code(), s.Message(), tt.code, tt.says)
			}
			if tt.table == "" {
				return
			}
			// This replica has the table in its cache, and must see it anew.
			if got := l.rowsOf(t, tt.table); n != 10 || got != before+10 {
				t.Errorf("%d rows were ingested, and %d are there, want 10 and %d", n, got, before+10)
			}
		})
	}
}

func TestIngestIsAppliedOnceForAnOperation(t *testing.T) {
	l := open(t)
	for _, mode := range []*definition{createMode, createAppendMode, appendMode} {
		op, _ := ident.NewOperation()
		cmd := &flightgen.CommandStatementIngest{Table: "t", TableDefinitionOptions: mode, Options: map[string]string{"lake.operation_id": op.String()}}
		var before ident.Version
		var rows int64
		if mode != createMode {
			before, rows = l.version(t, "t"), l.rowsOf(t, "main.t")
		}
		for range 3 {
			if n, err := l.ingest(t.Context(), cmd, ids(t, 0, 10)...); n != 10 || err != nil {
				t.Fatalf("%d rows (%v)", n, err)
			}
		}
		if v, n := l.version(t, "t"), l.rowsOf(t, "main.t"); v != before+1 || n != rows+10 {
			t.Errorf("version %d with %d rows after one operation, want %d with %d", v, n, before+1, rows+10)
		}
		if _, err := l.ingest(t.Context(), cmd, ids(t, 1, 10)...); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("the same operation with other rows: %v", err)
		}
		if n := l.rowsOf(t, "main.t"); n != rows+10 {
			t.Errorf("%d rows after a refusal", n)
		}
	}
}

// A create whose rows were not committed, because a process ended in between,
// is finished by the same operation and stands in the way of any other.
func TestIngestFillsTheTableThatItMade(t *testing.T) {
	l := open(t)
	op, _ := ident.NewOperation()
	cmd := &flightgen.CommandStatementIngest{Table: "t", TableDefinitionOptions: createMode, Options: map[string]string{"lake.operation_id": op.String()}}
	table := ident.Table{Namespace: "main", Name: "t"}
	made, _, err := l.meta.Create(t.Context(), authority.CreateRequest{Tenant: ident.DevTenant, Table: table, Schema: engine.EncodeSchema(schema), Operation: op})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := l.ingest(t.Context(), cmd, ids(t, 0, 10)...); n != 10 || err != nil {
		t.Fatalf("%d rows (%v)", n, err)
	}
	if n := l.rowsOf(t, "main.t"); n != 10 {
		t.Errorf("%d rows in %s", n, made.Table)
	}
	other, _ := ident.NewOperation()
	cmd.Options["lake.operation_id"] = other.String()
	if _, err := l.ingest(t.Context(), cmd, ids(t, 0, 10)...); status.Code(err) != codes.AlreadyExists {
		t.Errorf("another operation: %v", err)
	}
}

func TestIngestOfAnEmptyStreamMakesAnEmptyTable(t *testing.T) {
	l := open(t)
	if n, err := l.ingest(t.Context(), &flightgen.CommandStatementIngest{Table: "t", TableDefinitionOptions: createMode}, ids(t, 0, 0)...); n != 0 || err != nil {
		t.Fatalf("%d rows (%v)", n, err)
	}
	if n := l.rowsOf(t, "main.t"); n != 0 {
		t.Errorf("%d rows", n)
	}
}

// objectsBelow is how many objects there are below a prefix.
func (l *lake) objectsBelow(t *testing.T, prefix string) int {
	t.Helper()
	found, err := l.objs.List(t.Context(), prefix, "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// A client that goes away in the middle, or sends what cannot be kept, leaves
// no table, no version and no file.
func TestIngestThatFailsLeavesNothing(t *testing.T) {
	l := open(t)
	l.create(t, "demo.there")
	files := l.objectsBelow(t, "tables/")
	nested := arrow.NewSchema([]arrow.Field{{Name: "ok", Type: arrow.PrimitiveTypes.Int64}, {Name: "took", Type: arrow.FixedWidthTypes.Duration_ms}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, nested)
	defer b.Release()
	unsupported := b.NewRecordBatch()
	defer unsupported.Release()
	for _, tt := range []struct {
		name  string
		cmd   *flightgen.CommandStatementIngest
		batch arrow.RecordBatch
		code  codes.Code
		says  string
	}{
		{"a type that a table cannot have", &flightgen.CommandStatementIngest{Table: "t", TableDefinitionOptions: createMode}, unsupported, codes.Unimplemented, `"took"`},
		{"columns that the table does not have", &flightgen.CommandStatementIngest{Table: "there", Schema: new("demo"), TableDefinitionOptions: appendMode}, unsupported, codes.InvalidArgument, `"ok"`},
	} {
		_, err := l.ingest(t.Context(), tt.cmd, tt.batch)
		if s := status.Convert(err); s.Code() != tt.code || !strings.Contains(s.Message(), tt.says) {
			t.Errorf("%s: %v %q", tt.name, s.Code(), s.Message())
		}
	}
	for name, cmd := range map[string]*flightgen.CommandStatementIngest{
		"create": {Table: "t", TableDefinitionOptions: createMode},
		"append": {Table: "there", Schema: new("demo"), TableDefinitionOptions: appendMode},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := l.client.DoPut(ctx)
		if err != nil {
			t.Fatal(err)
		}
		w := arrowflight.NewRecordWriter(stream, ipc.WithSchema(schema))
		w.SetFlightDescriptor(descriptor(t, cmd))
		for _, b := range ids(t, 0, 100, 100) {
			if err := w.Write(b); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		if _, err := stream.Recv(); status.Code(err) != codes.Canceled {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A row that cannot be kept, behind a file that was begun.
	text := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	bad := array.NewRecordBuilder(memory.DefaultAllocator, text)
	defer bad.Release()
	for range 150_000 {
		bad.Field(0).(*array.StringBuilder).Append("good")
	}
	good := bad.NewRecordBatch()
	defer good.Release()
	bad.Field(0).(*array.StringBuilder).Append("\xff")
	last := bad.NewRecordBatch()
	defer last.Release()
	_, err := l.ingest(t.Context(), &flightgen.CommandStatementIngest{Table: "t", TableDefinitionOptions: createMode}, good, last)
	if s := status.Convert(err); s.Code() != codes.InvalidArgument || !strings.Contains(s.Message(), "UTF-8") {
		t.Errorf("text that is none: %v", err)
	}

	if n := l.objectsBelow(t, "tables/"); n != files {
		t.Errorf("%d objects are there, %d were before", n, files)
	}
	if v := l.version(t, "demo.there"); v != 0 {
		t.Errorf("version %d", v)
	}
	regs, _, err := l.meta.Registry().All(t.Context())
	if len(regs) != 1 || err != nil {
		t.Errorf("tables %v (%v)", regs, err)
	}
}

// descriptor is a command as clients send it.
func descriptor(t testing.TB, m proto.Message) *arrowflight.FlightDescriptor {
	t.Helper()
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

// A client may send each row as a batch; what is stored is not in a thousand
// row groups, and comes back in order.
func TestIngestJoinsTinyBatches(t *testing.T) {
	l := open(t)
	sizes := make([]int, 3000)
	for i := range sizes {
		sizes[i] = 1
	}
	n, err := l.ingest(t.Context(), &flightgen.CommandStatementIngest{Table: "t", TableDefinitionOptions: createMode}, ids(t, 0, sizes...)...)
	if n != 3000 || err != nil {
		t.Fatalf("%d rows (%v)", n, err)
	}
	if f := l.files(t, "main.t"); len(f) != 1 || f[0].Rows != 3000 || f[0].Stats[0].Max.Int != 2999 {
		t.Errorf("files %+v", f)
	}
}

// A stock client sends a table as it is: a million numbers as one message.
func TestIngestTakesATableAsOneMessage(t *testing.T) {
	l := open(t)
	n, err := l.ingest(t.Context(), &flightgen.CommandStatementIngest{Table: "t", TableDefinitionOptions: createMode}, ids(t, 0, 1_000_000)...)
	if f := l.files(t, "main.t"); n != 1_000_000 || err != nil || len(f) != 1 || f[0].Rows != n {
		t.Errorf("%d rows (%v), files %+v", n, err, f)
	}
}

// files are the data files that readers of a table see.
func (l *lake) files(t *testing.T, name string) (out []engine.File) {
	t.Helper()
	table, err := ident.ParseTable(name)
	if err != nil {
		t.Fatal(err)
	}
	reg, err := l.meta.Registry().Lookup(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	s, err := delta.New(l.objs, delta.Options{}).Table(objects.Location(reg.Location)).Snapshot(t.Context(), reg.Version)
	if err != nil {
		t.Fatal(err)
	}
	scan, err := s.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range scan.Files {
		out = append(out, f.File)
	}
	return out
}

func TestUpdatesSayWhatWorks(t *testing.T) {
	l := open(t)
	for _, m := range []proto.Message{
		&flightgen.CommandStatementUpdate{Query: "CREATE TABLE t (a INT)"},
		&flightgen.CommandPreparedStatementUpdate{PreparedStatementHandle: []byte("x")},
		&flightgen.CommandStatementSubstraitPlan{},
	} {
		stream, err := l.client.DoPut(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(&arrowflight.FlightData{FlightDescriptor: descriptor(t, m)}); err != nil {
			t.Fatal(err)
		}
		_, err = stream.Recv()
		for _, way := range []string{"lake table create", "adbc_ingest", "lake load"} {
			if s := status.Convert(err); s.Code() != codes.Unimplemented || !strings.Contains(s.Message(), way) {
				t.Errorf("%T: %v, want one that says %q", m, err, way)
			}
		}
	}
	stream, err := l.client.DoPut(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.InvalidArgument {
		t.Errorf("an upload of nothing: %v", err)
	}
}

func TestIngestsAreBounded(t *testing.T) {
	l := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// Streams that have said what they are, and no more.
	for i := range 4 {
		stream, err := l.client.DoPut(ctx)
		if err != nil {
			t.Fatal(err)
		}
		w := arrowflight.NewRecordWriter(stream, ipc.WithSchema(schema))
		w.SetFlightDescriptor(descriptor(t, &flightgen.CommandStatementIngest{Table: fmt.Sprint("t", i), TableDefinitionOptions: createMode}))
		if err := w.Write(ids(t, 0, 1)[0]); err != nil {
			t.Fatal(err)
		}
	}
	// They take their slots as soon as the server reads them.
	full := false
	for i := 0; i < 100 && !full; i++ {
		impatient, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_, err := l.ingest(impatient, &flightgen.CommandStatementIngest{Table: fmt.Sprint("early", i), TableDefinitionOptions: createMode}, ids(t, 0, 1)...)
		full = status.Code(err) == codes.DeadlineExceeded
		stop()
	}
	if !full {
		t.Error("a fifth ingest finds a slot")
	}
	cancel()
	if n, err := l.ingest(t.Context(), &flightgen.CommandStatementIngest{Table: "more", TableDefinitionOptions: createMode}, ids(t, 0, 1)...); n != 1 || err != nil {
		t.Errorf("after they have gone: %d (%v)", n, err)
	}
}

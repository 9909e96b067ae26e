package sdk_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/delta"
	"github.com/lakeward/lake/flight"
	"github.com/lakeward/lake/flight/control"
	"github.com/lakeward/lake/flight/sqlapi"
	"github.com/lakeward/lake/flight/tickets"
	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta/authority"
	"github.com/lakeward/lake/meta/catalog"
	metamem "github.com/lakeward/lake/meta/mem"
	"github.com/lakeward/lake/objects"
	"github.com/lakeward/lake/objects/local"
	"github.com/lakeward/lake/sdk"
)

// A testLake is a lake on a folder, without SQL: see counter.
type testLake struct {
	*sdk.Client
	dir   string
	meta  *authority.Authority
	lose  atomic.Int32 // how many answers to uploads get lost, after their effect
	tries atomic.Int32 // uploads that arrived
	stops []func() error
}

// newLake starts a lake in a folder.
func newLake(ctx context.Context, dir string) (l *testLake, err error) {
	l = &testLake{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.stop())
		}
	}()
	store, err := local.Open(dir, local.Options{NoSync: true})
	if err != nil {
		return l, err
	}
	l.stops = append(l.stops, store.Close)
	id, err := objects.MakeLake(ctx, store)
	if err != nil {
		return l, err
	}
	engines := []engine.Engine{delta.New(store, delta.Options{})}
	l.meta = authority.New(metamem.New(), engines, authority.Options{})
	root := (&url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}).String()
	uri, err := l.serve(ctx, control.NewServer(l.meta, control.Options{Tenant: ident.DevTenant, Root: root, Lake: id}))
	if err != nil {
		return l, err
	}
	conn, err := wire.Dial(uri)
	if err != nil {
		return l, err
	}
	l.stops = append(l.stops, conn.Close)
	meta := control.NewClient(conn)
	cache, err := catalog.New(meta, catalog.Options{TTL: time.Hour})
	if err != nil {
		return l, err
	}
	keys, err := tickets.NewEphemeral(nil)
	if err != nil {
		return l, err
	}
	service, err := sqlapi.NewServer(counter{}, cache, meta, keys, engines, sqlapi.Options{Tenant: ident.DevTenant})
	if err != nil {
		return l, err
	}
	if uri, err = l.serve(ctx, lossy{service, l}); err != nil {
		return l, err
	}
	if l.Client, err = sdk.Open(sdk.Options{URI: uri}); err != nil {
		return l, err
	}
	l.stops = append(l.stops, l.Close)
	return l, nil
}

func (l *testLake) serve(ctx context.Context, service arrowflight.FlightServer) (uri string, err error) {
	listener, err := flight.Listen("127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s := flight.NewServer(listener, service, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, func() {}) }()
	l.stops = append(l.stops, func() error { cancel(); return <-done })
	return s.URI(), nil
}

func (l *testLake) stop() (err error) {
	for i := len(l.stops) - 1; i >= 0; i-- {
		err = errors.Join(err, l.stops[i]())
	}
	return err
}

func open(t testing.TB) *testLake {
	t.Helper()
	l, err := newLake(context.WithoutCancel(t.Context()), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.stop(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// lossy loses answers to uploads.
type lossy struct {
	*sqlapi.Server
	l *testLake
}

func (s lossy) DoPut(stream arrowflight.FlightService_DoPutServer) error {
	s.l.tries.Add(1)
	err := s.Server.DoPut(muted{stream, s.l})
	if err == nil && s.l.lose.Add(-1) >= 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}

type muted struct {
	arrowflight.FlightService_DoPutServer
	l *testLake
}

func (m muted) Send(r *arrowflight.PutResult) error {
	if m.l.lose.Load() > 0 {
		return nil
	}
	return m.FlightService_DoPutServer.Send(r)
}

// counter stands for the engine: a statement names one table last, and its
// answer is the table's rows, from the files' own counts, as one number. A
// parameter is added.
type counter struct{}

var countSchema = arrow.NewSchema([]arrow.Field{{Name: "rows", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)

func (counter) Tables(_ context.Context, sql string) ([]engine.Reference, error) {
	words := strings.Fields(sql)
	t, err := ident.ParseTable(words[len(words)-1])
	return []engine.Reference{{Table: t}}, err
}

func (counter) Describe(_ context.Context, q engine.Query) (engine.Description, error) {
	var params []arrow.Field
	if strings.Contains(q.SQL, "$1") {
		params = []arrow.Field{{Name: "$1", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}
	}
	return engine.Description{Result: countSchema, Params: arrow.NewSchema(params, nil)}, nil
}

func (counter) Query(_ context.Context, q engine.Query) (engine.Rows, error) {
	var n int64
	for _, f := range q.Tables[0].Scan.Files {
		n += f.Rows
	}
	if q.Params != nil {
		r, err := ipc.NewReader(bytes.NewReader(q.Params))
		if err != nil {
			return nil, err
		}
		defer r.Release()
		for r.Next() {
			n += r.RecordBatch().Column(0).(*array.Int64).Value(0)
		}
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, countSchema)
	defer b.Release()
	b.Field(0).(*array.Int64Builder).Append(n)
	batch := b.NewRecordBatch()
	defer batch.Release()
	out := &answered{}
	w := arrowflight.NewRecordWriter(out, ipc.WithSchema(countSchema))
	return out, errors.Join(w.Write(batch), w.Close())
}

// answered is a result that is there.
type answered struct{ left [][]byte }

func (a *answered) Send(d *arrowflight.FlightData) error {
	b, err := proto.Marshal(d)
	a.left = append(a.left, b)
	return err
}

func (a *answered) Next(context.Context) (engine.Message, error) {
	if len(a.left) == 0 {
		return engine.Message{}, io.EOF
	}
	m := engine.Message{Bytes: a.left[0], Release: func() {}}
	a.left = a.left[1:]
	return m, nil
}

func (*answered) Close() {}

var schema = arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)

// numbers is a batch of n rows.
func numbers(first, n int64) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range n {
		b.Field(0).(*array.Int64Builder).Append(first + i)
	}
	return b.NewRecordBatch()
}

// count is how many rows a table has.
func (l *testLake) count(t testing.TB, table string) (n int64) {
	t.Helper()
	rows, err := l.Query(t.Context(), "SELECT count(*) FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if !rows.Next() || rows.Scan(&n) != nil {
		t.Fatal(rows.Err())
	}
	return n
}

// files is how many data files there are, also those that no version names.
func (l *testLake) files(t testing.TB) (n int) {
	t.Helper()
	err := filepath.WalkDir(l.dir, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".parquet") {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

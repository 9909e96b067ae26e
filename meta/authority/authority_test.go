package authority_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/delta"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta"
	"github.com/lakeward/lake/meta/appends"
	"github.com/lakeward/lake/meta/authority"
	metamem "github.com/lakeward/lake/meta/mem"
	"github.com/lakeward/lake/meta/registry"
	"github.com/lakeward/lake/objects"
	objectsmem "github.com/lakeward/lake/objects/mem"
)

var (
	flights   = ident.Table{Namespace: "demo", Name: "flights"}
	rowSchema = arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
)

// rows yields one batch with the ids from first on.
func rows(first, n int64) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		defer b.Release()
		for i := range n {
			b.Append(first + i)
		}
		col := b.NewArray()
		defer col.Release()
		batch := array.NewRecordBatch(rowSchema, []arrow.Array{col}, n)
		defer batch.Release()
		yield(batch, nil)
	}
}

// world is what outlives a process: a metastore and an object store.
type world struct {
	kv   meta.Store
	objs objects.Store
}

func newWorld() world { return world{metamem.New(), objectsmem.New()} }

func (w world) engine() engine.Engine { return delta.New(w.objs, delta.Options{Version: "test"}) }

func (w world) authority() *authority.Authority {
	return authority.New(w.kv, []engine.Engine{w.engine()}, authority.Options{})
}

func newOp(t testing.TB) ident.OperationID {
	t.Helper()
	op, err := ident.NewOperation()
	if err != nil {
		t.Fatal(err)
	}
	return op
}

func createRequest(op ident.OperationID) authority.CreateRequest {
	return authority.CreateRequest{Tenant: "dev", Table: flights, Schema: engine.EncodeSchema(rowSchema), Operation: op}
}

func create(t testing.TB, w world) registry.Registration {
	t.Helper()
	reg, _, err := w.authority().Create(t.Context(), createRequest(newOp(t)))
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// staged is an append of n rows, of which the files are written.
func staged(t testing.TB, w world, reg registry.Registration, op ident.OperationID, first, n int64) authority.AppendRequest {
	t.Helper()
	schema, err := engine.DecodeSchema(reg.Schema)
	if err != nil {
		t.Fatal(err)
	}
	m, err := w.engine().Table(objects.Location(reg.Location)).Stage(t.Context(), schema, rows(first, n))
	if err != nil {
		t.Fatal(err)
	}
	return authority.AppendRequest{
		Tenant: "dev", Table: flights, Incarnation: reg.Incarnation, Operation: op,
		Digest: ident.Digest{byte(first), byte(n)}, Manifest: m,
	}
}

// visible is what a reader sees: the version, and the rows in it.
func (w world) visible(ctx context.Context) (ident.Version, int64, error) {
	reg, err := registry.New(w.kv).Lookup(ctx, flights)
	if err != nil {
		return 0, 0, err
	}
	s, err := w.engine().Table(objects.Location(reg.Location)).Snapshot(ctx, reg.Version)
	if err != nil {
		return 0, 0, err
	}
	scan, err := s.Scan(ctx)
	if err != nil {
		return 0, 0, err
	}
	var n int64
	for _, f := range scan.Files {
		n += f.Rows
	}
	return reg.Version, n, nil
}

func (w world) check(t testing.TB, what string, version ident.Version, rows int64) {
	t.Helper()
	if v, n, err := w.visible(t.Context()); err != nil || v != version || n != rows {
		t.Fatalf("%s: readers see version %d with %d rows (%v), want %d with %d", what, v, n, err, version, rows)
	}
}

func TestCreateThenAppend(t *testing.T) {
	w := newWorld()
	reg := create(t, w)
	w.check(t, "after the create", 0, 0)
	got, err := w.authority().Append(t.Context(), staged(t, w, reg, newOp(t), 0, 10))
	if err != nil || got.Version != 1 || got.Rows != 10 || got.Replayed {
		t.Errorf("%+v, %v", got, err)
	}
	w.check(t, "after the append", 1, 10)
}

func TestReplayReturnsTheOriginalVersion(t *testing.T) {
	w := newWorld()
	reg := create(t, w)
	op := newOp(t)
	first := staged(t, w, reg, op, 0, 10)
	if _, err := w.authority().Append(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if _, err := w.authority().Append(t.Context(), staged(t, w, reg, newOp(t), 10, 5)); err != nil {
		t.Fatal(err)
	}
	// A retry stages its own files: the same input, encoded again.
	got, err := w.authority().Append(t.Context(), staged(t, w, reg, op, 0, 10))
	if err != nil || got.Version != 1 || got.Rows != 10 || !got.Replayed {
		t.Errorf("%+v, %v", got, err)
	}
	w.check(t, "after the replay", 2, 15)

	if _, done, ok, err := w.authority().Applied(t.Context(), flights, op, &first.Digest); !ok || done.Version != 1 || err != nil {
		t.Errorf("applied: %+v, %v, %v", done, ok, err)
	}
}

func TestSameOperationWithOtherInputIsRefused(t *testing.T) {
	w := newWorld()
	reg := create(t, w)
	op := newOp(t)
	if _, err := w.authority().Append(t.Context(), staged(t, w, reg, op, 0, 10)); err != nil {
		t.Fatal(err)
	}
	other := staged(t, w, reg, op, 50, 3)
	if _, err := w.authority().Append(t.Context(), other); !errors.Is(err, appends.ErrOtherInput) || fault.KindOf(err) != fault.Stale {
		t.Errorf("append: %v", err)
	}
	if _, _, _, err := w.authority().Applied(t.Context(), flights, op, &other.Digest); !errors.Is(err, appends.ErrOtherInput) {
		t.Errorf("applied: %v", err)
	}
	w.check(t, "after the refusal", 1, 10)
}

func TestCreateIsOnePerName(t *testing.T) {
	w := newWorld()
	op := newOp(t)
	first, replayed, err := w.authority().Create(t.Context(), createRequest(op))
	if err != nil || replayed {
		t.Fatal(replayed, err)
	}
	again, replayed, err := w.authority().Create(t.Context(), createRequest(op))
	if err != nil || !replayed || again.Incarnation != first.Incarnation {
		t.Errorf("the same operation: %v, %v", replayed, err)
	}
	if _, _, err := w.authority().Create(t.Context(), createRequest(newOp(t))); !errors.Is(err, registry.ErrTableExists) {
		t.Errorf("another operation: %v", err)
	}
	other := createRequest(op)
	other.Schema = engine.EncodeSchema(arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.BinaryTypes.String}}, nil))
	if _, _, err := w.authority().Create(t.Context(), other); !errors.Is(err, appends.ErrOtherInput) {
		t.Errorf("the same operation with another schema: %v", err)
	}
}

func TestAppendForAnEarlierIncarnationIsRefused(t *testing.T) {
	w := newWorld()
	reg := create(t, w)
	r := staged(t, w, reg, newOp(t), 0, 10)
	var err error
	if r.Incarnation, err = ident.NewIncarnation(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.authority().Append(t.Context(), r); !errors.Is(err, authority.ErrReplaced) {
		t.Errorf("%v", err)
	}
	w.check(t, "after the refusal", 0, 0)
}

func TestOperationIDsOfOtherTimesAreRefused(t *testing.T) {
	w := newWorld()
	reg := create(t, w)
	for name, tt := range map[string]struct {
		now  time.Time
		kind fault.Kind
	}{
		"of the future":           {time.Now().Add(-ident.OperationAheadMax - time.Minute), fault.Invalid},
		"older than its records":  {time.Now().Add(ident.OperationRetention + time.Minute), fault.Stale},
		"almost too far ahead":    {time.Now().Add(-ident.OperationAheadMax + time.Minute), fault.Internal},
		"almost as old as can be": {time.Now().Add(ident.OperationRetention - time.Minute), fault.Internal},
	} {
		a := authority.New(w.kv, []engine.Engine{w.engine()}, authority.Options{Now: func() time.Time { return tt.now }})
		if _, err := a.Append(t.Context(), staged(t, w, reg, newOp(t), 0, 1)); fault.KindOf(err) != tt.kind || (err != nil) != (tt.kind != fault.Internal) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRacingAppendsAreAllThereOnce(t *testing.T) {
	w := newWorld()
	reg := create(t, w)
	a := w.authority()
	const writers = 12
	requests := make([]authority.AppendRequest, writers)
	for i := range requests {
		requests[i] = staged(t, w, reg, newOp(t), int64(i)*100, int64(i)+1)
	}
	var versions [writers][2]ident.Version
	var wg sync.WaitGroup
	for i, r := range requests {
		for k := range versions[i] { // each twice at once: a client that lost patience
			wg.Go(func() {
				got, err := a.Append(t.Context(), r)
				if err != nil {
					t.Error(err)
				}
				versions[i][k] = got.Version
			})
		}
	}
	wg.Wait()
	seen := map[ident.Version]bool{}
	for _, v := range versions {
		if v[0] != v[1] {
			t.Errorf("one operation was given versions %v", v)
		}
		seen[v[0]] = true
	}
	if len(seen) != writers {
		t.Errorf("%d versions for %d operations: %v", len(seen), writers, versions)
	}
	w.check(t, "after the race", writers, writers*(writers+1)/2)
}

func TestSchemasThatCannotBeKeptAreRefusedByName(t *testing.T) {
	w := newWorld()
	for name, f := range map[string]arrow.Field{
		"float16":  {Name: "grip", Type: arrow.FixedWidthTypes.Float16},
		"interval": {Name: "grip", Type: arrow.FixedWidthTypes.MonthInterval},
	} {
		r := createRequest(newOp(t))
		r.Schema = engine.EncodeSchema(arrow.NewSchema([]arrow.Field{f}, nil))
		_, _, err := w.authority().Create(t.Context(), r)
		if fault.KindOf(err) != fault.Unsupported || !strings.Contains(fault.Public(err), "grip") {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := createRequest(newOp(t))
	r.Schema = []byte("garbage")
	if _, _, err := w.authority().Create(t.Context(), r); fault.KindOf(err) != fault.Invalid {
		t.Errorf("garbage: %v", err)
	}
	if all, _, err := registry.New(w.kv).All(t.Context()); len(all) != 0 || err != nil {
		t.Errorf("%d tables after refusals (%v)", len(all), err)
	}
}

// A commit of the engine that no record knows of: the process ended in between.
// Whoever comes next publishes it before its own rows.
func TestNextAppendPublishesWhatACrashLeft(t *testing.T) {
	w := newWorld()
	reg := create(t, w)
	lost := staged(t, w, reg, newOp(t), 0, 10)
	stop := errors.New("process ended")
	commits := 0
	dying := authority.New(faulty(w.kv, func(do func() error) error {
		if commits++; commits > 1 {
			return stop
		}
		return do()
	}), []engine.Engine{w.engine()}, authority.Options{})
	if _, err := dying.Append(t.Context(), lost); !errors.Is(err, stop) || !errors.Is(err, authority.ErrOutcomeUnknown) {
		t.Fatalf("the dying process: %v", err)
	}
	w.check(t, "after the crash", 0, 0)
	got, err := w.authority().Append(t.Context(), staged(t, w, reg, newOp(t), 10, 5))
	if err != nil || got.Version != 2 {
		t.Fatalf("the next append: %+v, %v", got, err)
	}
	w.check(t, "after the next append", 2, 15)
	replay, err := w.authority().Append(t.Context(), lost)
	if err != nil || replay.Version != 1 || replay.Rows != 10 || !replay.Replayed {
		t.Errorf("the lost one, again: %+v, %v", replay, err)
	}
	w.check(t, "after its replay", 2, 15)
}

// commitsOnly counts a store's commits, not its reads.
type commitsOnly struct {
	meta.Store
	hit func(do func() error) error
}

func (s commitsOnly) Commit(ctx context.Context, guards, writes []meta.Pair) error {
	return s.hit(func() error { return s.Store.Commit(ctx, guards, writes) })
}

func faulty(s meta.Store, hit func(do func() error) error) meta.Store { return commitsOnly{s, hit} }

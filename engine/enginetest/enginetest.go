// Package enginetest is the suite that every engine.Engine passes: its contract,
// its recovery from a failure at any outside call, and the types of Arrow.
package enginetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/objects"
)

// Options say how to run the suite.
type Options struct {
	// Store returns an empty store.
	Store func(t *testing.T) objects.Store

	// New returns the engine of the tables in a store. Engines over one store
	// share nothing else.
	New func(s objects.Store) engine.Engine

	// Read yields the rows of a scan in order, in the stored types.
	Read func(ctx context.Context, s objects.Store, scan engine.Scan) iter.Seq2[arrow.RecordBatch, error]

	// Refused are the names of the Samples that the engine refuses.
	Refused []string
}

// Run runs the suite.
func Run(t *testing.T, o Options) {
	for _, tt := range []struct {
		name string
		run  func(t *testing.T, o Options)
	}{
		{"a new table is version 0, without rows, of its exact schema", newTable},
		{"a location that holds a table takes no other", createTwice},
		{"one of many creators of a table wins", createRace},
		{"committed rows are in the snapshot, in their order", rowsComeBack},
		{"an empty manifest makes a version", emptyManifest},
		{"old versions stay as they were", oldVersionsStay},
		{"commits that race are all there, one version each", commitRace},
		{"an operation is found by its id, after its base only", find},
		{"a version that does not exist is ErrNoVersion", noVersion},
		{"a version is found by the time at which it was the newest", timeline},
		{"a manifest of other files than staged ones is refused", hostileManifests},
		{"rows of another schema are refused", wrongRows},
		{"a null where none may be is refused by its column", nullRefused},
		{"a stage that fails leaves nothing", stageFailures},
		{"a failure at any outside call of a stage leaves nothing", stageFaults},
		{"a failure at any outside call of a create is recovered", createFaults},
		{"a commit is found after a failure at any outside call", commitFaults},
		{"an attempt that is made again is one version", sameAttempt},
		{"every type of Arrow is kept exactly or refused by name", types},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, o) })
	}
}

// Location is where the suite's tables lie.
const Location objects.Location = "tables/main/t/01890a5d-ac96-774b-bcce-b302099a8057"

// NewOp returns the evidence of an operation that has never been used.
func NewOp(t testing.TB) engine.Op {
	t.Helper()
	id, err := ident.NewOperation()
	if err != nil {
		t.Fatal(err)
	}
	attempt, err := ident.NewAttempt()
	if err != nil {
		t.Fatal(err)
	}
	return engine.Op{Tenant: ident.DevTenant, ID: id, Digest: ident.Digest{1, 2, 3}, Attempt: attempt}
}

// again returns op as another attempt.
func again(t testing.TB, op engine.Op) engine.Op {
	op.Attempt = NewOp(t).Attempt
	return op
}

// Schema makes the exact schema of a new table.
func Schema(t testing.TB, fields ...arrow.Field) *arrow.Schema {
	t.Helper()
	s, _, err := engine.NewSchema(arrow.NewSchema(fields, nil))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Batch makes rows of a JSON array.
func Batch(t testing.TB, schema *arrow.Schema, rows string) arrow.RecordBatch {
	t.Helper()
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Rows yields batches.
func Rows(batches ...arrow.RecordBatch) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for _, b := range batches {
			if !yield(b, nil) {
				return
			}
		}
	}
}

func simple(t testing.TB) *arrow.Schema {
	return Schema(t,
		arrow.Field{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		arrow.Field{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true})
}

// numbered is rows of the simple schema with ids from first on.
func numbered(t testing.TB, schema *arrow.Schema, first, n int) arrow.RecordBatch {
	var rows []string
	for i := first; i < first+n; i++ {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"name":"row %d"}`, i, i))
	}
	return Batch(t, schema, "["+strings.Join(rows, ",")+"]")
}

// created returns the table of a new store.
func created(t *testing.T, o Options) (objects.Store, *arrow.Schema, engine.Table) {
	t.Helper()
	s := o.Store(t)
	schema := simple(t)
	e := o.New(s)
	if v, err := e.Create(t.Context(), Location, schema, NewOp(t)); err != nil || v != 0 {
		t.Fatalf("Create = %d, %v", v, err)
	}
	return s, schema, e.Table(Location)
}

func stage(t testing.TB, table engine.Table, schema *arrow.Schema, batches ...arrow.RecordBatch) engine.Manifest {
	t.Helper()
	m, err := table.Stage(t.Context(), schema, Rows(batches...))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func commit(t testing.TB, table engine.Table, base ident.Version, m engine.Manifest) ident.Version {
	t.Helper()
	v, err := table.Commit(t.Context(), base, NewOp(t), m)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func scan(t testing.TB, table engine.Table, v ident.Version) engine.Scan {
	t.Helper()
	s, err := table.Snapshot(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	if s.Version() != v {
		t.Errorf("snapshot %d says it is %d", v, s.Version())
	}
	sc, err := s.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// ids reads the first column, of int64, of a version.
func (o Options) ids(t testing.TB, s objects.Store, table engine.Table, v ident.Version) (out []int64) {
	t.Helper()
	for b, err := range o.Read(t.Context(), s, scan(t, table, v)) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b.Column(0).(*array.Int64).Int64Values()...)
	}
	return out
}

func counting(first, n int) (out []int64) {
	for i := first; i < first+n; i++ {
		out = append(out, int64(i))
	}
	return out
}

func all(t testing.TB, s objects.Store) (out []string) {
	t.Helper()
	infos, err := s.List(t.Context(), "", "", 100_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range infos {
		out = append(out, i.Name)
	}
	return out
}

func newTable(t *testing.T, o Options) {
	_, schema, table := created(t, o)
	sc := scan(t, table, 0)
	if len(sc.Files) != 0 {
		t.Errorf("a new table has %d files", len(sc.Files))
	}
	sameSchema(t, schema, sc)
}

func sameSchema(t testing.TB, want *arrow.Schema, sc engine.Scan) {
	t.Helper()
	fields := make([]arrow.Field, len(sc.Columns))
	for i, c := range sc.Columns {
		fields[i] = c.Exact
	}
	if got := arrow.NewSchema(fields, nil); !got.Equal(want) || got.String() != want.String() {
		t.Errorf("the exact schema is\n%s\nwant\n%s", got, want)
	}
}

func createTwice(t *testing.T, o Options) {
	s, schema, table := created(t, o)
	before := all(t, s)
	if _, err := o.New(s).Create(t.Context(), Location, schema, NewOp(t)); fault.KindOf(err) != fault.Exists {
		t.Errorf("Create again = %v, want fault.Exists", err)
	}
	commit(t, table, 0, stage(t, table, schema, numbered(t, schema, 0, 1)))
	if _, err := o.New(s).Create(t.Context(), Location, schema, NewOp(t)); fault.KindOf(err) != fault.Exists {
		t.Errorf("Create over rows = %v, want fault.Exists", err)
	}
	if got := all(t, s); len(got) != len(before)+2 {
		t.Errorf("objects: %q", got)
	}
}

func createRace(t *testing.T, o Options) {
	s, schema := o.Store(t), simple(t)
	var mu sync.Mutex
	won := 0
	var g sync.WaitGroup
	for range 8 {
		op := NewOp(t)
		g.Go(func() {
			_, err := o.New(s).Create(t.Context(), Location, schema, op)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won++
			case fault.KindOf(err) != fault.Exists:
				t.Errorf("Create = %v", err)
			}
		})
	}
	g.Wait()
	if won != 1 {
		t.Errorf("%d creators won", won)
	}
}

func rowsComeBack(t *testing.T, o Options) {
	s, schema, table := created(t, o)
	m := stage(t, table, schema, numbered(t, schema, 0, 1000), numbered(t, schema, 1000, 1), numbered(t, schema, 1001, 999))
	if m.Rows() != 2000 {
		t.Errorf("the manifest has %d rows", m.Rows())
	}
	v := commit(t, table, 0, m)
	if v != 1 {
		t.Errorf("the first commit is version %d", v)
	}
	for _, table := range []engine.Table{table, o.New(s).Table(Location)} { // warm and cold
		sc := scan(t, table, v)
		if len(sc.Files) != len(m.Files) {
			t.Fatalf("%d files where the manifest has %d", len(sc.Files), len(m.Files))
		}
		for i, f := range sc.Files {
			if diff := cmp.Diff(m.Files[i], f.File); diff != "" {
				t.Errorf("file %d (-manifest +snapshot):\n%s", i, diff)
			}
			if f.Object != Location.Join(f.Name) {
				t.Errorf("file %s is object %s", f.Name, f.Object)
			}
			info, err := s.Stat(t.Context(), f.Object)
			if err != nil || info.Bytes != f.Bytes {
				t.Errorf("object %s: %+v, %v", f.Object, info, err)
			}
		}
		if diff := cmp.Diff(counting(0, 2000), o.ids(t, s, table, v)); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
	}
}

func emptyManifest(t *testing.T, o Options) {
	s, schema, table := created(t, o)
	m := stage(t, table, schema)
	if len(m.Files) != 0 {
		t.Errorf("no rows are staged as %d files", len(m.Files))
	}
	op := NewOp(t)
	v, err := table.Commit(t.Context(), 0, op, m)
	if err != nil || v != 1 {
		t.Fatalf("Commit = %d, %v", v, err)
	}
	if got, ok, err := table.Find(t.Context(), 0, op.ID); got != 1 || !ok || err != nil {
		t.Errorf("Find = %d, %v, %v", got, ok, err)
	}
	if got := o.ids(t, s, table, 1); len(got) != 0 {
		t.Errorf("rows: %v", got)
	}
}

func oldVersionsStay(t *testing.T, o Options) {
	s, schema, table := created(t, o)
	for i := range 5 {
		if v := commit(t, table, ident.Version(i), stage(t, table, schema, numbered(t, schema, 10*i, 10))); v != ident.Version(i+1) {
			t.Fatalf("commit %d is version %d", i+1, v)
		}
	}
	for _, e := range []engine.Table{table, o.New(s).Table(Location)} {
		for _, v := range []ident.Version{3, 0, 5, 1, 2, 4} {
			if diff := cmp.Diff(counting(0, 10*int(v)), o.ids(t, s, e, v)); diff != "" {
				t.Errorf("version %d (-want +got):\n%s", v, diff)
			}
		}
	}
}

func commitRace(t *testing.T, o Options) {
	const writers, each = 4, 5
	s, schema, _ := created(t, o)
	var mu sync.Mutex
	versions := map[ident.Version]ident.OperationID{}
	var g sync.WaitGroup
	for w := range writers {
		g.Go(func() {
			table := o.New(s).Table(Location)
			for i := range each {
				m, err := table.Stage(t.Context(), schema, Rows(numbered(t, schema, (w*each+i)*10, 10)))
				if err != nil {
					t.Error(err)
					return
				}
				op := NewOp(t)
				v, err := table.Commit(t.Context(), 0, op, m)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if _, ok := versions[v]; ok {
					t.Errorf("version %d was given twice", v)
				}
				versions[v] = op.ID
				mu.Unlock()
			}
		})
	}
	g.Wait()
	table := o.New(s).Table(Location)
	for v := ident.Version(1); v <= writers*each; v++ {
		if got, ok, err := table.Find(t.Context(), 0, versions[v]); got != v || !ok || err != nil {
			t.Errorf("Find of version %d = %d, %v, %v", v, got, ok, err)
		}
	}
	got := o.ids(t, s, table, writers*each)
	slices.Sort(got)
	if diff := cmp.Diff(counting(0, writers*each*10), got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func find(t *testing.T, o Options) {
	_, schema, table := created(t, o)
	op := NewOp(t)
	if _, ok, err := table.Find(t.Context(), 0, op.ID); ok || err != nil {
		t.Errorf("Find before the commit = %v, %v", ok, err)
	}
	commit(t, table, 0, stage(t, table, schema, numbered(t, schema, 0, 1)))
	v, err := table.Commit(t.Context(), 1, op, stage(t, table, schema, numbered(t, schema, 1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	for base := range v {
		if got, ok, err := table.Find(t.Context(), base, op.ID); got != v || !ok || err != nil {
			t.Errorf("Find after %d = %d, %v, %v, want %d", base, got, ok, err, v)
		}
	}
	if _, ok, err := table.Find(t.Context(), v, op.ID); ok || err != nil {
		t.Errorf("Find after its own version = %v, %v", ok, err)
	}
	if _, ok, err := table.Find(t.Context(), 0, NewOp(t).ID); ok || err != nil {
		t.Errorf("Find of another operation = %v, %v", ok, err)
	}
}

func timeline(t *testing.T, o Options) {
	before := time.Now().Add(-time.Minute)
	s, schema, table := created(t, o)
	line, ok := table.(engine.Timeline)
	if !ok {
		t.Skip("the engine does not say when versions were made")
	}
	const versions = 4
	for v := range ident.Version(versions) {
		commit(t, table, v, stage(t, table, schema, numbered(t, schema, int(v), 1)))
	}
	after := time.Now().Add(time.Minute) // commits in one millisecond are said to be later
	for _, e := range []engine.Timeline{line, o.New(s).Table(Location).(engine.Timeline)} {
		for newest := range ident.Version(versions + 1) {
			if v, err := e.VersionAt(t.Context(), newest, after); v != newest || err != nil {
				t.Errorf("afterwards, up to %d: version %d, %v", newest, v, err)
			}
			if _, err := e.VersionAt(t.Context(), newest, before); !errors.Is(err, engine.ErrNoVersion) {
				t.Errorf("beforehand, up to %d: %v, want ErrNoVersion", newest, err)
			}
		}
		seen := map[ident.Version]bool{}
		last := ident.Version(0)
		for at := before; at.Before(after); at = at.Add(time.Millisecond) {
			v, err := e.VersionAt(t.Context(), versions, at)
			if errors.Is(err, engine.ErrNoVersion) && len(seen) == 0 {
				continue
			}
			if err != nil || v < last {
				t.Fatalf("version %d after %d: %v", v, last, err)
			}
			seen[v], last = true, v
		}
		if len(seen) != versions+1 {
			t.Errorf("only versions %v were the newest at some time", seen)
		}
	}
	if _, err := line.VersionAt(t.Context(), versions+1, after); !errors.Is(err, engine.ErrNoVersion) {
		t.Errorf("up to a version that does not exist: %v", err)
	}
}

func noVersion(t *testing.T, o Options) {
	s, schema, table := created(t, o)
	for _, v := range []ident.Version{1, 2, 1 << 60, -1} {
		if _, err := table.Snapshot(t.Context(), v); !errors.Is(err, engine.ErrNoVersion) {
			t.Errorf("Snapshot(%d) = %v, want ErrNoVersion", v, err)
		}
		if _, err := table.Commit(t.Context(), v, NewOp(t), engine.Manifest{}); !errors.Is(err, engine.ErrNoVersion) {
			t.Errorf("Commit after %d = %v, want ErrNoVersion", v, err)
		}
	}
	nowhere := o.New(s).Table(Location + "x")
	if _, err := nowhere.Snapshot(t.Context(), 0); !errors.Is(err, engine.ErrNoVersion) {
		t.Errorf("Snapshot of no table = %v, want ErrNoVersion", err)
	}
	_ = schema
}

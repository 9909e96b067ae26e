package delta_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/delta"
	"github.com/lakeward/lake/engine/enginetest"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/objects"
	"github.com/lakeward/lake/objects/mem"
	"github.com/lakeward/lake/objects/objectstest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func numbers(t testing.TB) *arrow.Schema {
	return enginetest.Schema(t, arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true})
}

// newTable makes a table of numbers with some versions of one row each.
func newTable(t *testing.T, s objects.Store, commits int) engine.Table {
	t.Helper()
	e := delta.New(s, delta.Options{})
	schema := numbers(t)
	if _, err := e.Create(t.Context(), "t", schema, enginetest.NewOp(t)); err != nil {
		t.Fatal(err)
	}
	for i := range commits {
		m, err := e.Table("t").Stage(t.Context(), schema, enginetest.Rows(enginetest.Batch(t, schema, fmt.Sprintf(`[{"n":%d}]`, i))))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Table("t").Commit(t.Context(), ident.Version(i), enginetest.NewOp(t), m); err != nil {
			t.Fatal(err)
		}
	}
	return e.Table("t")
}

func logName(v int) string { return fmt.Sprintf("t/_delta_log/%020d.json", v) }

// actions reads a commit file line by line.
func actions(t *testing.T, s objects.Store, v int) (out []map[string]map[string]any) {
	t.Helper()
	b, err := objects.Read(t.Context(), s, logName(v), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var a map[string]map[string]any
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatal(err)
		}
		out = append(out, a)
	}
	return out
}

// A protocol of outside calls: what one life of a table asks of its store. A
// change here is a change of what a crash can leave behind.
func TestTrace(t *testing.T) {
	var got strings.Builder
	s := objectstest.NewTraced(mem.New(), &got)
	section := func(name string) { fmt.Fprintf(&got, "\n# %s\n", name) }
	schema := numbers(t)
	e := delta.New(s, delta.Options{RowGroupRows: 1})
	table := e.Table("t")
	check := func(_ any, err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	section("create")
	check(e.Create(t.Context(), "t", schema, enginetest.NewOp(t)))
	section("stage")
	m, err := table.Stage(t.Context(), schema, enginetest.Rows(enginetest.Batch(t, schema, `[{"n":1}]`)))
	check(nil, err)
	section("commit")
	op := enginetest.NewOp(t)
	check(table.Commit(t.Context(), 0, op, m))
	section("find")
	_, _, err = table.Find(t.Context(), 0, op.ID)
	check(nil, err)
	section("find an operation that is not there")
	_, _, err = table.Find(t.Context(), 0, enginetest.NewOp(t).ID)
	check(nil, err)
	section("commit after a version that others have built on")
	check(table.Commit(t.Context(), 0, enginetest.NewOp(t), engine.Manifest{}))
	section("snapshot")
	check(table.Snapshot(t.Context(), 1))
	section("snapshot of the next version")
	check(table.Snapshot(t.Context(), 2))
	section("snapshot again")
	check(table.Snapshot(t.Context(), 2))
	section("snapshot of a version that is not there")
	_, err = table.Snapshot(t.Context(), 3)
	if !errors.Is(err, engine.ErrNoVersion) {
		t.Fatal(err)
	}
	section("stage that fails")
	_, err = table.Stage(t.Context(), schema, func(yield func(arrow.RecordBatch, error) bool) {
		if yield(enginetest.Batch(t, schema, `[{"n":1}]`), nil) {
			yield(nil, context.Canceled)
		}
	})
	if err == nil {
		t.Fatal("no error")
	}
	const file = "testdata/table.trace"
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("calls (-want +got); go test -update rewrites the file:\n%s", diff)
	}
}

func TestCommitsCarryTheirEvidence(t *testing.T) {
	s := mem.New()
	now := time.UnixMilli(1_700_000_000_123)
	e := delta.New(s, delta.Options{Version: "1.2.3", Clock: func() time.Time { return now }})
	op := enginetest.NewOp(t)
	op.Tenant = "robots"
	if _, err := e.Create(t.Context(), "t", numbers(t), op); err != nil {
		t.Fatal(err)
	}
	next := enginetest.NewOp(t)
	if _, err := e.Table("t").Commit(t.Context(), 0, next, engine.Manifest{}); err != nil {
		t.Fatal(err)
	}
	for v, want := range []map[string]any{
		{
			"timestamp": 1700000000123.0, "operation": "CREATE TABLE", "engineInfo": "lake/1.2.3", "txnId": string(op.Attempt), "isBlindAppend": true,
			"lake": map[string]any{"format": 1.0, "tenant": "robots", "op": op.ID.String(), "digest": op.Digest.String()},
		},
		{
			"timestamp": 1700000000124.0, "operation": "WRITE", "operationParameters": map[string]any{"mode": "Append"}, "engineInfo": "lake/1.2.3",
			"txnId": string(next.Attempt), "isBlindAppend": true,
			"lake": map[string]any{"format": 1.0, "tenant": "dev", "op": next.ID.String(), "digest": next.Digest.String()},
		},
	} {
		a := actions(t, s, v)
		if diff := cmp.Diff(want, a[0]["commitInfo"]); diff != "" {
			t.Errorf("version %d does not begin with its commitInfo (-want +got):\n%s", v, diff)
		}
	}
}

// The clock of a server may stand or go back; the order of commits by time is
// their order by version all the same.
func TestTimestampsGrow(t *testing.T) {
	s := mem.New()
	clock := []int64{5000, 4000, 4000, 9000, 1}
	var mu sync.Mutex
	e := delta.New(s, delta.Options{Clock: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		ms := clock[0]
		if len(clock) > 1 {
			clock = clock[1:]
		}
		return time.UnixMilli(ms)
	}})
	if _, err := e.Create(t.Context(), "t", numbers(t), enginetest.NewOp(t)); err != nil {
		t.Fatal(err)
	}
	var got []float64
	for v := range 6 {
		if v > 0 {
			// Always after version 0, so that every commit is a lost race.
			if _, err := e.Table("t").Commit(t.Context(), 0, enginetest.NewOp(t), engine.Manifest{}); err != nil {
				t.Fatal(err)
			}
		}
		got = append(got, actions(t, s, v)[0]["commitInfo"]["timestamp"].(float64))
	}
	for i := 1; i < len(got); i++ {
		if got[i] <= got[i-1] {
			t.Errorf("timestamps %v do not grow", got)
		}
	}
}

func TestProtocolIsTheLeastThatIsNeeded(t *testing.T) {
	ntz := &arrow.TimestampType{Unit: arrow.Microsecond}
	for _, tt := range []struct {
		name string
		typ  arrow.DataType
		want map[string]any
	}{
		{"plain columns", arrow.PrimitiveTypes.Int64, map[string]any{"minReaderVersion": 1.0, "minWriterVersion": 2.0}},
		{"nanoseconds are integers", &arrow.TimestampType{Unit: arrow.Nanosecond}, map[string]any{"minReaderVersion": 1.0, "minWriterVersion": 2.0}},
		{"a timestamp without a zone", ntz, map[string]any{
			"minReaderVersion": 3.0, "minWriterVersion": 7.0, "readerFeatures": []any{"timestampNtz"}, "writerFeatures": []any{"appendOnly", "invariants", "timestampNtz"},
		}},
		{"one within a column", arrow.MapOf(arrow.BinaryTypes.String, arrow.ListOf(ntz)), map[string]any{
			"minReaderVersion": 3.0, "minWriterVersion": 7.0, "readerFeatures": []any{"timestampNtz"}, "writerFeatures": []any{"appendOnly", "invariants", "timestampNtz"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mem.New()
			schema := enginetest.Schema(t, arrow.Field{Name: "c", Type: tt.typ, Nullable: true})
			if _, err := delta.New(s, delta.Options{}).Create(t.Context(), "t", schema, enginetest.NewOp(t)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, actions(t, s, 0)[1]["protocol"]); diff != "" {
				t.Errorf("protocol (-want +got):\n%s", diff)
			}
		})
	}
}

// foreign puts a commit of another writer.
func foreign(t *testing.T, s objects.Store, v int, lines ...string) {
	t.Helper()
	if _, err := objects.Put(t.Context(), s, logName(v), []byte(strings.Join(lines, "\n"))); err != nil {
		t.Fatal(err)
	}
}

const (
	plainProtocol = `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}`
	plainMetaData = `{"metaData":{"id":"x","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"n\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}","partitionColumns":[],"configuration":{}}}`
)

func TestCommitAfterAForeignOne(t *testing.T) {
	for _, tt := range []struct {
		name, line string
		want       error
	}{
		{"an append is built upon", `{"add":{"path":"part-0.parquet","partitionValues":{},"size":10,"modificationTime":1,"dataChange":true}}`, nil},
		{"a remove is built upon", `{"remove":{"path":"part-0.parquet","dataChange":true}}`, nil},
		{"an optimize is built upon", `{"commitInfo":{"operation":"OPTIMIZE","operationParameters":{"auto":true}}}`, nil},
		{"a change of the schema is not", plainMetaData, engine.ErrForeign},
		{"a change of the protocol is not", plainProtocol, engine.ErrForeign},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mem.New()
			table := newTable(t, s, 0)
			foreign(t, s, 1, tt.line)
			v, err := table.Commit(t.Context(), 0, enginetest.NewOp(t), engine.Manifest{})
			if !errors.Is(err, tt.want) || err == nil && v != 2 {
				t.Errorf("Commit = %d, %v, want %v", v, err, tt.want)
			}
			if tt.want != nil && fault.KindOf(err) != fault.Conflict {
				t.Errorf("the error's kind is %v", fault.KindOf(err))
			}
		})
	}
}

func TestForeignActionsAreReadRightOrRefused(t *testing.T) {
	add := func(path, more string) string {
		return fmt.Sprintf(`{"add":{"path":%q,"partitionValues":{},"size":10,"modificationTime":1,"dataChange":true%s}}`, path, more)
	}
	config := func(key, value string) string {
		return strings.Replace(plainMetaData, `"configuration":{}`, fmt.Sprintf(`"configuration":{%q:%q}`, key, value), 1)
	}
	for _, tt := range []struct {
		name   string
		lines  []string
		files  string     // of the version, or
		kind   fault.Kind // of the refusal
		says   string     // in it
		append fault.Kind // of the refusal to append, if reading is fine
	}{
		{name: "a file is added", lines: []string{add("part-0.parquet", "")}, files: "part-0.parquet"},
		{name: "a path is percent-decoded once", lines: []string{add("a%2541%3D1.parquet", "")}, files: "a%41=1.parquet"},
		{name: "a file is removed", lines: []string{add("a.parquet", ""), add("b.parquet", ""), `{"remove":{"path":"a.parquet"}}`}, files: "b.parquet"},
		{name: "a file is added again", lines: []string{add("a.parquet", ""), add("b.parquet", ""), add("a.parquet", "")}, files: "b.parquet a.parquet"},
		{name: "a remove of nothing", lines: []string{`{"remove":{"path":"a.parquet"}}`}},
		{name: "an action that is not known", lines: []string{`{"futureThing":{"x":1}}`, `{"txn":{"appId":"a","version":3}}`, `{"domainMetadata":{"domain":"d","configuration":"","removed":false}}`, `{"cdc":{"path":"_change_data/x","partitionValues":{},"size":1}}`}},
		{name: "a deletion vector", lines: []string{add("a.parquet", `,"deletionVector":{"storageType":"u","pathOrInlineDv":"x","offset":1,"sizeInBytes":1,"cardinality":1}`)}, kind: fault.Unsupported, says: "deletionVectors"},
		{name: "a file above the table", lines: []string{add("../other/a.parquet", "")}, kind: fault.Unsupported},
		{name: "a file above the table, encoded", lines: []string{add("%2E%2E/a.parquet", "")}, kind: fault.Unsupported},
		{name: "a file elsewhere", lines: []string{add("s3://bucket/a.parquet", "")}, kind: fault.Unsupported, says: "clone"},
		{name: "a file at an absolute path", lines: []string{add("/etc/passwd", "")}, kind: fault.Unsupported, says: "clone"},
		{name: "a path that is not encoded right", lines: []string{add("a%zz.parquet", "")}, kind: fault.Corrupt},
		{name: "a file that is gone again does not matter", lines: []string{add("/etc/passwd", ""), `{"remove":{"path":"/etc/passwd"}}`}},
		{name: "partition values", lines: []string{`{"add":{"path":"a.parquet","partitionValues":{"p":"1"},"size":10,"modificationTime":1,"dataChange":true}}`}, kind: fault.Unsupported, says: "partition"},
		{name: "partition columns", lines: []string{strings.Replace(plainMetaData, `"partitionColumns":[]`, `"partitionColumns":["n"]`, 1)}, kind: fault.Unsupported, says: `"n"`},
		{name: "column mapping", lines: []string{`{"protocol":{"minReaderVersion":2,"minWriterVersion":5}}`, config("delta.columnMapping.mode", "name")}, kind: fault.Unsupported, says: "columnMapping"},
		{name: "a reader version to come", lines: []string{`{"protocol":{"minReaderVersion":4,"minWriterVersion":8}}`}, kind: fault.Unsupported, says: "4"},
		{name: "a reader feature to come", lines: []string{`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["timeTravelAgent"],"writerFeatures":["timeTravelAgent"]}}`}, kind: fault.Unsupported, says: "timeTravelAgent"},
		{name: "a writer feature to come", lines: []string{`{"protocol":{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":["timeTravelAgent"]}}`}, append: fault.Unsupported, says: "timeTravelAgent"},
		{name: "a writer version to come", lines: []string{`{"protocol":{"minReaderVersion":1,"minWriterVersion":8}}`}, append: fault.Unsupported, says: "8"},
		{name: "reader features at an old version", lines: []string{`{"protocol":{"minReaderVersion":1,"minWriterVersion":2,"readerFeatures":["x"]}}`}, kind: fault.Corrupt},
		{name: "features that are not in use", lines: []string{`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors","columnMapping","v2Checkpoint","vacuumProtocolCheck","timestampNtz"],"writerFeatures":["deletionVectors","columnMapping","v2Checkpoint","vacuumProtocolCheck","timestampNtz","appendOnly","invariants","changeDataFeed"]}}`}},
		{name: "a check constraint", lines: []string{config("delta.constraints.positive", "n > 0")}, append: fault.Unsupported, says: "positive"},
		{name: "row tracking", lines: []string{config("delta.enableRowTracking", "true")}, append: fault.Unsupported, says: "RowTracking"},
		{name: "an invariant", lines: []string{strings.Replace(plainMetaData, `\"metadata\":{}`, `\"metadata\":{\"delta.invariants\":\"x\"}`, 1)}, append: fault.Unsupported, says: `"n"`},
		{name: "a type to come", lines: []string{strings.Replace(plainMetaData, `\"long\"`, `\"variant\"`, 1)}, kind: fault.Unsupported, says: `"n"`},
		{name: "a schema that is none", lines: []string{strings.Replace(plainMetaData, `\"struct\"`, `\"list\"`, 1)}, kind: fault.Corrupt},
		{name: "JSON that is broken", lines: []string{`{"add":{"path":"a.parq`}, kind: fault.Corrupt, says: "version 1"},
		{name: "an add without a path", lines: []string{`{"add":{"size":10}}`}, kind: fault.Corrupt, says: "version 1"},
		{name: "two of what there is one of", lines: []string{plainProtocol, plainProtocol}, kind: fault.Corrupt},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mem.New()
			table := newTable(t, s, 0)
			foreign(t, s, 1, tt.lines...)
			snap, err := table.Snapshot(t.Context(), 1)
			if tt.kind != 0 {
				if fault.KindOf(err) != tt.kind || !strings.Contains(fault.Public(err), tt.says) {
					t.Errorf("Snapshot = %v, want a %v error that says %q", err, tt.kind, tt.says)
				}
				if _, err := table.Commit(t.Context(), 1, enginetest.NewOp(t), engine.Manifest{}); fault.KindOf(err) != tt.kind {
					t.Errorf("Commit = %v, want a %v error", err, tt.kind)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			sc, err := snap.Scan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var files []string
			for _, f := range sc.Files {
				files = append(files, f.Name)
			}
			if got := strings.Join(files, " "); got != tt.files {
				t.Errorf("files %q, want %q", got, tt.files)
			}
			_, err = table.Commit(t.Context(), 1, enginetest.NewOp(t), engine.Manifest{})
			if tt.append == 0 && err != nil || tt.append != 0 && (fault.KindOf(err) != tt.append || !strings.Contains(fault.Public(err), tt.says)) {
				t.Errorf("Commit = %v, want kind %v that says %q", err, tt.append, tt.says)
			}
		})
	}
}

func TestALogWithAGapIsCorrupt(t *testing.T) {
	s := mem.New()
	newTable(t, s, 4)
	if err := s.Delete(t.Context(), logName(2)); err != nil {
		t.Fatal(err)
	}
	table := delta.New(s, delta.Options{}).Table("t")
	_, err := table.Snapshot(t.Context(), 4)
	if fault.KindOf(err) != fault.Corrupt || !strings.Contains(fault.Public(err), "version 2") {
		t.Errorf("Snapshot over a gap = %v", err)
	}
	if _, err := table.Snapshot(t.Context(), 1); err != nil {
		t.Errorf("Snapshot before the gap = %v", err)
	}
}

func TestALogThatBeginsWithACheckpointIsRefused(t *testing.T) {
	s := mem.New()
	newTable(t, s, 4)
	for v := range 3 {
		if err := s.Delete(t.Context(), logName(v)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := objects.Put(t.Context(), s, "t/_delta_log/00000000000000000002.checkpoint.parquet", nil); err != nil {
		t.Fatal(err)
	}
	e := delta.New(s, delta.Options{})
	if _, err := e.Table("t").Snapshot(t.Context(), 4); !errors.Is(err, engine.ErrUnsupported) || !strings.Contains(err.Error(), "checkpoint") {
		t.Errorf("Snapshot = %v", err)
	}
	if _, err := e.Create(t.Context(), "t", numbers(t), enginetest.NewOp(t)); fault.KindOf(err) != fault.Exists {
		t.Errorf("Create over a log without its version 0 = %v", err)
	}
}

// Spark and delta-rs may drop or change what they do not know. The exact type
// holds only as long as it is of what the table now says.
func TestExactTypesHoldOnlyWhereTheyFit(t *testing.T) {
	s := mem.New()
	schema := enginetest.Schema(t,
		arrow.Field{Name: "u", Type: arrow.PrimitiveTypes.Uint8, Nullable: true},
		arrow.Field{Name: "f", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)})
	e := delta.New(s, delta.Options{})
	if _, err := e.Create(t.Context(), "t", schema, enginetest.NewOp(t)); err != nil {
		t.Fatal(err)
	}
	own := actions(t, s, 0)[2]["metaData"]["schemaString"].(string)
	for i, tt := range []struct {
		name string
		edit func(string) string
		want []arrow.DataType
	}{
		{"as we wrote it", func(s string) string { return s }, []arrow.DataType{schema.Field(0).Type, schema.Field(1).Type}},
		{
			"widened by another writer", func(s string) string { return strings.Replace(s, `"short"`, `"integer"`, 1) },
			[]arrow.DataType{arrow.PrimitiveTypes.Int32, schema.Field(1).Type},
		},
		{
			"renamed by another writer", func(s string) string { return strings.Replace(s, `"name":"u"`, `"name":"v"`, 1) },
			[]arrow.DataType{arrow.PrimitiveTypes.Int16, schema.Field(1).Type},
		},
		{
			"without our metadata", func(s string) string { return strings.ReplaceAll(s, "lake.arrow", "x") },
			[]arrow.DataType{arrow.PrimitiveTypes.Int16, arrow.ListOf(arrow.PrimitiveTypes.Float32)},
		},
		{
			"with broken metadata", func(s string) string { return strings.ReplaceAll(s, `"lake.arrow":"`, `"lake.arrow":"AAAA`) },
			[]arrow.DataType{arrow.PrimitiveTypes.Int16, arrow.ListOf(arrow.PrimitiveTypes.Float32)},
		},
	} {
		m, err := json.Marshal(map[string]any{"metaData": map[string]any{"id": "x", "schemaString": tt.edit(own), "partitionColumns": []string{}, "configuration": map[string]string{}}})
		if err != nil {
			t.Fatal(err)
		}
		foreign(t, s, i+1, string(m))
		snap, err := e.Table("t").Snapshot(t.Context(), ident.Version(i+1))
		if err != nil {
			t.Fatal(err)
		}
		sc, err := snap.Scan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for c, want := range tt.want {
			if got := sc.Columns[c].Exact.Type; !engine.SameType(got, want) {
				t.Errorf("%s: column %d is %s, want %s", tt.name, c, got, want)
			}
		}
	}
}

// Many versions of many tables do not pile up in memory, and the answers do not
// depend on what was kept.
func TestSnapshotsWithASmallCache(t *testing.T) {
	s := mem.New()
	newTable(t, s, 10)
	e := delta.New(s, delta.Options{CachedFiles: 12})
	for _, v := range []ident.Version{10, 3, 9, 0, 10, 1, 5, 10} {
		snap, err := e.Table("t").Snapshot(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		sc, err := snap.Scan(t.Context())
		if err != nil || len(sc.Files) != int(v) {
			t.Errorf("version %d has %d files, %v", v, len(sc.Files), err)
		}
	}
}

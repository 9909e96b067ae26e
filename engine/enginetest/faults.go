package enginetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/go-cmp/cmp"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/objects"
	"github.com/lakeward/lake/objects/objectstest"
)

func hostileManifests(t *testing.T, o Options) {
	s, schema, table := created(t, o)
	good := stage(t, table, schema, numbered(t, schema, 0, 3)).Files[0]
	if _, err := objects.Put(t.Context(), s, "secret.parquet", []byte("x")); err != nil {
		t.Fatal(err)
	}
	edit := func(change func(f *engine.File)) engine.Manifest {
		f := good
		change(&f)
		return engine.Manifest{Files: []engine.File{f}}
	}
	before := all(t, s)
	for name, m := range map[string]engine.Manifest{
		"a file that is not there":       edit(func(f *engine.File) { f.Name = "none.parquet" }),
		"a file of another size":         edit(func(f *engine.File) { f.Bytes++ }),
		"a file above the location":      edit(func(f *engine.File) { f.Name = "../../../../secret.parquet" }),
		"an absolute name":               edit(func(f *engine.File) { f.Name = "/secret.parquet" }),
		"an empty name":                  edit(func(f *engine.File) { f.Name = "" }),
		"a name with a line break":       edit(func(f *engine.File) { f.Name = "a\nb.parquet" }),
		"a hidden name":                  edit(func(f *engine.File) { f.Name = ".tmp-x" }),
		"the log itself":                 edit(func(f *engine.File) { f.Name = strings.TrimPrefix(before[0], string(Location)+"/") }),
		"a negative size":                edit(func(f *engine.File) { f.Bytes = -1 }),
		"a negative number of rows":      edit(func(f *engine.File) { f.Rows = -1 }),
		"a file twice":                   {Files: []engine.File{good, good}},
		"a good file and one of no size": {Files: []engine.File{good, {Name: "x.parquet"}}},
	} {
		v, err := table.Commit(t.Context(), 0, NewOp(t), m)
		if k := fault.KindOf(err); k != fault.Invalid && k != fault.Corrupt {
			t.Errorf("%s: Commit = %d, %v", name, v, err)
		}
	}
	if diff := cmp.Diff(before, all(t, s)); diff != "" {
		t.Errorf("objects (-before +after):\n%s", diff)
	}
	commit(t, table, 0, engine.Manifest{Files: []engine.File{good}})
	if v, err := table.Commit(t.Context(), 1, NewOp(t), engine.Manifest{Files: []engine.File{good}}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("Commit of a file that the table has = %d, %v", v, err)
	}
}

func wrongRows(t *testing.T, o Options) {
	s, schema, table := created(t, o)
	before := all(t, s)
	for name, other := range map[string]*arrow.Schema{
		"a column too few": Schema(t, schema.Field(0)),
		"another name":     Schema(t, schema.Field(0), arrow.Field{Name: "nom", Type: arrow.BinaryTypes.String}),
		"another type":     Schema(t, arrow.Field{Name: "id", Type: arrow.PrimitiveTypes.Int32}, schema.Field(1)),
		"another order":    Schema(t, schema.Field(1), schema.Field(0)),
	} {
		b := Batch(t, other, `[{}]`)
		if other.NumFields() == 1 {
			b = Batch(t, other, `[{"id":1}]`)
		}
		if _, err := table.Stage(t.Context(), schema, Rows(numbered(t, schema, 0, 5), b)); !errors.Is(err, engine.ErrSchema) {
			t.Errorf("%s: Stage = %v, want ErrSchema", name, err)
		}
	}
	if diff := cmp.Diff(before, all(t, s)); diff != "" {
		t.Errorf("objects (-before +after):\n%s", diff)
	}
}

func nullRefused(t *testing.T, o Options) {
	s := o.Store(t)
	schema := Schema(t,
		arrow.Field{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		arrow.Field{Name: "pose", Type: arrow.StructOf(
			arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Float64},
			arrow.Field{Name: "path", Type: arrow.ListOfNonNullable(arrow.PrimitiveTypes.Float64), Nullable: true},
		), Nullable: true})
	e := o.New(s)
	if _, err := e.Create(t.Context(), Location, schema, NewOp(t)); err != nil {
		t.Fatal(err)
	}
	before := all(t, s)
	loose := Schema(t,
		arrow.Field{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		arrow.Field{Name: "pose", Type: arrow.StructOf(
			arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
			arrow.Field{Name: "path", Type: arrow.ListOf(arrow.PrimitiveTypes.Float64), Nullable: true},
		), Nullable: true})
	for _, tt := range []struct{ rows, column string }{
		{`[{"id":1},{"id":null}]`, `"id"`},
		{`[{"id":1,"pose":{"x":1}},{"id":2,"pose":{"x":null}}]`, `"pose.x"`},
		{`[{"id":1,"pose":{"x":1,"path":[1,null]}}]`, `"pose.path.element"`},
		{`[{"id":1,"pose":null},{"id":2,"pose":{"x":1,"path":[]}},{"id":3,"pose":{"x":1,"path":null}}]`, ""},
	} {
		_, err := e.Table(Location).Stage(t.Context(), schema, Rows(Batch(t, loose, tt.rows)))
		switch {
		case tt.column == "" && err != nil:
			t.Errorf("%s: Stage = %v", tt.rows, err)
		case tt.column != "" && (fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), tt.column)):
			t.Errorf("%s: Stage = %v, want a fault.Invalid error about column %s", tt.rows, err, tt.column)
		}
	}
	if got := all(t, s); len(got) != len(before)+1 {
		t.Errorf("objects: %q", got)
	}
}

func stageFailures(t *testing.T, o Options) {
	s, schema, table := created(t, o)
	before := all(t, s)
	broken := errors.New("the source broke")
	if _, err := table.Stage(t.Context(), schema, func(yield func(arrow.RecordBatch, error) bool) {
		for i := range 3 {
			if !yield(numbered(t, schema, 10*i, 10), nil) {
				return
			}
		}
		yield(nil, broken)
	}); !errors.Is(err, broken) {
		t.Errorf("Stage of a source that breaks = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := table.Stage(ctx, schema, func(yield func(arrow.RecordBatch, error) bool) {
		for i := 0; yield(numbered(t, schema, 10*i, 10), nil); i++ {
			if i == 3 {
				cancel()
			}
		}
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("Stage that is cancelled = %v", err)
	}
	if diff := cmp.Diff(before, all(t, s)); diff != "" {
		t.Errorf("objects (-before +after):\n%s", diff)
	}
}

func stageFaults(t *testing.T, o Options) {
	for _, after := range []bool{false, true} {
		for call := 1; ; call++ {
			s, schema, _ := created(t, o)
			before := all(t, s)
			f := objectstest.NewFaulty(s, objectstest.Fault{Call: call, After: after})
			_, err := o.New(f).Table(Location).Stage(t.Context(), schema, Rows(numbered(t, schema, 0, 10)))
			if !f.Fired() {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			if !errors.Is(err, objectstest.ErrInjected) {
				t.Errorf("call %d (after %v) broken: Stage = %v", call, after, err)
			}
			if diff := cmp.Diff(before, all(t, s)); diff != "" {
				t.Errorf("call %d (after %v) broken: objects (-before +after):\n%s", call, after, diff)
			}
		}
	}
}

func createFaults(t *testing.T, o Options) {
	for _, fl := range faults() {
		for call := 1; ; call++ {
			fl.Call = call
			s, schema, op := o.Store(t), simple(t), NewOp(t)
			f := objectstest.NewFaulty(s, fl)
			_, err := o.New(f).Create(t.Context(), Location, schema, op)
			if !f.Fired() {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			// Either it is there, or it can be made.
			_, err2 := o.New(s).Create(t.Context(), Location, schema, again(t, op))
			if err2 != nil && fault.KindOf(err2) != fault.Exists || err == nil && err2 == nil {
				t.Errorf("%+v: Create = %v, then %v", fl, err, err2)
			}
			if sc := scan(t, o.New(s).Table(Location), 0); len(sc.Columns) != 2 {
				t.Errorf("%+v: columns %v", fl, sc.Columns)
			}
		}
	}
}

// faults are the ways in which a call goes wrong.
func faults() []objectstest.Fault {
	return []objectstest.Fault{{}, {After: true}, {Crash: true}, {After: true, Crash: true}}
}

// appendOnce is what a server does for an operation, from wherever it was left.
func appendOnce(ctx context.Context, table engine.Table, op engine.Op, m engine.Manifest) (ident.Version, error) {
	v, ok, err := table.Find(ctx, 0, op.ID)
	if err != nil || ok {
		return v, err
	}
	return table.Commit(ctx, 0, op, m)
}

// staged is a new table and staged rows, which stores that begin alike are made
// of: histories are many.
type staged struct {
	objects  map[string][]byte
	manifest engine.Manifest
}

func newStaged(t *testing.T, o Options) staged {
	s, schema, table := created(t, o)
	out := staged{map[string][]byte{}, stage(t, table, schema, numbered(t, schema, 0, 3))}
	for _, name := range all(t, s) {
		b, err := objects.Read(t.Context(), s, name, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		out.objects[name] = b
	}
	return out
}

func (st staged) store(t *testing.T, o Options) objects.Store {
	t.Helper()
	s := o.Store(t)
	for name, b := range st.objects {
		if _, err := objects.Put(t.Context(), s, name, b); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// onlyOnce checks that the newest version is the second one after the creation,
// and that it has the staged rows once.
func (st staged) onlyOnce(t *testing.T, table engine.Table, history any) {
	t.Helper()
	var files []engine.File
	for _, f := range scan(t, table, 2).Files {
		files = append(files, f.File)
	}
	if diff := cmp.Diff(st.manifest.Files, files); diff != "" {
		t.Fatalf("%+v: files (-want +got):\n%s", history, diff)
	}
	if _, err := table.Snapshot(t.Context(), 3); !errors.Is(err, engine.ErrNoVersion) {
		t.Fatalf("%+v: version 3: %v", history, err)
	}
}

// commitFaults breaks one outside call of a commit, then one of its recovery,
// and lets the second recovery finish. Another commit lies in between.
func commitFaults(t *testing.T, o Options) {
	st := newStaged(t, o)
	histories := 0
	for _, first := range faults() {
		for reached := true; reached; {
			first.Call++
			for _, second := range faults() {
				for more := true; more; {
					second.Call++
					histories++
					reached, more = st.history(t, o, first, second)
				}
			}
		}
	}
	t.Logf("%d histories", histories)
}

// history runs one history, and reports whether each of its faults was reached.
func (st staged) history(t *testing.T, o Options, first, second objectstest.Fault) (firstFired, secondFired bool) {
	s := st.store(t, o)
	op := NewOp(t)
	f := objectstest.NewFaulty(s, first)
	v1, err1 := appendOnce(t.Context(), o.New(f).Table(Location), op, st.manifest)
	commit(t, o.New(s).Table(Location), 0, engine.Manifest{})
	f2 := objectstest.NewFaulty(s, second)
	v2, err2 := appendOnce(t.Context(), o.New(f2).Table(Location), again(t, op), st.manifest)
	v3, err3 := appendOnce(t.Context(), o.New(s).Table(Location), again(t, op), st.manifest)
	if err3 != nil || err1 == nil && v1 != v3 || err2 == nil && v2 != v3 {
		t.Fatalf("%+v, then %+v: version %d (%v), %d (%v), %d (%v)", first, second, v1, err1, v2, err2, v3, err3)
	}
	st.onlyOnce(t, o.New(s).Table(Location), [2]objectstest.Fault{first, second})
	return f.Fired(), f2.Fired()
}

func sameAttempt(t *testing.T, o Options) {
	st := newStaged(t, o)
	for _, fl := range faults() {
		for reached := true; reached; {
			fl.Call++
			s, op := st.store(t, o), NewOp(t)
			f := objectstest.NewFaulty(s, fl)
			v, err := o.New(f).Table(Location).Commit(t.Context(), 0, op, st.manifest)
			commit(t, o.New(s).Table(Location), 0, engine.Manifest{})
			v2, err2 := o.New(s).Table(Location).Commit(t.Context(), 0, op, st.manifest)
			if err2 != nil || err == nil && v != v2 {
				t.Fatalf("%+v: version %d (%v), then %d (%v)", fl, v, err, v2, err2)
			}
			st.onlyOnce(t, o.New(s).Table(Location), fl)
			reached = f.Fired()
		}
	}
}

func types(t *testing.T, o Options) {
	for _, sample := range Samples() {
		t.Run(sample.Name, func(t *testing.T) {
			s := o.Store(t)
			e := o.New(s)
			schema := Schema(t, arrow.Field{Name: "id", Type: arrow.PrimitiveTypes.Int64}, sample.Field())
			err := e.Check(schema)
			if slices.Contains(o.Refused, sample.Name) {
				refused(t, sample.Name, err)
				_, err = e.Create(t.Context(), Location, schema, NewOp(t))
				refused(t, sample.Name, err)
				if got := all(t, s); len(got) != 0 {
					t.Errorf("objects: %q", got)
				}
				return
			}
			if err != nil {
				t.Fatalf("Check = %v", err)
			}
			if _, err := e.Create(t.Context(), Location, schema, NewOp(t)); err != nil {
				t.Fatal(err)
			}
			schema = Schema(t, sample.Field())
			at := Location + "x"
			if _, err := e.Create(t.Context(), at, schema, NewOp(t)); err != nil {
				t.Fatal(err)
			}
			b := sample.Batch(t, schema)
			table := e.Table(at)
			// Slices, whose arrays begin somewhere within their buffers, too.
			m := stage(t, table, schema, b, b.NewSlice(1, b.NumRows()), b.NewSlice(0, 1), b.NewSlice(0, 0))
			v := commit(t, table, 0, m)
			sc := scan(t, table, v)
			sameSchema(t, schema, sc)
			want := slices.Concat(Canonical(AsStored(b.Column(0))), Canonical(AsStored(b.NewSlice(1, b.NumRows()).Column(0))), Canonical(AsStored(b.NewSlice(0, 1).Column(0))))
			var got []string
			for b, err := range o.Read(t.Context(), s, sc) {
				if err != nil {
					t.Fatal(err)
				}
				if !engine.SameType(b.Column(0).DataType(), sc.Columns[0].Stored) {
					t.Errorf("the column reads as %s, not as %s", b.Column(0).DataType(), sc.Columns[0].Stored)
				}
				got = append(got, Canonical(b.Column(0))...)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}

func refused(t *testing.T, column string, err error) {
	t.Helper()
	if !errors.Is(err, engine.ErrUnsupported) || fault.KindOf(err) != fault.Unsupported || !strings.Contains(fault.Public(err), `"`+column) {
		t.Errorf("error %v, want ErrUnsupported that names column %q", err, column)
	}
}

// AsStored returns nanoseconds as the integers that they are stored as, and
// other arrays as they are.
func AsStored(a arrow.Array) arrow.Array {
	t, ok := a.DataType().(*arrow.TimestampType)
	if !ok || t.Unit != arrow.Nanosecond {
		return a
	}
	d := a.Data()
	return array.MakeFromData(array.NewData(arrow.PrimitiveTypes.Int64, d.Len(), d.Buffers(), nil, a.NullN(), d.Offset()))
}

// WithType gives an array a type of the same layout, such as one with other
// field ids.
func WithType(a arrow.Array, t arrow.DataType) arrow.Array {
	d := a.Data()
	if dictionary, ok := a.(*array.Dictionary); ok {
		return array.NewDictionaryArray(t, dictionary.Indices(), dictionary.Dictionary())
	}
	return array.MakeFromData(array.NewData(t, d.Len(), d.Buffers(), d.Children(), a.NullN(), d.Offset()))
}

package authority_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/delta"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta/authority"
	"github.com/lakeward/lake/meta/bolt"
	"github.com/lakeward/lake/meta/metatest"
	"github.com/lakeward/lake/meta/registry"
	"github.com/lakeward/lake/objects/local"
	"github.com/lakeward/lake/objects/objectstest"
)

var errCrash = fault.New(fault.Internal, "the process has ended")

// crasher counts the calls that leave a process and ends the process at the
// nth: before the call takes effect, or after it, with its answer lost. A
// process that has ended makes no more calls.
type crasher struct {
	mu    sync.Mutex
	n     int
	after bool
	dead  bool
}

func (c *crasher) hit(do func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return errCrash
	}
	c.n--
	c.dead = c.n == 0
	if c.dead && !c.after {
		return errCrash
	}
	err := do()
	if c.dead {
		return errCrash
	}
	return err
}

// process is an authority that ends where c says.
func (w world) process(c *crasher) *authority.Authority {
	e := delta.New(objectstest.Hooked{Store: w.objs, Hit: c.hit}, delta.Options{Version: "test"})
	return authority.New(metatest.Faulty{Store: w.kv, Hit: c.hit}, []engine.Engine{e}, authority.Options{})
}

// history is a client's work: it makes the table and appends to it, and does
// both again, with the same ids, after a crash. A second client may have come
// in between with rows of its own.
type history struct {
	w                   world
	create, op, otherOp ident.OperationID
	ingest              bool // rows are staged before the table is made
}

// first is the first client's work, up to where its process ends.
func (h history) first(t *testing.T, a *authority.Authority) (authority.Result, error) {
	if h.ingest {
		return h.firstIngest(t, a)
	}
	reg, _, err := a.Create(t.Context(), createRequest(h.create))
	if err != nil {
		return authority.Result{}, err
	}
	return a.Append(t.Context(), staged(t, h.w, reg, h.op, 0, 10))
}

// firstIngest is the same work in the order of an ingest: a table is made when
// its rows are there.
func (h history) firstIngest(t *testing.T, a *authority.Authority) (authority.Result, error) {
	r := createRequest(h.op)
	reg, placement, err := a.Place(t.Context(), r)
	if err != nil {
		return authority.Result{}, err
	}
	append := staged(t, h.w, reg, h.op, 0, 10)
	if placement != nil {
		r.Incarnation, r.Placement = reg.Incarnation, placement
		if _, _, err := a.Create(t.Context(), r); err != nil {
			return authority.Result{}, err
		}
	}
	return a.Append(t.Context(), append)
}

// other is the second client's append; there may be no table yet.
func (h history) other(t *testing.T, a *authority.Authority) (authority.Result, error) {
	reg, err := registry.New(h.w.kv).Lookup(t.Context(), flights)
	if err != nil {
		return authority.Result{}, err
	}
	return a.Append(t.Context(), staged(t, h.w, reg, h.otherOp, 100, 5))
}

// finish runs both clients to their end and checks what readers see.
func (h history) finish(t *testing.T, withOther bool) error {
	a := h.w.authority()
	want := int64(10)
	got, err := h.first(t, a)
	if err != nil {
		return fmt.Errorf("the first client, at last: %w", err)
	}
	results := []authority.Result{got}
	if withOther {
		want += 5
		other, err := h.other(t, a)
		if err != nil {
			return fmt.Errorf("the other client, at last: %w", err)
		}
		if other.Rows != 5 || other.Version == got.Version {
			return fmt.Errorf("the other client got %+v, the first %+v", other, got)
		}
		results = append(results, other)
	}
	v, rows, err := h.w.visible(t.Context())
	if err != nil || rows != want || int(v) != len(results) || got.Rows != 10 {
		return fmt.Errorf("readers see version %d with %d rows (%v), want %d with %d; the first client got %+v", v, rows, err, len(results), want, got)
	}
	// Once more: replays bring the same answers and change nothing.
	again, err := h.first(t, h.w.authority())
	if err != nil || again.Version != got.Version || !again.Replayed {
		return fmt.Errorf("a replay after all that: %+v (%v), want version %d", again, err, got.Version)
	}
	if v2, rows2, err := h.w.visible(t.Context()); err != nil || v2 != v || rows2 != rows {
		return fmt.Errorf("after a replay readers see version %d with %d rows (%v)", v2, rows2, err)
	}
	return nil
}

func newHistory(t *testing.T, w world) history {
	return history{w: w, create: newOp(t), op: newOp(t), otherOp: newOp(t)}
}

// TestAppendSurvivesEveryCrash ends the process at the 1st, 2nd, 3rd… outside
// call of a create and an append, before and after the call takes effect; ends
// its successor, the same client or another one, at each of its calls too; and
// then lets everybody finish.
func TestAppendSurvivesEveryCrash(t *testing.T) {
	for name, ingest := range map[string]bool{"table first": false, "rows first": true} {
		t.Run(name, func(t *testing.T) { t.Parallel(); surviveEveryCrash(t, ingest) })
	}
}

func surviveEveryCrash(t *testing.T, ingest bool) {
	histories := 0
	for _, after := range []bool{false, true} {
		for _, withOther := range []bool{false, true} {
			for i := 1; ; i++ {
				fired := false
				for _, after2 := range []bool{false, true} {
					for j := 1; ; j++ {
						histories++
						h := newHistory(t, newWorld())
						h.ingest = ingest
						c := &crasher{n: i, after: after}
						_, err := h.first(t, h.w.process(c))
						fired = c.dead
						if fired && !errors.Is(err, errCrash) {
							t.Fatalf("the process ended at call %d (after=%v) and its client heard %v", i, after, err)
						}
						c2 := &crasher{n: j, after: after2}
						successor := h.first
						if withOther {
							successor = h.other
						}
						_, _ = successor(t, h.w.process(c2))
						if err := h.finish(t, withOther); err != nil {
							t.Fatalf("crash at call %d (after=%v), then at call %d (after=%v) of the successor (other=%v): %v", i, after, j, after2, withOther, err)
						}
						if !c2.dead {
							break
						}
					}
				}
				if !fired {
					break
				}
			}
		}
	}
	t.Logf("%d histories", histories)
}

// TestAppendSurvivesEveryCrashOnDisk is the same, with one crash, over a real
// metadata file, which is closed and opened again, and files on disk.
func TestAppendSurvivesEveryCrashOnDisk(t *testing.T) {
	histories := 0
	for _, after := range []bool{false, true} {
		for _, withOther := range []bool{false, true} {
			for i := 1; ; i++ {
				histories++
				dir := t.TempDir()
				open := func() (world, func()) {
					kv, err := bolt.Open(filepath.Join(dir, "meta.db"), bolt.Options{NoSync: true})
					if err != nil {
						t.Fatal(err)
					}
					objs, err := local.Open(dir, local.Options{NoSync: true})
					if err != nil {
						t.Fatal(err)
					}
					return world{kv, objs}, func() { objs.Close(); kv.Close() }
				}
				w, closeAll := open()
				h := newHistory(t, w)
				c := &crasher{n: i, after: after}
				_, _ = h.first(t, h.w.process(c))
				closeAll()
				h.w, closeAll = open()
				if withOther {
					_, _ = h.other(t, h.w.authority())
				}
				if err := h.finish(t, withOther); err != nil {
					t.Fatalf("crash at call %d (after=%v), other=%v: %v", i, after, withOther, err)
				}
				closeAll()
				if !c.dead {
					break
				}
			}
		}
	}
	t.Logf("%d histories", histories)
}

package authority_test

import (
	"testing"
	"time"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/meta/authority"
	"github.com/lakeward/lake/meta/registry"
)

// placed is a create of a table that Place has given a location.
func placed(t *testing.T, a *authority.Authority) (authority.CreateRequest, registry.Registration) {
	t.Helper()
	r := createRequest(newOp(t))
	reg, placement, err := a.Place(t.Context(), r)
	if err != nil || placement == nil {
		t.Fatalf("%x (%v)", placement, err)
	}
	r.Incarnation, r.Placement = reg.Incarnation, placement
	return r, reg
}

func TestRowsAreStagedBeforeTheirTableIsMade(t *testing.T) {
	w := newWorld()
	a := w.authority()
	r, reg := placed(t, a)
	rows := staged(t, w, reg, r.Operation, 0, 10)
	if _, err := registry.New(w.kv).Lookup(t.Context(), flights); fault.KindOf(err) != fault.NotFound {
		t.Fatalf("the table is there already: %v", err)
	}
	made, replayed, err := a.Create(t.Context(), r)
	if err != nil || replayed || made.Incarnation != reg.Incarnation || made.Location != reg.Location || string(made.Schema) != string(reg.Schema) {
		t.Fatalf("%+v, replayed %v (%v), placed %+v", made, replayed, err, reg)
	}
	w.check(t, "after the create", 0, 0)
	if _, err := a.Append(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	w.check(t, "after the append", 1, 10)

	// The same operation gets its table, any other finds the name taken.
	again, placement, err := a.Place(t.Context(), createRequest(r.Operation))
	if err != nil || placement != nil || again.Incarnation != reg.Incarnation {
		t.Errorf("the same operation: %+v, %x (%v)", again, placement, err)
	}
	if _, _, err := a.Place(t.Context(), createRequest(newOp(t))); fault.KindOf(err) != fault.Exists {
		t.Errorf("another operation: %v", err)
	}
}

// Only an incarnation that was placed by this process, for this name and not
// long ago, is used: any other might have been used before.
func TestPlacementsThatDoNotHold(t *testing.T) {
	w := newWorld()
	now := time.Now()
	a := authority.New(w.kv, []engine.Engine{w.engine()}, authority.Options{Now: func() time.Time { return now }})
	r, _ := placed(t, a)
	for name, change := range map[string]func(*authority.CreateRequest){
		"none":         func(r *authority.CreateRequest) { r.Placement = nil },
		"another":      func(r *authority.CreateRequest) { r.Placement = make([]byte, 32) },
		"another name": func(r *authority.CreateRequest) { r.Table.Name = "trains" },
		"another incarnation": func(r *authority.CreateRequest) {
			other, _ := placed(t, a)
			r.Incarnation = other.Incarnation
		},
	} {
		changed := r
		change(&changed)
		if _, _, err := a.Create(t.Context(), changed); fault.KindOf(err) != fault.Stale {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := w.authority().Create(t.Context(), r); fault.KindOf(err) != fault.Stale {
		t.Errorf("of another process: %v", err)
	}
	now = now.Add(25 * time.Hour)
	r.Operation = newOp(t)
	if _, _, err := a.Create(t.Context(), r); fault.KindOf(err) != fault.Stale {
		t.Errorf("of yesterday: %v", err)
	}
	if regs, _, err := registry.New(w.kv).All(t.Context()); len(regs) != 0 || err != nil {
		t.Errorf("refusals made %v (%v)", regs, err)
	}
	now = time.Now()
	if _, _, err := a.Create(t.Context(), r); err != nil {
		t.Errorf("but in time: %v", err)
	}
}

package registry_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta"
	"github.com/lakeward/lake/meta/mem"
	"github.com/lakeward/lake/meta/registry"
)

func registration(t *testing.T, name string) registry.Registration {
	t.Helper()
	table, err := ident.ParseTable(name)
	if err != nil {
		t.Fatal(err)
	}
	inc, err := ident.NewIncarnation()
	if err != nil {
		t.Fatal(err)
	}
	op, err := ident.NewOperation()
	if err != nil {
		t.Fatal(err)
	}
	return registry.Registration{
		Table: table, Incarnation: inc, Engine: "delta", Location: "tables/x", Schema: []byte("s"),
		Tenant: "dev", CreatedBy: op, CreatedAt: time.UnixMilli(1),
	}
}

func create(t *testing.T, r *registry.Registry, name string) registry.Registration {
	t.Helper()
	if err := r.Create(t.Context(), registration(t, name)); err != nil {
		t.Fatal(err)
	}
	table, _ := ident.ParseTable(name)
	reg, err := r.Lookup(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

func TestNameIsTakenOnce(t *testing.T) {
	r := registry.New(mem.New())
	first := create(t, r, "demo.flights")
	if err := r.Create(t.Context(), registration(t, "demo.flights")); !errors.Is(err, registry.ErrTableExists) {
		t.Errorf("a second create: %v", err)
	}
	got, err := r.Lookup(t.Context(), first.Table)
	if err != nil || got.Incarnation != first.Incarnation {
		t.Errorf("the name stands for %s (%v), want %s", got.Incarnation, err, first.Incarnation)
	}
	other, _ := ident.ParseTable("demo.nothing")
	if _, err := r.Lookup(t.Context(), other); !errors.Is(err, registry.ErrNoTable) || fault.KindOf(err) != fault.NotFound {
		t.Errorf("a name that is free: %v", err)
	}
}

func TestCreatesOfManyTablesDoNotDisturbEachOther(t *testing.T) {
	r := registry.New(mem.New())
	const tables = 24
	var wg sync.WaitGroup
	for i := range tables {
		reg := registration(t, fmt.Sprintf("demo.t%02d", i))
		wg.Go(func() {
			if err := r.Create(t.Context(), reg); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all, generation, err := r.All(t.Context())
	if err != nil || len(all) != tables || generation != tables {
		t.Errorf("%d tables at generation %d (%v), want %d at %d", len(all), generation, err, tables, tables)
	}
}

func TestAllPagesInOrder(t *testing.T) {
	r := registry.New(mem.New())
	var want []string
	for i := range 150 {
		name := fmt.Sprintf("ns%d.t%03d", i%3, i)
		create(t, r, name)
	}
	for ns := range 3 {
		for i := range 150 {
			if i%3 == ns {
				want = append(want, fmt.Sprintf("ns%d.t%03d", ns, i))
			}
		}
	}
	all, _, err := r.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, reg := range all {
		got = append(got, reg.Table.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAdvanceHoldsForTheExactRegistrationOnly(t *testing.T) {
	store := mem.New()
	r := registry.New(store)
	reg := create(t, r, "demo.flights")
	change, err := r.Advance(reg, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := meta.Commit(t.Context(), store, change); err != nil {
		t.Fatal(err)
	}
	stale, err := r.Advance(reg, 2) // reg is the registration at version 0
	if err != nil {
		t.Fatal(err)
	}
	if err := meta.Commit(t.Context(), store, stale); !errors.Is(err, meta.ErrGuard) {
		t.Errorf("an advance from an old registration: %v", err)
	}
	if got, err := r.Lookup(t.Context(), reg.Table); err != nil || got.Version != 1 {
		t.Errorf("version %d (%v), want 1", got.Version, err)
	}
}

func TestRootIsBoundOnce(t *testing.T) {
	r := registry.New(mem.New())
	for range 2 {
		if err := r.BindRoot(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.BindRoot(t.Context(), "b"); fault.KindOf(err) != fault.Stale {
		t.Errorf("another lake's root: %v", err)
	}
}

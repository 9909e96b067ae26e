package appends_test

import (
	"errors"
	"testing"
	"time"

	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta"
	"github.com/lakeward/lake/meta/appends"
	"github.com/lakeward/lake/meta/mem"
)

func reserve(t *testing.T, s meta.Store, inc ident.Incarnation, id ident.OperationID) (appends.Operation, appends.Flight) {
	t.Helper()
	was, err := appends.InFlight(t.Context(), s, inc)
	if err != nil {
		t.Fatal(err)
	}
	op, flight, change, err := appends.Reserve(appends.Operation{Incarnation: inc, ID: id, Tenant: "dev", ReservedAt: time.UnixMilli(1)}, was)
	if err != nil {
		t.Fatal(err)
	}
	if err := meta.Commit(t.Context(), s, change); err != nil {
		t.Fatal(err)
	}
	return op, flight
}

func newIDs(t *testing.T) (ident.Incarnation, ident.OperationID) {
	t.Helper()
	inc, err := ident.NewIncarnation()
	if err != nil {
		t.Fatal(err)
	}
	id, err := ident.NewOperation()
	if err != nil {
		t.Fatal(err)
	}
	return inc, id
}

func TestOneReservationWins(t *testing.T) {
	s := mem.New()
	inc, id := newIDs(t)
	was, _ := appends.InFlight(t.Context(), s, inc)
	reserve(t, s, inc, id)
	_, other := newIDs(t)
	_, _, late, err := appends.Reserve(appends.Operation{Incarnation: inc, ID: other, Tenant: "dev"}, was)
	if err != nil {
		t.Fatal(err)
	}
	if err := meta.Commit(t.Context(), s, late); !errors.Is(err, meta.ErrGuard) {
		t.Errorf("a second reservation over the same moment: %v", err)
	}
}

func TestFinishLandsTheFlight(t *testing.T) {
	s := mem.New()
	inc, id := newIDs(t)
	op, flight := reserve(t, s, inc, id)
	_, change, err := appends.Finish(op, flight, 8)
	if err != nil {
		t.Fatal(err)
	}
	if err := meta.Commit(t.Context(), s, change); err != nil {
		t.Fatal(err)
	}
	got, ok, err := appends.Lookup(t.Context(), s, inc, id)
	if err != nil || !ok || got.State != appends.Done || got.Version != 8 {
		t.Errorf("%+v, %v, %v", got, ok, err)
	}
	if f, err := appends.InFlight(t.Context(), s, inc); err != nil || !f.Empty() {
		t.Errorf("in flight: %+v, %v", f, err)
	}
	if err := meta.Commit(t.Context(), s, change); !errors.Is(err, meta.ErrGuard) {
		t.Errorf("finishing twice: %v", err)
	}
}

func TestExpireKeepsWhatMayBeAskedFor(t *testing.T) {
	s := mem.New()
	const old = 50
	cut := time.Now().Add(-ident.OperationRetention)
	for i := range old {
		inc, id := newIDs(t)
		setTime(&id, cut.Add(-time.Duration(i+1)*time.Second))
		op, flight := reserve(t, s, inc, id)
		_, change, err := appends.Finish(op, flight, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := meta.Commit(t.Context(), s, change); err != nil {
			t.Fatal(err)
		}
	}
	youngInc, young := newIDs(t)
	reserve(t, s, youngInc, young)
	flyingInc, flying := newIDs(t)
	setTime(&flying, cut.Add(-time.Hour))
	reserve(t, s, flyingInc, flying)

	n, err := appends.Expire(t.Context(), s, cut)
	if err != nil || n != old {
		t.Errorf("expired %d (%v), want %d", n, err, old)
	}
	left, err := s.Scan(t.Context(), "op/", "", 100)
	if err != nil || len(left) != 2 {
		t.Fatalf("%d records left (%v), want 2", len(left), err)
	}
	for inc, id := range map[ident.Incarnation]ident.OperationID{youngInc: young, flyingInc: flying} {
		if _, ok, err := appends.Lookup(t.Context(), s, inc, id); !ok || err != nil {
			t.Errorf("operation of %v is gone (%v)", id.Time(), err)
		}
	}
}

func setTime(id *ident.OperationID, at time.Time) {
	ms := at.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (8 * (5 - i)))
	}
}

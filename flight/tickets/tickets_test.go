package tickets_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/tickets"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func ring(t testing.TB, now *time.Time) *tickets.Keyring {
	t.Helper()
	k, err := tickets.NewEphemeral(func() time.Time { return *now })
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func claims() tickets.Claims {
	return tickets.Claims{
		Audience: tickets.Statement,
		Tenant:   "dev",
		SQL:      "SELECT secret FROM demo.flights",
		Tables: []tickets.Pin{{
			Namespace: "demo", Name: "flights", Incarnation: "0190b7a0-0000-7000-8000-000000000001",
			Engine: "delta", Location: "tables/demo/flights/x", Version: 7,
		}},
		Expiry: start.Add(time.Hour),
	}
}

func TestTicketComesBackWhole(t *testing.T) {
	now := start
	k := ring(t, &now)
	ticket, err := k.Seal(claims())
	if err != nil {
		t.Fatal(err)
	}
	got, err := k.Open(ticket, tickets.Statement)
	if diff := cmp.Diff(claims(), got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if ticket[0] != 1 {
		t.Errorf("envelope version is %d; version 1 is what clients hold", ticket[0])
	}
	if bytes.Contains(ticket, []byte("secret")) || bytes.Contains(ticket, []byte("flights")) {
		t.Error("the ticket shows its statement")
	}
	again, _ := k.Seal(claims())
	if bytes.Equal(ticket, again) {
		t.Error("two tickets of the same claims are equal")
	}
}

func TestEveryChangedByteIsRefused(t *testing.T) {
	now := start
	k := ring(t, &now)
	ticket, _ := k.Seal(claims())
	for i := range ticket {
		bad := bytes.Clone(ticket)
		bad[i] ^= 1
		if _, err := k.Open(bad, tickets.Statement); !errors.Is(err, tickets.ErrInvalid) {
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
	for n := range ticket {
		if _, err := k.Open(ticket[:n], tickets.Statement); !errors.Is(err, tickets.ErrInvalid) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	other := ring(t, &now)
	if _, err := other.Open(ticket, tickets.Statement); !errors.Is(err, tickets.ErrInvalid) {
		t.Errorf("another server's ticket: %v", err)
	}
	if _, err := k.Open(ticket, "prepared"); !errors.Is(err, tickets.ErrInvalid) {
		t.Errorf("another audience: %v", err)
	}
}

func TestTicketExpires(t *testing.T) {
	now := start
	k := ring(t, &now)
	ticket, _ := k.Seal(claims())
	now = start.Add(time.Hour - time.Nanosecond)
	if _, err := k.Open(ticket, tickets.Statement); err != nil {
		t.Errorf("a moment before its end: %v", err)
	}
	now = start.Add(time.Hour)
	if _, err := k.Open(ticket, tickets.Statement); !errors.Is(err, tickets.ErrExpired) || fault.KindOf(err) != fault.Stale {
		t.Errorf("at its end: %v", err)
	}
}

func TestTicketIsBounded(t *testing.T) {
	now := start
	k := ring(t, &now)
	c := claims()
	c.SQL = strings.Repeat("x", tickets.BytesMax)
	if _, err := k.Seal(c); !errors.Is(err, tickets.ErrTooBig) {
		t.Errorf("an oversized ticket: %v", err)
	}
	if _, err := k.Open(make([]byte, tickets.BytesMax+1), tickets.Statement); !errors.Is(err, tickets.ErrInvalid) {
		t.Errorf("an oversized text: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	now := start
	k := ring(f, &now)
	ticket, _ := k.Seal(claims())
	f.Add(ticket)
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := k.Open(b, tickets.Statement); err == nil && !bytes.Equal(b, ticket) {
			t.Errorf("a ticket that was not sealed opened: %x", b)
		}
	})
}

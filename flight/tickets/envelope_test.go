package tickets

import (
	"encoding/hex"
	"flag"
	"os"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestEnvelopeV1 opens a ticket that an earlier lake sealed: clients hold
// tickets across an upgrade of the server.
func TestEnvelopeV1(t *testing.T) {
	const file = "testdata/ticket.v1.hex"
	expiry := time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC)
	k, err := newKeyring([32]byte{1, 2, 3}, [keyIDBytes]byte{9, 9}, func() time.Time { return expiry.Add(-time.Minute) })
	if err != nil {
		t.Fatal(err)
	}
	want := Claims{Audience: Statement, Tenant: "dev", SQL: "SELECT 1", Expiry: expiry, Tables: []Pin{{
		Namespace: "demo", Name: "flights", Incarnation: "0190b7a0-0000-7000-8000-000000000001",
		Engine: "delta", Location: "tables/demo/flights/0190b7a0-0000-7000-8000-000000000001", Version: 3,
	}}}
	if *update {
		b, err := k.Seal(want)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(hex.EncodeToString(b)+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ticket, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := k.Open(ticket, Statement)
	if err != nil {
		t.Fatal(err)
	}
	if got.SQL != want.SQL || got.Tenant != want.Tenant || !got.Expiry.Equal(want.Expiry) || len(got.Tables) != 1 || got.Tables[0] != want.Tables[0] {
		t.Errorf("opened as %+v, want %+v", got, want)
	}
	ticket[0] = 2
	if _, err := k.Open(ticket, Statement); err == nil {
		t.Error("an envelope of version 2 opened")
	}
}

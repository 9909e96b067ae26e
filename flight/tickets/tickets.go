// Package tickets seals what a Query replica promised a client: the statement
// and the exact snapshots that it will be answered from, unreadable to others
// and valid until it expires.
package tickets

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
)

// Errors of opening a ticket.
var (
	ErrExpired = fault.New(fault.Stale, "the ticket has expired; ask for the statement's FlightInfo again")
	ErrInvalid = fault.New(fault.Unauthentic, "the ticket was not issued by this server; ask for the statement's FlightInfo again")
	ErrTooBig  = fault.Newf(fault.Exhausted, "the statement's ticket would be over %d bytes; name fewer tables", BytesMax)
)

// Bounds of tickets.
const (
	BytesMax    = 256 << 10
	LifeMin     = time.Minute
	LifeMax     = 24 * time.Hour
	LifeDefault = time.Hour
)

// Layout of an envelope: version, key id, nonce, then AES-256-GCM over the
// claims. Version and key id are authenticated with them.
const (
	envelopeVersion = 1
	keyIDBytes      = 8
	nonceBytes      = 12
	headBytes       = 1 + keyIDBytes
)

// An Audience says what a sealed text is for, so that one kind of it cannot
// be used as another.
type Audience string

// The audiences: a query's ticket, a prepared statement's handle, and what a
// login returns.
const (
	Statement Audience = "statement"
	Prepared  Audience = "prepared"
	Bearer    Audience = "bearer"
)

// Claims are what a ticket holds.
type Claims struct {
	Audience Audience     `json:"aud"`
	Tenant   ident.Tenant `json:"tenant"`
	User     string       `json:"user,omitempty"` // who logged in
	SQL      string       `json:"sql,omitempty"`
	Params   []byte       `json:"params,omitempty"` // one row of Arrow IPC
	Schema   []byte       `json:"schema,omitempty"` // digest of what was prepared
	Tables   []Pin        `json:"tables,omitempty"`
	Expiry   time.Time    `json:"exp"`
}

// A Pin is the exact version of a table that a ticket is answered from, and
// how to find it without asking anybody.
type Pin struct {
	Namespace   ident.Namespace   `json:"ns"`
	Name        string            `json:"name"`
	Incarnation ident.Incarnation `json:"inc"`
	Engine      string            `json:"engine"`
	Location    string            `json:"at"`
	Version     ident.Version     `json:"v"`

	// At is what the statement says of the version, if anything. It tells the
	// pins of one table apart; the version is Version.
	At string `json:"asof,omitempty"`
}

// Table is the name that the statement uses.
func (p Pin) Table() ident.Table { return ident.Table{Namespace: p.Namespace, Name: p.Name} }

// A Keyring seals with one key and opens with it.
type Keyring struct {
	id  [keyIDBytes]byte
	gcm cipher.AEAD
	now func() time.Time
}

// NewEphemeral returns a keyring with a random key: its tickets end with the
// process. now is time.Now if nil.
func NewEphemeral(now func() time.Time) (*Keyring, error) {
	var key [32]byte
	var id [keyIDBytes]byte
	for _, b := range [][]byte{key[:], id[:]} {
		if _, err := rand.Read(b); err != nil {
			return nil, fmt.Errorf("draw a ticket key: %w", err)
		}
	}
	return newKeyring(key, id, now)
}

func newKeyring(key [32]byte, id [keyIDBytes]byte, now func() time.Time) (*Keyring, error) {
	k := &Keyring{id: id, now: now}
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	if k.gcm, err = cipher.NewGCM(block); err != nil {
		return nil, err
	}
	if k.now == nil {
		k.now = time.Now
	}
	return k, nil
}

// Seal returns claims as a ticket of at most BytesMax bytes.
func (k *Keyring) Seal(c Claims) ([]byte, error) {
	plain, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("seal a ticket: %w", err)
	}
	if headBytes+nonceBytes+len(plain)+k.gcm.Overhead() > BytesMax {
		return nil, ErrTooBig
	}
	out := make([]byte, 0, headBytes+nonceBytes+len(plain)+k.gcm.Overhead())
	out = append(out, envelopeVersion)
	out = append(out, k.id[:]...)
	nonce := out[len(out) : len(out)+nonceBytes]
	if _, err := rand.Read(nonce); err != nil {
		return nil, fmt.Errorf("draw a nonce: %w", err)
	}
	out = out[:len(out)+nonceBytes]
	return k.gcm.Seal(out, nonce, plain, out[:headBytes]), nil
}

// Open returns the claims of a ticket of that audience that has not expired.
func (k *Keyring) Open(ticket []byte, a Audience) (Claims, error) {
	var c Claims
	if len(ticket) > BytesMax || len(ticket) < headBytes+nonceBytes {
		return c, ErrInvalid
	}
	head, nonce, sealed := ticket[:headBytes], ticket[headBytes:headBytes+nonceBytes], ticket[headBytes+nonceBytes:]
	if head[0] != envelopeVersion || [keyIDBytes]byte(head[1:]) != k.id {
		return c, ErrInvalid
	}
	plain, err := k.gcm.Open(nil, nonce, sealed, head)
	if err != nil {
		return c, ErrInvalid
	}
	if err := json.Unmarshal(plain, &c); err != nil || c.Audience != a {
		return Claims{}, ErrInvalid
	}
	if !k.now().Before(c.Expiry) {
		return Claims{}, fmt.Errorf("ticket of %s: %w", c.Tenant, ErrExpired)
	}
	return c, nil
}

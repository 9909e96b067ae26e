// Package ident holds the identities that every part of lake agrees on. Each
// is comparable, and parsing one is what validates it.
package ident

import (
	"encoding/hex"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lakeward/lake/fault"
)

// NameBytesMax is the longest namespace, table or tenant name, in bytes.
const NameBytesMax = 63

var nameForm = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// reserved namespaces belong to the engine or to the SQL standard.
var reserved = map[string]bool{
	"lake": true, "information_schema": true, "iceberg": true, "temp": true, "system": true, "pg_catalog": true,
}

// Catalog is the one catalog name; it may lead a three-part table name.
const Catalog = "lake"

// DefaultNamespace is the namespace of a one-part table name.
const DefaultNamespace Namespace = "main"

// A Tenant owns data and quotas.
type Tenant string

// DevTenant is the tenant of every caller of a server that knows no identities.
const DevTenant Tenant = "dev"

// ParseTenant returns s as a tenant, or a fault.Invalid error.
func ParseTenant(s string) (Tenant, error) {
	if !nameForm.MatchString(s) {
		return "", badName("tenant", s)
	}
	return Tenant(s), nil
}

// A Namespace groups tables. It exists while it holds a table.
type Namespace string

// ParseNamespace folds s to lower case and returns it, or a fault.Invalid error.
func ParseNamespace(s string) (Namespace, error) {
	n := fold(s)
	if !nameForm.MatchString(n) {
		return "", badName("namespace", s)
	}
	if reserved[n] {
		return "", fault.Newf(fault.Invalid, "namespace %q is reserved; choose another name", n)
	}
	return Namespace(n), nil
}

// A Table is the name of a table, which may come to name another incarnation.
type Table struct {
	Namespace Namespace
	Name      string
}

func (t Table) String() string { return string(t.Namespace) + "." + t.Name }

// NewTable folds both names to lower case and returns the table of that name.
func NewTable(namespace, name string) (Table, error) {
	ns, err := ParseNamespace(namespace)
	if err != nil {
		return Table{}, err
	}
	n := fold(name)
	if !nameForm.MatchString(n) {
		return Table{}, badName("table", name)
	}
	return Table{ns, n}, nil
}

// ParseTable reads "table", "namespace.table" or "lake.namespace.table". Names
// are unquoted; a one-part name lies in DefaultNamespace.
func ParseTable(s string) (Table, error) {
	p := strings.Split(s, ".")
	if len(p) == 3 && strings.EqualFold(p[0], Catalog) {
		p = p[1:]
	}
	switch len(p) {
	case 1:
		return NewTable(string(DefaultNamespace), p[0])
	case 2:
		return NewTable(p[0], p[1])
	}
	return Table{}, fault.Newf(fault.Invalid, "table name %q has %d parts; write namespace.table", clip(s), len(p))
}

// fold is lower case in ASCII alone: letters that look like others stay what
// they are, and are refused.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

func badName(what, s string) error {
	return fault.Newf(fault.Invalid, "%s name %q is not valid; use 1 to %d of a-z, 0-9 and _, not starting with a digit", what, clip(s), NameBytesMax)
}

// clip bounds a caller's text in an error.
func clip(s string) string {
	const bytesMax = 80
	if len(s) > bytesMax {
		return s[:bytesMax] + "…"
	}
	return s
}

// An Incarnation is one life of a table name, from create to drop. It is a
// UUIDv7 in its canonical text and is never used twice.
type Incarnation string

// NewIncarnation returns an incarnation that has never been used.
func NewIncarnation() (Incarnation, error) {
	u, err := newV7()
	return Incarnation(u.String()), err
}

// ParseIncarnation returns s as an incarnation, or a fault.Invalid error.
func ParseIncarnation(s string) (Incarnation, error) {
	u, err := parseV7(s)
	if err != nil {
		return "", fault.Newf(fault.Invalid, "incarnation %q is not a UUIDv7", clip(s))
	}
	return Incarnation(u.String()), nil
}

// Time returns the milliseconds that the incarnation carries, as a time.
func (i Incarnation) Time() time.Time {
	u, err := parseV7(string(i))
	if err != nil {
		return time.Time{}
	}
	return OperationID(u).Time()
}

// A Version is a table version as its engine counts them. Above an engine it
// is opaque but for this: a later version of a table is greater.
type Version int64

// An Attempt names one try to commit an operation, so that a writer can tell
// its own commit from another's after a lost answer.
type Attempt string

// NewAttempt returns an attempt that has never been used.
func NewAttempt() (Attempt, error) {
	u, err := newV7()
	return Attempt(u.String()), err
}

// ParseAttempt returns s as an attempt, or a fault.Invalid error.
func ParseAttempt(s string) (Attempt, error) {
	u, err := parseV7(s)
	if err != nil {
		return "", fault.Newf(fault.Invalid, "attempt %q is not a UUIDv7", clip(s))
	}
	return Attempt(u.String()), nil
}

// NewObjectName returns a UUIDv7 for the name of an object, unique for ever.
func NewObjectName() (string, error) {
	u, err := newV7()
	return u.String(), err
}

// An OperationID names one change by a client, however often it is retried. It
// is a UUIDv7: its time bounds how long the change can be retried.
type OperationID [16]byte

// Bounds on an operation id's time, against the server's clock.
const (
	OperationAheadMax  = 5 * time.Minute
	OperationRetention = 7 * 24 * time.Hour
)

// NewOperation returns an operation id of the present time.
func NewOperation() (OperationID, error) {
	u, err := newV7()
	return OperationID(u), err
}

// ParseOperation reads the canonical text of a UUIDv7.
func ParseOperation(s string) (OperationID, error) {
	u, err := parseV7(s)
	if err != nil {
		return OperationID{}, fault.Newf(fault.Invalid, "operation id %q is not a UUIDv7; leave it out to get a new one", clip(s))
	}
	return OperationID(u), nil
}

func (o OperationID) String() string { return uuid.UUID(o).String() }

// Time returns the milliseconds that the id carries, as a time.
func (o OperationID) Time() time.Time {
	var ms int64
	for _, b := range o[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms)
}

// CheckAge refuses an id of the future and one that is older than the records
// that would recognise its retry.
func (o OperationID) CheckAge(now time.Time) error {
	switch t := o.Time(); {
	case t.After(now.Add(OperationAheadMax)):
		return fault.Newf(fault.Invalid, "operation id %s is more than %v ahead of the server's clock; set the client's clock", o, OperationAheadMax)
	case t.Before(now.Add(-OperationRetention)):
		return fault.Newf(fault.Stale, "operation id %s is older than %d days; whether it was applied can no longer be told: look at the table, then use a new id", o, int(OperationRetention.Hours()/24))
	}
	return nil
}

// A Ref is one exact version of one incarnation of a table: all that a reader
// needs to read the same rows again.
type Ref struct {
	Table       Table
	Incarnation Incarnation
	Version     Version
}

// A Digest is a SHA-256.
type Digest [32]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// ParseDigest reads 64 hexadecimal digits.
func ParseDigest(s string) (Digest, error) {
	var d Digest
	if b, err := hex.DecodeString(s); err != nil || copy(d[:], b) != len(d) || len(b) != len(d) {
		return Digest{}, fault.Newf(fault.Invalid, "digest %q is not 64 hexadecimal digits", clip(s))
	}
	return d, nil
}

func newV7() (uuid.UUID, error) {
	u, err := uuid.NewV7()
	if err != nil {
		return u, fault.Newf(fault.Unavailable, "the system gave no random bytes: %v", err)
	}
	return u, nil
}

func parseV7(s string) (uuid.UUID, error) {
	u, err := uuid.Parse(s)
	if err == nil && (u.Version() != 7 || u.Variant() != uuid.RFC4122 || len(s) != 36) {
		err = fault.New(fault.Invalid, "not a UUIDv7")
	}
	return u, err
}

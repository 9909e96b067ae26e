package engine

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/lakeward/lake/ident"
)

// A Reference is a table that a statement names and the version of it that the
// statement asks for. One table may be asked for in several versions.
type Reference struct {
	Table ident.Table
	At    At
}

// An At says which version of a table a statement reads. The zero value is the
// published one. It is comparable, and its text is the same in every process.
type At string

const (
	atVersion = "version "
	atTime    = "timestamp "
	atForm    = "2006-01-02T15:04:05.000000Z"
)

// AtVersion asks for a version by its number.
func AtVersion(v ident.Version) At { return At(atVersion + strconv.FormatInt(int64(v), 10)) }

// AtTime asks for the version that was the newest at a time, to the microsecond.
func AtTime(t time.Time) At { return At(atTime + t.UTC().Format(atForm)) }

// Version is the version that a asks for by number.
func (a At) Version() (ident.Version, bool) {
	n, ok := strings.CutPrefix(string(a), atVersion)
	v, err := strconv.ParseInt(n, 10, 64)
	return ident.Version(v), ok && err == nil
}

// Time is the time that a asks for.
func (a At) Time() (time.Time, bool) {
	s, ok := strings.CutPrefix(string(a), atTime)
	t, err := time.Parse(atForm, s)
	return t, ok && err == nil
}

// A Timeline is a Table that knows when its versions were made.
type Timeline interface {
	// VersionAt returns the newest version that is not after newest and was
	// there at a time. If the first one is younger, it is ErrNoVersion that
	// says since when there is one.
	VersionAt(ctx context.Context, newest ident.Version, at time.Time) (ident.Version, error)
}

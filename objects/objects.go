// Package objects is bytes under names in object storage. A name is written
// once, as a whole, and never changed: a write takes a name that is free or
// fails, whoever else is writing.
package objects

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
)

// Errors of a Store.
var (
	ErrNotFound = fault.New(fault.NotFound, "object does not exist")
	ErrExists   = fault.New(fault.Exists, "object already exists")
)

// A Store holds objects. All methods may be called at once from many
// goroutines and many processes. A name is one that CheckName accepts.
type Store interface {
	// Create begins an object. Nothing is visible under name, and name is not
	// taken, until the writer's Commit returns nil.
	Create(ctx context.Context, name string) (Writer, error)

	// Open returns the object for reading, or ErrNotFound. What is read never
	// changes while it is open, even if the object is deleted.
	Open(ctx context.Context, name string) (Reader, error)

	// Stat returns an object's size, or ErrNotFound.
	Stat(ctx context.Context, name string) (Info, error)

	// List returns at most limit objects whose names begin with prefix and
	// sort bytewise after the name after ("" for the first page), in bytewise
	// order. Fewer than limit means that there are no more. An object is
	// listed as soon as its Commit has returned. An unknown prefix is empty.
	List(ctx context.Context, prefix, after string, limit int) ([]Info, error)

	// Delete removes an object. One that does not exist is no error.
	Delete(ctx context.Context, name string) error
}

// A Writer is an object being written by one goroutine. Exactly one of Commit
// and Abort must be called; Abort after Commit does nothing, so that it can be
// deferred.
type Writer interface {
	io.Writer

	// Commit makes the object durable and visible under its name, all of it
	// at once, or returns ErrExists if the name is taken. Any other error
	// leaves open whether the object exists: the caller reads it to know.
	Commit(ctx context.Context) (Info, error)

	// Abort discards what was written.
	Abort()
}

// A Reader reads one object. Close it.
type Reader interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Info describes an object.
type Info struct {
	Name  string
	Bytes int64
}

// nameBytesMax bounds an object's whole name, segmentBytesMax each part of it
// between slashes; S3-compatible servers and file systems share these bounds.
const (
	nameBytesMax    = 1024
	segmentBytesMax = 255
)

var segmentForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.=+%@~-]*$`)

// CheckName refuses a name that some store could not hold as it is: parts of
// 1 to 255 portable bytes between single slashes, none starting with a dot, at
// most 1024 bytes in all.
func CheckName(name string) error {
	if len(name) <= nameBytesMax {
		ok := true
		for part := range strings.SplitSeq(name, "/") {
			ok = ok && len(part) <= segmentBytesMax && segmentForm.MatchString(part)
		}
		if ok {
			return nil
		}
	}
	return fault.New(fault.Invalid, "object name is not valid")
}

// Put writes an object in one piece, or returns ErrExists.
func Put(ctx context.Context, s Store, name string, data []byte) (Info, error) {
	w, err := s.Create(ctx, name)
	if err != nil {
		return Info{}, err
	}
	defer w.Abort()
	if _, err := io.Copy(w, bytes.NewReader(data)); err != nil {
		return Info{}, err
	}
	return w.Commit(ctx)
}

// Read returns a whole object of at most bytesMax bytes.
func Read(ctx context.Context, s Store, name string, bytesMax int64) ([]byte, error) {
	r, err := s.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if r.Size() > bytesMax {
		return nil, fmt.Errorf("read %s: %w", name,
			fault.Newf(fault.Exhausted, "an object of %d bytes is over the bound of %d for its kind", r.Size(), bytesMax))
	}
	b := make([]byte, r.Size())
	if _, err := io.ReadFull(io.NewSectionReader(r, 0, r.Size()), b); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return b, nil
}

// A Location is the part of a store that belongs to one incarnation of one
// table: a prefix without a slash at its end.
type Location string

// TableLocation is where an incarnation of a table lies.
func TableLocation(t ident.Table, i ident.Incarnation) Location {
	return Location(fmt.Sprintf("tables/%s/%s/%s", t.Namespace, t.Name, i))
}

// ParseLocation returns s as a location, or a fault.Invalid error.
func ParseLocation(s string) (Location, error) {
	return Location(s), CheckName(s)
}

// Join returns the object of that name below the location.
func (l Location) Join(name string) string { return string(l) + "/" + name }

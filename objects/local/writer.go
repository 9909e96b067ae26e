package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/objects"
)

// tempPrefix begins the names of files being written. CheckName accepts no such
// name, so that they are never objects.
const tempPrefix = ".tmp-"

// Create implements objects.Store. The object is written as a temporary file
// beside its place, so that it gets there by a link and never by a copy.
func (s *Store) Create(ctx context.Context, name string) (objects.Writer, error) {
	if err := check(ctx, name); err != nil {
		return nil, err
	}
	dir := path.Dir(name)
	if err := s.makeDir(dir); err != nil {
		return nil, createError(err)
	}
	id, err := ident.NewObjectName()
	if err != nil {
		return nil, err
	}
	temp := path.Join(dir, tempPrefix+id)
	f, err := s.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, createError(err)
	}
	return &writer{s: s, f: f, name: name, temp: temp}, nil
}

func createError(err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("create object: %w", errBelowObject)
	}
	return fmt.Errorf("create object: %w", err)
}

var errBelowObject = fault.New(fault.Invalid, "an object cannot lie below another object")

type writer struct {
	s     *Store
	f     *os.File // nil once closed
	name  string
	temp  string // "" once removed
	bytes int64
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.f.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Commit makes the bytes durable, gives them their name with link(2), which
// fails if the name is taken where rename(2) would replace it, and makes the
// name durable.
func (w *writer) Commit(ctx context.Context) (objects.Info, error) {
	defer w.Abort()
	if err := ctx.Err(); err != nil {
		return objects.Info{}, err
	}
	if err := w.s.sys.sync(w.f); err != nil {
		return objects.Info{}, fmt.Errorf("sync object: %w", err)
	}
	err := w.close()
	if err != nil {
		return objects.Info{}, fmt.Errorf("close object: %w", err)
	}
	if err := w.s.sys.link(w.s.root, w.temp, w.name); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return objects.Info{}, objects.ErrExists
		}
		return objects.Info{}, fmt.Errorf("link object: %w", err)
	}
	if err := w.s.syncDir(path.Dir(w.name)); err != nil {
		return objects.Info{}, fmt.Errorf("sync folder of object: %w", err)
	}
	return objects.Info{Name: w.name, Bytes: w.bytes}, nil
}

func (w *writer) Abort() {
	_ = w.close() // nothing of it is kept
	if w.temp != "" {
		_ = w.s.root.Remove(w.temp) // Sweep finds what is left
		w.temp = ""
	}
}

func (w *writer) close() error {
	if w.f == nil {
		return nil
	}
	err := w.f.Close()
	w.f = nil
	return err
}

// Package local keeps objects as files below one directory, durably: what a
// Commit has acknowledged survives the loss of power.
package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/objects"
)

// Options of a Store.
type Options struct {
	// NoSync leaves writing to the disk to the operating system. A loss of
	// power can then undo what was acknowledged: for benchmarks only.
	NoSync bool
}

// Store is an objects.Store over a directory. A name is a path below it.
//
// ceiling: a name cannot be an object and also a folder of other objects, as it
// can be in an object store. Lake makes no such names.
type Store struct {
	dir  string // absolute
	root *os.Root
	sys  system

	mu      sync.Mutex
	durable map[string]bool // folders whose entries in their parents are on disk
}

// system is the calls that durability and atomicity rest on, so that a test can
// see each of them.
type system struct {
	sync func(f *os.File) error
	link func(root *os.Root, from, to string) error
}

// durableMax bounds the folders that a Store remembers; past it, it forgets all
// of them and syncs them again.
const durableMax = 1 << 16

// Open returns the store of the objects below dir, which it makes if need be.
func Open(dir string, o Options) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open object store: %w", err)
	}
	if err := os.MkdirAll(abs, 0o777); err != nil {
		return nil, fmt.Errorf("open object store: %w", err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("open object store: %w", err)
	}
	s := &Store{dir: abs, root: root, durable: map[string]bool{}, sys: system{
		sync: (*os.File).Sync,
		link: (*os.Root).Link,
	}}
	if o.NoSync {
		s.sys.sync = func(*os.File) error { return nil }
	}
	return s, nil
}

// Close releases the directory. Objects that are open stay readable.
func (s *Store) Close() error { return s.root.Close() }

// Open implements objects.Store.
func (s *Store) Open(ctx context.Context, name string) (objects.Reader, error) {
	if err := check(ctx, name); err != nil {
		return nil, err
	}
	f, err := s.root.Open(name)
	if err != nil {
		return nil, absent(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = objects.ErrNotFound
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return reader{f, info.Size()}, nil
}

type reader struct {
	*os.File
	bytes int64
}

func (r reader) Size() int64 { return r.bytes }

// Stat implements objects.Store.
func (s *Store) Stat(ctx context.Context, name string) (objects.Info, error) {
	if err := check(ctx, name); err != nil {
		return objects.Info{}, err
	}
	info, err := s.root.Lstat(name)
	if err != nil {
		return objects.Info{}, absent(err)
	}
	if !info.Mode().IsRegular() {
		return objects.Info{}, objects.ErrNotFound
	}
	return objects.Info{Name: name, Bytes: info.Size()}, nil
}

// Delete implements objects.Store. Folders stay.
func (s *Store) Delete(ctx context.Context, name string) error {
	if err := check(ctx, name); err != nil {
		return err
	}
	if err := absent(s.root.Remove(name)); err != nil && !errors.Is(err, objects.ErrNotFound) {
		return err
	}
	return nil
}

// Link makes path, which must be absolute and free, another name of an object,
// so that a process that may read only one folder can read it. Where the file
// system cannot link, the object is copied.
//
// ceiling: a copy takes the disk and the time of a whole object, each time.
func (s *Store) Link(ctx context.Context, name, path string) error {
	if err := check(ctx, name); err != nil {
		return err
	}
	if !filepath.IsAbs(path) {
		return fault.Newf(fault.Internal, "link to a path that is not absolute")
	}
	if _, err := s.Stat(ctx, name); err != nil {
		return err
	}
	err := os.Link(filepath.Join(s.dir, filepath.FromSlash(name)), path)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return objects.ErrExists
	case errors.Is(err, syscall.EXDEV), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EMLINK):
		return s.copyTo(ctx, name, path)
	}
	return fmt.Errorf("link object: %w", absent(err))
}

// copyTo writes an object's bytes to a new file at path.
func (s *Store) copyTo(ctx context.Context, name, path string) error {
	from, err := s.root.Open(name)
	if err != nil {
		return absent(err)
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return objects.ErrExists
	}
	if err != nil {
		return fmt.Errorf("copy object: %w", err)
	}
	_, err = from.WriteTo(to)
	if err = errors.Join(err, to.Close(), ctx.Err()); err != nil {
		return fmt.Errorf("copy object: %w", errors.Join(err, os.Remove(path)))
	}
	return nil
}

// Sweep removes what writers that are gone have left behind: temporary files
// last written before the time. It returns how many.
func (s *Store) Sweep(ctx context.Context, before time.Time) (int, error) {
	n := 0
	err := fs.WalkDir(s.root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // somebody else removed it
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case d.IsDir() || !strings.HasPrefix(d.Name(), tempPrefix):
			return nil
		}
		info, err := d.Info()
		if err != nil || !info.ModTime().Before(before) {
			return nil // gone already, or still being written
		}
		if err := s.root.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		n++
		return nil
	})
	if err != nil {
		return n, fmt.Errorf("sweep object store: %w", err)
	}
	return n, nil
}

func check(ctx context.Context, name string) error {
	if err := objects.CheckName(name); err != nil {
		return err
	}
	return ctx.Err()
}

// absent makes ErrNotFound of the errors that mean it. A folder that is a file
// holds nothing.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) {
		return objects.ErrNotFound
	}
	return err
}

// syncDir makes the entries of a folder durable.
func (s *Store) syncDir(dir string) error {
	f, err := s.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(s.sys.sync(f), f.Close())
}

// makeDir makes a folder and those above it, and makes their entries durable.
// One that exists may have been made by somebody who has not synced it yet, so
// each is synced once by every Store.
func (s *Store) makeDir(dir string) error {
	if dir == "." {
		return nil
	}
	s.mu.Lock()
	known := s.durable[dir]
	s.mu.Unlock()
	if known {
		return nil
	}
	parent := path.Dir(dir)
	if err := s.makeDir(parent); err != nil {
		return err
	}
	if err := s.root.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := s.syncDir(parent); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.durable) >= durableMax {
		clear(s.durable)
	}
	s.durable[dir] = true
	return nil
}

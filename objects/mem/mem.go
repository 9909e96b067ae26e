// Package mem keeps objects in memory, for tests and for short-lived servers.
package mem

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/lakeward/lake/objects"
)

// Store is an objects.Store in memory.
type Store struct {
	mu sync.RWMutex
	m  map[string][]byte // values are never changed
}

// New returns an empty store.
func New() *Store { return &Store{m: map[string][]byte{}} }

// Create implements objects.Store.
func (s *Store) Create(ctx context.Context, name string) (objects.Writer, error) {
	if err := objects.CheckName(name); err != nil {
		return nil, err
	}
	return &writer{s: s, name: name}, ctx.Err()
}

type writer struct {
	s    *Store
	name string
	b    bytes.Buffer
}

func (w *writer) Write(p []byte) (int, error) { return w.b.Write(p) }

func (w *writer) Commit(ctx context.Context) (objects.Info, error) {
	if err := ctx.Err(); err != nil {
		return objects.Info{}, err
	}
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if _, taken := w.s.m[w.name]; taken {
		return objects.Info{}, objects.ErrExists
	}
	w.s.m[w.name] = w.b.Bytes()
	return objects.Info{Name: w.name, Bytes: int64(w.b.Len())}, nil
}

func (w *writer) Abort() {}

// Open implements objects.Store.
func (s *Store) Open(ctx context.Context, name string) (objects.Reader, error) {
	b, err := s.get(ctx, name)
	if err != nil {
		return nil, err
	}
	return reader{bytes.NewReader(b)}, nil
}

type reader struct{ *bytes.Reader }

func (reader) Close() error { return nil }

// Stat implements objects.Store.
func (s *Store) Stat(ctx context.Context, name string) (objects.Info, error) {
	b, err := s.get(ctx, name)
	return objects.Info{Name: name, Bytes: int64(len(b))}, err
}

func (s *Store) get(ctx context.Context, name string) ([]byte, error) {
	if err := objects.CheckName(name); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	b, ok := s.m[name]
	if !ok {
		return nil, objects.ErrNotFound
	}
	return b, nil
}

// List implements objects.Store.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) ([]objects.Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []objects.Info
	for _, name := range slices.Sorted(maps.Keys(s.m)) { // ceiling: sorts every name for each page
		if len(out) >= limit {
			break
		}
		if strings.HasPrefix(name, prefix) && name > after {
			out = append(out, objects.Info{Name: name, Bytes: int64(len(s.m[name]))})
		}
	}
	return out, nil
}

// Delete implements objects.Store.
func (s *Store) Delete(ctx context.Context, name string) error {
	if err := objects.CheckName(name); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.m, name)
	return nil
}

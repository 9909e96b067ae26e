// Package mem is a meta.Store in memory, for tests.
package mem

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/lakeward/lake/meta"
)

// A Store keeps its pairs until it is closed. The zero Store is empty and ready.
type Store struct {
	mu    sync.Mutex
	pairs map[string][]byte
}

// New returns an empty store.
func New() *Store { return &Store{} }

// Get implements meta.Store.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return clone(s.pairs[key]), nil
}

// Scan implements meta.Store.
func (s *Store) Scan(ctx context.Context, prefix, after string, limit int) ([]meta.Pair, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []meta.Pair
	for _, k := range slices.Sorted(maps.Keys(s.pairs)) {
		if len(out) == limit {
			break
		}
		if strings.HasPrefix(k, prefix) && k > after {
			out = append(out, meta.Pair{Key: k, Value: clone(s.pairs[k])})
		}
	}
	return out, nil
}

// Commit implements meta.Store.
func (s *Store) Commit(ctx context.Context, guards, writes []meta.Pair) error {
	if err := meta.CheckCommit(guards, writes); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range guards {
		v, ok := s.pairs[g.Key]
		if ok != (g.Value != nil) || !bytes.Equal(v, g.Value) {
			return meta.ErrGuard
		}
	}
	if s.pairs == nil {
		s.pairs = map[string][]byte{}
	}
	for _, w := range writes {
		if w.Value == nil {
			delete(s.pairs, w.Key)
		} else {
			s.pairs[w.Key] = clone(w.Value)
		}
	}
	return nil
}

// Close implements meta.Store.
func (s *Store) Close() error { return nil }

// clone keeps the difference between nil and empty.
func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}

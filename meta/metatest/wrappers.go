package metatest

import (
	"context"
	"fmt"
	"io"

	"github.com/lakeward/lake/meta"
)

// Faulty sends every call of a store through Hit, which decides whether the
// call takes effect and what its caller hears.
type Faulty struct {
	meta.Store
	Hit func(do func() error) error
}

// Get implements meta.Store.
func (f Faulty) Get(ctx context.Context, key string) (b []byte, err error) {
	err = f.Hit(func() error { b, err = f.Store.Get(ctx, key); return err })
	return b, err
}

// Scan implements meta.Store.
func (f Faulty) Scan(ctx context.Context, prefix, after string, limit int) (p []meta.Pair, err error) {
	err = f.Hit(func() error { p, err = f.Store.Scan(ctx, prefix, after, limit); return err })
	return p, err
}

// Commit implements meta.Store.
func (f Faulty) Commit(ctx context.Context, guards, writes []meta.Pair) error {
	return f.Hit(func() error { return f.Store.Commit(ctx, guards, writes) })
}

// Traced writes a line for every call of a store, with values as Show says.
type Traced struct {
	meta.Store
	W    io.Writer
	Show func(meta.Pair) string
}

// Get implements meta.Store.
func (s Traced) Get(ctx context.Context, key string) ([]byte, error) {
	b, err := s.Store.Get(ctx, key)
	fmt.Fprintf(s.W, "meta   get    %s\n", s.Show(meta.Pair{Key: key, Value: b}))
	return b, err
}

// Scan implements meta.Store.
func (s Traced) Scan(ctx context.Context, prefix, after string, limit int) ([]meta.Pair, error) {
	fmt.Fprintf(s.W, "meta   scan   %s after %q limit %d\n", prefix, after, limit)
	return s.Store.Scan(ctx, prefix, after, limit)
}

// Commit implements meta.Store.
func (s Traced) Commit(ctx context.Context, guards, writes []meta.Pair) error {
	fmt.Fprint(s.W, "meta   commit")
	for _, p := range guards {
		fmt.Fprintf(s.W, "\n         if    %s", s.Show(p))
	}
	for _, p := range writes {
		verb := "set  "
		if p.Value == nil {
			verb = "clear"
		}
		fmt.Fprintf(s.W, "\n         %s %s", verb, s.Show(p))
	}
	fmt.Fprintln(s.W)
	return s.Store.Commit(ctx, guards, writes)
}

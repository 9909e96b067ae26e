package objectstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"

	"github.com/lakeward/lake/objects"
)

// Traced is a Store that writes down every outside call, one a line and with
// UUIDs as <1>, <2>, … in the order in which they first appear, so that a golden
// file shows a protocol.
type Traced struct {
	objects.Store

	mu    sync.Mutex
	out   io.Writer
	uuids map[string]string
}

// NewTraced returns a store that writes the calls made to s to out.
func NewTraced(s objects.Store, out io.Writer) *Traced {
	return &Traced{Store: s, out: out, uuids: map[string]string{}}
}

var uuidForm = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

func (t *Traced) line(call, name string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name = uuidForm.ReplaceAllStringFunc(name, func(u string) string {
		if t.uuids[u] == "" {
			t.uuids[u] = fmt.Sprintf("<%d>", len(t.uuids)+1)
		}
		return t.uuids[u]
	})
	outcome := ""
	switch {
	case errors.Is(err, objects.ErrExists):
		outcome = " -> exists"
	case errors.Is(err, objects.ErrNotFound):
		outcome = " -> not found"
	case err != nil:
		outcome = " -> error"
	}
	fmt.Fprintf(t.out, "%-6s %s%s\n", call, name, outcome)
}

// Create implements objects.Store.
func (t *Traced) Create(ctx context.Context, name string) (objects.Writer, error) {
	w, err := t.Store.Create(ctx, name)
	t.line("create", name, err)
	if err != nil {
		return nil, err
	}
	return &tracedWriter{Writer: w, t: t, name: name}, nil
}

type tracedWriter struct {
	objects.Writer
	t    *Traced
	name string
	done bool
}

func (w *tracedWriter) Commit(ctx context.Context) (objects.Info, error) {
	info, err := w.Writer.Commit(ctx)
	w.t.line("commit", w.name, err)
	w.done = true
	return info, err
}

func (w *tracedWriter) Abort() {
	w.Writer.Abort()
	if !w.done {
		w.t.line("abort", w.name, nil)
		w.done = true
	}
}

// Open implements objects.Store.
func (t *Traced) Open(ctx context.Context, name string) (objects.Reader, error) {
	r, err := t.Store.Open(ctx, name)
	t.line("open", name, err)
	return r, err
}

// Stat implements objects.Store.
func (t *Traced) Stat(ctx context.Context, name string) (objects.Info, error) {
	info, err := t.Store.Stat(ctx, name)
	t.line("stat", name, err)
	return info, err
}

// List implements objects.Store.
func (t *Traced) List(ctx context.Context, prefix, after string, limit int) ([]objects.Info, error) {
	out, err := t.Store.List(ctx, prefix, after, limit)
	t.line("list", fmt.Sprintf("%s after %q limit %d", prefix, after, limit), err)
	return out, err
}

// Delete implements objects.Store.
func (t *Traced) Delete(ctx context.Context, name string) error {
	err := t.Store.Delete(ctx, name)
	t.line("delete", name, err)
	return err
}

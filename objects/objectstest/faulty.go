package objectstest

import (
	"context"
	"sync"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/objects"
)

// ErrInjected is what a Faulty store returns for the calls that it breaks.
var ErrInjected = fault.New(fault.Unavailable, "injected failure")

// A Fault says which outside call of a Faulty store goes wrong, and how.
// Outside calls are Create, Open, Stat, List, Delete, and a writer's Commit.
type Fault struct {
	Call  int  // counted from 1; 0 is none
	After bool // the call takes effect and its answer is lost
	Crash bool // every call after it fails too, as in a process that is gone
}

// Hooked is a Store that sends every outside call through Hit, which decides
// whether the call takes effect and what its caller hears.
type Hooked struct {
	objects.Store
	Hit func(do func() error) error
}

// Faulty is a Store of which one outside call goes wrong.
type Faulty struct {
	Hooked
	fault Fault

	mu    sync.Mutex
	calls int
	fired bool
}

// NewFaulty returns a store that breaks one call to s.
func NewFaulty(s objects.Store, f Fault) *Faulty {
	out := &Faulty{fault: f}
	out.Hooked = Hooked{s, out.hit}
	return out
}

// Fired reports whether the call was reached.
func (f *Faulty) Fired() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fired
}

// hit counts a call and makes it, or not.
func (f *Faulty) hit(do func() error) error {
	f.mu.Lock()
	f.calls++
	now := f.calls == f.fault.Call
	dead := f.fired && f.fault.Crash
	f.fired = f.fired || now
	f.mu.Unlock()
	switch {
	case dead, now && !f.fault.After:
		return ErrInjected
	case now:
		if err := do(); err != nil {
			return err
		}
		return ErrInjected
	}
	return do()
}

// Create implements objects.Store.
func (f Hooked) Create(ctx context.Context, name string) (w objects.Writer, err error) {
	err = f.Hit(func() error { w, err = f.Store.Create(ctx, name); return err })
	if err != nil {
		if w != nil {
			w.Abort()
		}
		return nil, err
	}
	return &hookedWriter{w, f}, nil
}

type hookedWriter struct {
	objects.Writer
	f Hooked
}

func (w *hookedWriter) Commit(ctx context.Context) (info objects.Info, err error) {
	err = w.f.Hit(func() error { info, err = w.Writer.Commit(ctx); return err })
	return info, err
}

// Open implements objects.Store.
func (f Hooked) Open(ctx context.Context, name string) (r objects.Reader, err error) {
	err = f.Hit(func() error { r, err = f.Store.Open(ctx, name); return err })
	if err != nil && r != nil {
		_ = r.Close()
		r = nil
	}
	return r, err
}

// Stat implements objects.Store.
func (f Hooked) Stat(ctx context.Context, name string) (info objects.Info, err error) {
	err = f.Hit(func() error { info, err = f.Store.Stat(ctx, name); return err })
	return info, err
}

// List implements objects.Store.
func (f Hooked) List(ctx context.Context, prefix, after string, limit int) (out []objects.Info, err error) {
	err = f.Hit(func() error { out, err = f.Store.List(ctx, prefix, after, limit); return err })
	if err != nil {
		out = nil
	}
	return out, err
}

// Delete implements objects.Store.
func (f Hooked) Delete(ctx context.Context, name string) error {
	return f.Hit(func() error { return f.Store.Delete(ctx, name) })
}

package catalog_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta/catalog"
	"github.com/lakeward/lake/meta/registry"
)

var (
	flights = ident.Table{Namespace: "demo", Name: "flights"}
	errAway = fault.New(fault.Unavailable, "no leader")
	errGone = fault.New(fault.NotFound, "no table")
)

// source is a Metasrv whose answers a test sets; each takes delay.
type source struct {
	mu      sync.Mutex
	version ident.Version
	err     error
	asked   int
	delay   time.Duration
}

func (s *source) set(v ident.Version, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version, s.err = v, err
}

func (s *source) Directory(_ context.Context, known *catalog.Directory) (*catalog.Directory, error) {
	s.mu.Lock()
	s.asked++
	d, err := &catalog.Directory{Generation: uint64(s.version)}, s.err
	s.mu.Unlock()
	if known != nil && known.Generation == d.Generation {
		d = known
	}
	if s.delay > 0 {
		time.Sleep(s.delay)
	}
	return d, err
}

func (s *source) Table(_ context.Context, t ident.Table) (registry.Registration, error) {
	s.mu.Lock()
	s.asked++
	reg, err := registry.Registration{Table: t, Version: s.version}, s.err
	s.mu.Unlock()
	if s.delay > 0 {
		time.Sleep(s.delay)
	}
	return reg, err
}

func open(t *testing.T, s *source) *catalog.Cache {
	t.Helper()
	c, err := catalog.New(s, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func version(t *testing.T, c *catalog.Cache) ident.Version {
	t.Helper()
	reg, err := c.Resolve(t.Context(), flights)
	if err != nil {
		t.Fatal(err)
	}
	return reg.Version
}

func TestAReaderIsAtMostTTLStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{version: 1}
		c := open(t, s)
		if v := version(t, c); v != 1 {
			t.Errorf("version %d", v)
		}
		s.set(2, nil)
		time.Sleep(2*time.Second - time.Millisecond)
		if v := version(t, c); v != 1 || s.asked != 1 {
			t.Errorf("within the TTL: version %d, asked %d times", v, s.asked)
		}
		time.Sleep(time.Millisecond)
		if v := version(t, c); v != 2 {
			t.Errorf("after the TTL: version %d", v)
		}
	})
}

func TestOwnAcknowledgedWriteIsSeenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{version: 1}
		c := open(t, s)
		version(t, c)
		s.set(2, nil)
		c.Invalidate(flights)
		if v := version(t, c); v != 2 {
			t.Errorf("version %d right after the acknowledgement", v)
		}
	})
}

// A question that was under way when a write was acknowledged must not bring
// the old version back, neither to who asks meanwhile nor into the cache.
func TestAnswerAskedForBeforeAWriteIsNotShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{version: 1, delay: time.Second}
		c := open(t, s)
		var wg sync.WaitGroup
		wg.Go(func() { version(t, c) })
		time.Sleep(time.Second / 2)
		s.set(2, nil)
		c.Invalidate(flights)
		if v := version(t, c); v != 2 {
			t.Errorf("version %d after the acknowledgement", v)
		}
		wg.Wait()
	})
}

func TestAnswerAskedForBeforeAWriteIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{version: 1, delay: time.Second}
		c := open(t, s)
		var wg sync.WaitGroup
		wg.Go(func() { version(t, c) })
		time.Sleep(time.Second / 2)
		s.set(2, nil)
		c.Invalidate(flights)
		wg.Wait() // the old answer has come
		if v := version(t, c); v != 2 {
			t.Errorf("version %d is kept", v)
		}
	})
}

func TestManyReadersAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{version: 1, delay: time.Second}
		c := open(t, s)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { version(t, c) })
		}
		wg.Wait()
		if s.asked != 1 {
			t.Errorf("asked %d times", s.asked)
		}
	})
}

func TestEntriesOutliveTheLeaderForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{version: 1}
		c := open(t, s)
		version(t, c)
		s.set(0, errAway)
		time.Sleep(10*time.Minute - time.Second)
		if v := version(t, c); v != 1 || c.StaleServed() != 1 {
			t.Errorf("version %d, %d served stale", v, c.StaleServed())
		}
		time.Sleep(time.Second)
		if _, err := c.Resolve(t.Context(), flights); !errors.Is(err, errAway) {
			t.Errorf("past the bound: %v", err)
		}
	})
}

func TestATableThatIsGoneIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{version: 1}
		c := open(t, s)
		version(t, c)
		s.set(0, errGone)
		time.Sleep(3 * time.Second)
		if _, err := c.Resolve(t.Context(), flights); !errors.Is(err, errGone) {
			t.Errorf("a dropped table: %v", err)
		}
		s.set(0, errAway)
		if _, err := c.Resolve(t.Context(), flights); !errors.Is(err, errAway) {
			t.Errorf("a dropped table served stale: %v", err)
		}
	})
}

func TestACallerWhoLeavesGetsItsOwnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{version: 1, delay: time.Minute}
		c := open(t, s)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Resolve(ctx, flights); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		time.Sleep(time.Hour) // the question ends by itself
	})
}

func TestDirectoryIsFreshEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{version: 1}
		c := open(t, s)
		list := func() *catalog.Directory {
			t.Helper()
			d, err := c.Directory(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		first := list()
		s.set(2, nil)
		time.Sleep(5*time.Second - time.Millisecond)
		if d := list(); d != first || s.asked != 1 {
			t.Errorf("within the TTL: generation %d, asked %d times", d.Generation, s.asked)
		}
		time.Sleep(time.Millisecond)
		if d := list(); d.Generation != 2 {
			t.Errorf("after the TTL: generation %d", d.Generation)
		}
		s.set(3, nil)
		c.Invalidate(flights)
		third := list()
		if third.Generation != 3 {
			t.Errorf("after an acknowledged change: generation %d", third.Generation)
		}
		time.Sleep(time.Minute)
		if d := list(); d != third {
			t.Error("an unchanged directory was built anew")
		}
		s.set(3, errAway)
		time.Sleep(time.Minute)
		if d := list(); d != third || c.StaleServed() != 1 {
			t.Errorf("without a leader: generation %d, %d served stale", d.Generation, c.StaleServed())
		}
		c.Invalidate(flights)
		if _, err := c.Directory(t.Context()); !errors.Is(err, errAway) {
			t.Errorf("without a leader, after an acknowledged change: %v", err)
		}
	})
}

func TestManyToolsAskForTheDirectoryOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{version: 1, delay: time.Second}
		c := open(t, s)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := c.Directory(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if s.asked != 1 {
			t.Errorf("asked %d times", s.asked)
		}
	})
}

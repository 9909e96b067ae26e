package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/sdk"
)

// soak makes a test run longer than continuous integration has time for.
func soak(short, long time.Duration) time.Duration {
	if os.Getenv("LAKE_SOAK") != "" {
		return long
	}
	return short
}

// limits are the errors that a busy server may give by its documentation.
func limits(err error) bool {
	return errors.Is(err, sdk.ErrExhausted) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// open files, threads and children of a process, as Linux counts them.
func (s *server) held() (files, children int) {
	s.t.Helper()
	pid := strconv.Itoa(s.cmd.Process.Pid)
	fds, err := os.ReadDir("/proc/" + pid + "/fd")
	if err != nil {
		s.t.Skip("open files are counted on Linux only")
	}
	tasks, err := filepath.Glob("/proc/" + pid + "/task/*/children")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, task := range tasks {
		b, _ := os.ReadFile(task)
		children += len(strings.Fields(string(b)))
	}
	return len(fds), children
}

// TestE2EManyClientsAtOnce has 64 clients ask, leave early, list and load at
// once: nobody hears an error that is not a documented limit, every answer is
// of one version, and nothing is left behind.
func TestE2EManyClientsAtOnce(t *testing.T) {
	dir := t.TempDir()
	s := startDev(t, dir)
	mustLake(t, "load", sample, "--dir", dir, "--table", "demo.flights", "--create")
	c := s.client()
	rows := int64Of(t, c, "SELECT count(*) FROM demo.flights")
	filesBefore, _ := s.held()

	ctx, cancel := context.WithTimeout(t.Context(), soak(10*time.Second, time.Minute))
	defer cancel()
	var asked, limited, loaded atomic.Int64
	unexpected := make(chan error, 1)
	report := func(what string, err error) {
		switch {
		case err == nil:
			asked.Add(1)
		case limits(err) || ctx.Err() != nil:
			limited.Add(1)
		default:
			select {
			case unexpected <- fmt.Errorf("%s: %w", what, err):
			default:
			}
		}
	}
	// read runs a query and stops after some batches; 0 reads them all.
	read := func(c *sdk.Client, sql string, batches int) error {
		r, err := c.Query(ctx, sql)
		if err != nil {
			return err
		}
		defer r.Close()
		n := 0
		for _, err := range r.Batches() {
			if err != nil {
				return err
			}
			if n++; n == batches {
				return nil
			}
		}
		return nil
	}
	// whole counts rows twice in one statement: both are of one version, and a
	// version holds whole loads.
	whole := func(c *sdk.Client) error {
		r, err := c.Query(ctx, "SELECT (SELECT count(*) FROM demo.flights), count(*) FROM demo.flights")
		if err != nil {
			return err
		}
		defer r.Close()
		var a, b int64
		for r.Next() {
			if err := r.Scan(&a, &b); err != nil {
				return err
			}
		}
		if r.Err() == nil && (a != b || a%rows != 0 || a == 0) {
			return fmt.Errorf("one statement counts %d and %d rows, in loads of %d", a, b, rows)
		}
		return r.Err()
	}
	const clients = 64
	var wg sync.WaitGroup
	for i := range clients {
		own, err := sdk.Open(sdk.Options{URI: s.ready.Flight})
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			defer own.Close()
			for ctx.Err() == nil {
				switch i % 8 {
				case 0:
					_, err := own.Tables(ctx)
					report("tables", err)
				case 1:
					report("a point query", read(own, "SELECT * FROM demo.flights WHERE origin = 'ORD' AND delay > 300", 0))
				case 2:
					report("an early leave", read(own, "SELECT * FROM demo.flights", 1+rand.IntN(3)))
				case 3:
					report("a mistake", wantInvalid(read(own, "SELECT nope FROM demo.flights", 0)))
				case 4:
					if i != 4 { // one client loads
						report("a join", read(own, "SELECT a.origin, count(*) FROM demo.flights a JOIN demo.flights b ON a.date = b.date GROUP BY ALL", 0))
						continue
					}
					_, err := own.Load(ctx, sdk.Load{Table: "demo.flights", Files: []string{sample}})
					report("a load", err)
					if err == nil {
						loaded.Add(1)
					}
				default:
					report("a count", whole(own))
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-unexpected:
		t.Error(err)
	default:
	}
	t.Logf("%d answers, %d times a limit or the end, %d loads", asked.Load(), limited.Load(), loaded.Load())
	if asked.Load() == 0 || loaded.Load() == 0 {
		t.Error("nothing was done")
	}
	if n := int64Of(t, c, "SELECT count(*) FROM demo.flights"); n < rows*(1+loaded.Load()) || n%rows != 0 {
		t.Errorf("%d rows after %d acknowledged loads of %d", n, loaded.Load(), rows)
	}

	// What the clients' connections held is let go, and workers are no more
	// than slots: one has a socket and a pipe here.
	ok := s.until(20*time.Second, func() bool {
		files, children := s.held()
		return files <= filesBefore+4*runtime.NumCPU()+8 && children <= 2*runtime.NumCPU()+2
	})
	if files, children := s.held(); !ok {
		t.Errorf("%d open files, %d before; %d children", files, filesBefore, children)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "run", "*", "in", "*")); err != nil || len(left) > 0 {
		t.Errorf("files linked for queries are left: %v %v", left, err)
	}
	s.stop()
	s.noDeaths()
}

// wantInvalid turns the error that a wrong statement must get into none.
func wantInvalid(err error) error {
	switch {
	case errors.Is(err, sdk.ErrInvalid):
		return nil
	case err == nil:
		return errors.New("a statement that is wrong was answered")
	}
	return err
}

// TestE2EKillWhileEverythingRuns ends the server with kill -9 at random while
// clients load and read. Every acknowledged load is there once, none by half.
func TestE2EKillWhileEverythingRuns(t *testing.T) {
	dir := t.TempDir()
	s := startDev(t, dir)
	mustLake(t, "load", sample, "--dir", dir, "--table", "demo.flights", "--create")
	rows := int64Of(t, s.client(), "SELECT count(*) FROM demo.flights")
	rounds := 5
	if os.Getenv("LAKE_SOAK") != "" {
		rounds = 50
	}
	want := int64(1) // loads that must be there
	for round := range rounds {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var mu sync.Mutex
		pending := map[ident.OperationID]bool{} // sent, and not acknowledged
		acknowledged := 0
		for range 3 {
			c, err := sdk.Open(sdk.Options{URI: s.ready.Flight})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			wg.Go(func() {
				for ctx.Err() == nil {
					op, err := ident.NewOperation()
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					pending[op] = true
					mu.Unlock()
					_, err = c.Load(ctx, sdk.Load{Table: "demo.flights", Files: []string{sample}, Operation: op})
					if err != nil {
						return // the server is gone
					}
					mu.Lock()
					acknowledged++
					delete(pending, op)
					mu.Unlock()
				}
			})
			wg.Go(func() {
				for ctx.Err() == nil {
					r, err := c.Query(ctx, "SELECT count(*) FROM demo.flights")
					if err != nil {
						return
					}
					for r.Next() {
						var n int64
						if err := r.Scan(&n); err != nil || n%rows != 0 {
							t.Errorf("a reader counts %d rows (%v), in loads of %d", n, err, rows)
						}
					}
					r.Close()
				}
			})
		}
		moment := time.Duration(200+rand.IntN(1300)) * time.Millisecond
		select {
		case <-time.After(moment):
		case <-s.dead:
			t.Fatalf("the server ended by itself\n%s", s.logged())
		}
		s.kill()
		cancel()
		wg.Wait()

		began := time.Now()
		s = startDev(t, dir)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("round %d: the restart took %v", round, took)
		}
		// Who was not acknowledged asks again: now all of them are there.
		c := s.client()
		for op := range pending {
			if _, err := c.Load(t.Context(), sdk.Load{Table: "demo.flights", Files: []string{sample}, Operation: op}); err != nil {
				t.Fatalf("round %d, killed after %v: a load again: %v", round, moment, err)
			}
		}
		want += int64(acknowledged + len(pending))
		if n := int64Of(t, c, "SELECT count(*) FROM demo.flights"); n != want*rows {
			t.Fatalf("round %d, killed after %v: %d rows, want %d loads of %d", round, moment, n, want, rows)
		}
	}
	s.stop()
}

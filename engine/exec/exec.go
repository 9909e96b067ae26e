// Package exec runs SQL over snapshots of tables in DuckDB, which lives in
// child processes of this program that can be limited and killed: a gate reads
// every statement first, and the result is relayed as Arrow Flight messages.
package exec

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/lakeward/lake/fault"
)

// Options of a Pool. The zero value of a field is its default.
type Options struct {
	// Dir is where workers live, each below Dir/run. What is left there is
	// deleted when the pool opens and closes, so no two pools share a Dir. It
	// is best on the file system of the data: files are hard-linked into it.
	Dir string

	Executable string // the program that has the worker role; "" is this one

	Slots   int // statements that run at once; 2 × cores
	Warm    int // idle workers kept ready; 2
	Threads int // of one statement; cores, at most 8

	// MemoryBytes is the engine's memory_limit for one statement; a worker may
	// use 1 GiB beside it. The default shares out 70 % of the process's limit.
	MemoryBytes int64
	SpillBytes  int64 // on disk for one statement; 64 GiB

	QueueWait   time.Duration // for a slot; 30 s
	DeadlineMax time.Duration // of one statement; 5 min

	// Place makes the bytes of an object a file at path, which does not exist.
	// The file is read only, and removed by the pool. A hard link will do.
	Place func(ctx context.Context, object, path string) error

	Logger *slog.Logger
}

// Defaults of Options.
const (
	warmDefault      = 2
	threadsMax       = 8
	memoryBytesMin   = 512 << 20
	memoryBytesMax   = 32 << 30 // unless asked for
	spillDefault     = 64 << 30
	queueWaitDefault = 30 * time.Second
	deadlineDefault  = 5 * time.Minute
)

func (o Options) withDefaults() Options {
	cores := runtime.NumCPU()
	setDefault(&o.Executable, thisProgram)
	setDefault(&o.Slots, 2*cores)
	setDefault(&o.Warm, min(warmDefault, o.Slots))
	setDefault(&o.Threads, min(cores, threadsMax))
	share := memoryBytes()/10*7/int64(o.Slots) - headroomBytes
	setDefault(&o.MemoryBytes, min(max(share, memoryBytesMin), memoryBytesMax))
	setDefault(&o.SpillBytes, spillDefault)
	setDefault(&o.QueueWait, queueWaitDefault)
	setDefault(&o.DeadlineMax, deadlineDefault)
	setDefault(&o.Logger, slog.New(slog.DiscardHandler))
	return o
}

func setDefault[T comparable](v *T, d T) {
	if *v == *new(T) {
		*v = d
	}
}

// A Pool runs statements in workers. Its methods may be called from many
// goroutines at once.
type Pool struct {
	o       Options
	run     string // Dir/run
	log     *slog.Logger
	nursery *nursery
	slots   *semaphore.Weighted // first come, first served

	stop   context.CancelFunc // ends keep
	wanted chan struct{}      // tells keep that workers may be missing
	tasks  sync.WaitGroup

	quarantine quarantine
	stats      counters

	mu     sync.Mutex
	all    map[*child]bool
	idle   []*child // the warmest last
	closed bool
}

type counters struct{ spawns, deaths, recycled, queries, pruned atomic.Int64 }

// Stats is what a pool has and did.
type Stats struct {
	Alive, Idle int   // workers now
	Spawns      int64 // workers started
	Deaths      int64 // workers that ended though the pool did not want it
	Recycled    int64 // workers renewed or replaced on purpose
	Queries     int64 // statements run to rows, however they ended
	Pruned      int64 // data files that were not looked at, by their statistics
}

// ErrClosed says that the pool has been closed.
var ErrClosed = fault.New(fault.Unavailable, "the query engine is shutting down; try another server")

// Open starts a pool. It returns when one worker has proved that it works.
func Open(ctx context.Context, o Options) (*Pool, error) {
	o = o.withDefaults()
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the directory of exec workers: %w", err)
	}
	if o.Executable == "" {
		if o.Executable, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find this program: %w", err)
		}
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	p := &Pool{
		o: o, run: filepath.Join(dir, "run"), log: o.Logger,
		nursery: newNursery(),
		slots:   semaphore.NewWeighted(int64(o.Slots)),
		stop:    stop, wanted: make(chan struct{}, 1),
		all: map[*child]bool{},
	}
	if err := p.open(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.tasks.Add(1)
	go func() {
		defer p.tasks.Done()
		p.keep(life)
	}()
	p.want()
	return p, nil
}

func (p *Pool) open(ctx context.Context) error {
	if err := removeLeftovers(p.run); err != nil {
		return err
	}
	if err := os.MkdirAll(p.run, 0o700); err != nil {
		return fmt.Errorf("make the directory of exec workers: %w", err)
	}
	c, err := p.hatch(ctx)
	if err != nil {
		return fmt.Errorf("start the first exec worker: %w", err)
	}
	p.shelve(c)
	return nil
}

// removeLeftovers removes the directories of workers that are no more. Other things in
// run are not the pool's.
func removeLeftovers(run string) error {
	entries, err := os.ReadDir(run)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for leftovers of exec workers: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue // such as the ready file of a role
		}
		if err := os.RemoveAll(filepath.Join(run, e.Name())); err != nil {
			return fmt.Errorf("remove leftovers of exec workers: %w", err)
		}
	}
	return nil
}

// Close ends all workers, also those that run a statement, and waits for them.
func (p *Pool) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	idle := p.idle
	p.idle = nil
	busy := make([]*child, 0, len(p.all))
	for c := range p.all {
		if !slices.Contains(idle, c) {
			busy = append(busy, c)
		}
	}
	p.mu.Unlock()
	p.stop()
	for _, c := range busy {
		c.kill()
	}
	var retiring sync.WaitGroup
	for _, c := range idle {
		retiring.Go(c.retire)
	}
	retiring.Wait()
	p.tasks.Wait()
	p.nursery.close()
	return removeLeftovers(p.run)
}

// background runs f in a goroutine that Close waits for; once the pool is
// closed, and its workers dead, it just runs f.
func (p *Pool) background(f func()) {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.tasks.Add(1)
	}
	p.mu.Unlock()
	if closed {
		f()
		return
	}
	go func() {
		defer p.tasks.Done()
		f()
	}()
}

// Stats returns what the pool has and did.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{
		Alive: len(p.all), Idle: len(p.idle),
		Spawns: p.stats.spawns.Load(), Deaths: p.stats.deaths.Load(),
		Recycled: p.stats.recycled.Load(), Queries: p.stats.queries.Load(), Pruned: p.stats.pruned.Load(),
	}
}

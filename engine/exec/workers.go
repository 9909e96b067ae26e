package exec

import (
	"context"
	"fmt"
	"time"

	"github.com/lakeward/lake/fault"
)

// Pauses between starts of workers by keep, after failures.
const (
	respawnMin = 100 * time.Millisecond
	respawnMax = 5 * time.Second
)

var (
	errQueue    = fault.New(fault.Exhausted, "no query slot came free in time")
	errNoWorker = fault.New(fault.Unavailable, "the query engine did not start; ask again, and see the server's log")
)

// lend waits for a slot and returns a worker, which the caller gives back by
// put or drop, whatever happens.
func (p *Pool) lend(ctx context.Context) (*child, error) {
	wait, cancel := context.WithTimeout(ctx, p.o.QueueWait)
	defer cancel()
	if err := p.slots.Acquire(wait, 1); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fault.Detail(errQueue, "all %d query slots stayed taken for %v; ask again later, or start the server with more --query-slots", p.o.Slots, p.o.QueueWait)
	}
	p.mu.Lock()
	closed := p.closed
	var c *child
	if n := len(p.idle); n > 0 && !closed {
		c, p.idle = p.idle[n-1], p.idle[:n-1]
	}
	p.mu.Unlock()
	p.want()
	var err error
	switch {
	case closed:
		err = ErrClosed
	case c == nil:
		c, err = p.hatch(ctx)
	}
	if err != nil {
		p.slots.Release(1)
		return nil, err
	}
	return c, nil
}

// hatch starts a worker for the caller.
func (p *Pool) hatch(ctx context.Context) (*child, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	p.tasks.Add(1)
	p.mu.Unlock()
	defer p.tasks.Done()
	c, err := p.spawn(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p.log.Error("exec worker did not start", "error", err)
		return nil, fmt.Errorf("%w: %w", errNoWorker, err)
	}
	return c, nil
}

// shelve makes a worker idle, or ends it if there is no room for it.
func (p *Pool) shelve(c *child) {
	p.mu.Lock()
	room := !p.closed && len(p.all) <= p.o.Slots
	if room && p.all[c] { // else it is dead
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if !room {
		c.retire()
	}
}

// put takes back a worker that has answered all that it was asked. Its slot
// comes free when its memory is known to be.
func (p *Pool) put(c *child) {
	worn := c.queries >= workerQueries || time.Since(c.born) >= workerAge
	if !worn && !c.grown() {
		p.shelve(c)
		p.slots.Release(1)
		return
	}
	p.stats.recycled.Add(1)
	p.background(func() {
		defer p.want()
		defer p.slots.Release(1)
		if worn || c.reopen() != nil || c.grown() {
			c.retire()
			return
		}
		p.shelve(c)
	})
}

// drop ends a worker that cannot be trusted with another statement.
func (p *Pool) drop(c *child) {
	c.kill()
	<-c.dead
	p.slots.Release(1)
	p.want()
}

// grown reports whether the worker keeps more memory than it should.
func (c *child) grown() bool {
	return privateBytes(c.cmd.Process.Pid)-c.baseline > growthBytesMax
}

// reopen gives the worker a new engine instance.
func (c *child) reopen() error {
	const reopenMax = 5 * time.Second
	t := time.AfterFunc(reopenMax, c.kill)
	defer t.Stop()
	r, err := c.ask(kindReopen, nil, 0)
	if err == nil && r.fin.Failure != nil {
		err = r.fin.Failure
	}
	return err
}

// mourn accounts for a worker that has just died. Nobody knows yet, so that
// who waits for the death finds it counted, and nothing has called it wanted
// that came after it.
func (p *Pool) mourn(c *child) {
	p.mu.Lock()
	delete(p.all, c)
	for i, idle := range p.idle {
		if idle == c {
			p.idle = append(p.idle[:i:i], p.idle[i+1:]...)
			break
		}
	}
	p.mu.Unlock()
	if !c.killed.Load() {
		p.stats.deaths.Add(1)
		p.log.Warn("exec worker died", "pid", c.cmd.Process.Pid, "state", c.state.String(), "stderr", c.stderr.String())
	}
}

// bury removes what a dead worker leaves.
func (p *Pool) bury(c *child) {
	if err := c.release(); err != nil {
		p.log.Warn("exec worker left files behind", "error", err)
	}
	p.want()
}

// want tells keep to look.
func (p *Pool) want() {
	select {
	case p.wanted <- struct{}{}:
	default: // it will look anyway
	}
}

// keep starts workers ahead of need until ctx ends.
func (p *Pool) keep(ctx context.Context) {
	pause := respawnMin
	retry := time.NewTimer(pause)
	retry.Stop()
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wanted:
		case <-retry.C:
		}
		for p.missing() {
			c, err := p.hatch(ctx)
			if err != nil {
				if ctx.Err() != nil {
					return
				}
				retry.Reset(pause)
				pause = min(2*pause, respawnMax)
				break
			}
			pause = respawnMin
			p.shelve(c)
		}
	}
}

func (p *Pool) missing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.closed && len(p.idle) < p.o.Warm && len(p.all) < p.o.Slots
}

// Package roles starts and stops the parts of a lake process.
package roles

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lakeward/lake/fault"
)

// A Stage is a part of a process.
type Stage struct {
	Name string

	// Run does the stage's work until ctx ends, then ends it in good order and
	// returns nil. It calls up once the stages after it may rely on it.
	Run func(ctx context.Context, up func()) error
}

// Run starts the stages in order, each when the one before it is up. When ctx
// ends or any stage returns, it stops them in reverse, and waits for each one
// to return before it stops the next: a server drains while the lease that its
// writes need is still being renewed. All stops share one grace period. The
// error is that of every stage that failed, ended by itself, or did not stop
// in time; one that did not is left running.
func Run(ctx context.Context, grace time.Duration, stages ...Stage) error {
	ended := make(chan struct{}, len(stages))
	var started []*running
	for _, s := range stages {
		r := start(ctx, s, ended)
		started = append(started, r)
		select {
		case <-r.up:
			continue
		case <-r.done:
		case <-ctx.Done():
		}
		break
	}
	select {
	case <-ctx.Done():
	case <-ended:
	}

	late := time.NewTimer(grace)
	defer late.Stop()
	var errs []error
	for i := len(started) - 1; i >= 0; i-- {
		r := started[i]
		r.stop()
		select {
		case <-r.done:
			if r.err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", r.Name, r.err))
			}
		case <-late.C:
			errs = append(errs, fmt.Errorf("%s: %w", r.Name,
				fault.Newf(fault.Deadline, "still running %v after the stop", grace)))
			for _, r := range started[:i] {
				r.stop()
			}
			return errors.Join(errs...)
		}
	}
	return errors.Join(errs...)
}

// running is a stage that was started.
type running struct {
	Stage
	stop context.CancelFunc
	up   chan struct{}
	done chan struct{} // closed after err is set
	err  error
}

// start runs s in a goroutine of its own, with ctx's values but not its end,
// and says on ended when it has returned.
func start(ctx context.Context, s Stage, ended chan<- struct{}) *running {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	r := &running{Stage: s, stop: stop, up: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer func() { close(r.done); ended <- struct{}{} }()
		r.err = s.Run(ctx, sync.OnceFunc(func() { close(r.up) }))
		if r.err == nil && ctx.Err() == nil {
			r.err = errEnded
		}
	}()
	return r
}

var errEnded = fault.New(fault.Internal, "ended by itself")

package wire

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/lakeward/lake/fault"
)

// Bounds on retrying a change whose outcome is open or that met a limit.
const (
	retryWindow  = 30 * time.Second
	retryWaitMin = 50 * time.Millisecond
	retryWaitMax = 2 * time.Second
)

// Retry calls do until it succeeds, fails for good, or the window or ctx ends.
// do must be the same change each time: one operation id over one input.
func Retry(ctx context.Context, do func() error) error {
	deadline := time.Now().Add(retryWindow)
	for wait := retryWaitMin; ; wait = min(2*wait, retryWaitMax) {
		err := do()
		switch fault.KindOf(err) {
		case fault.Unavailable, fault.Exhausted, fault.Conflict:
		default:
			return err
		}
		pause := time.Duration(rand.Int64N(int64(wait))) + wait/2
		if err == nil || time.Now().Add(pause).After(deadline) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err // says more than the context does
		}
	}
}

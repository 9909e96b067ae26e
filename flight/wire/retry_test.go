package wire_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/wire"
)

func TestRetryEndsByWhatItIsTold(t *testing.T) {
	away := fault.New(fault.Unavailable, "away")
	for _, tt := range []struct {
		name       string
		errs       []error // of the calls; the last one stays
		cancel     time.Duration
		min, max   time.Duration
		callsAbove int
	}{
		{name: "success", errs: []error{nil}},
		{name: "an error for good", errs: []error{fault.New(fault.Invalid, "no")}},
		{name: "success at last", errs: []error{away, fault.New(fault.Exhausted, "full"), fault.New(fault.Conflict, "raced"), nil}, min: 75 * time.Millisecond, max: time.Second, callsAbove: 3},
		{name: "never", errs: []error{away}, min: 25 * time.Second, max: 30 * time.Second, callsAbove: 10},
		{name: "a caller who goes away", errs: []error{away}, cancel: 5 * time.Second, min: 5 * time.Second, max: 5 * time.Second, callsAbove: 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tt.cancel > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.cancel)
					defer cancel()
				}
				began, calls := time.Now(), 0
				err := wire.Retry(ctx, func() error {
					calls++
					return tt.errs[min(calls, len(tt.errs))-1]
				})
				if want := tt.errs[len(tt.errs)-1]; err != want {
					t.Errorf("%v, want %v", err, want)
				}
				if took := time.Since(began); took < tt.min || took > tt.max || calls <= tt.callsAbove {
					t.Errorf("%d calls in %v", calls, took)
				}
			})
		})
	}
}

package roles_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/roles"
)

// worker is a stage that writes what happens to it into log, and takes drain
// to stop.
func worker(name string, drain time.Duration, log *[]string) roles.Stage {
	return roles.Stage{Name: name, Run: func(ctx context.Context, up func()) error {
		time.Sleep(time.Second) // the next stage must wait for this
		*log = append(*log, name+" up")
		up()
		<-ctx.Done()
		time.Sleep(drain)
		*log = append(*log, name+" down")
		return nil
	}}
}

func TestStagesStartInOrderAndStopInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := roles.Run(ctx, time.Minute, worker("store", 0, &log), worker("lease", time.Second, &log), worker("server", 5*time.Second, &log))
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"store up", "lease up", "server up", "server down", "lease down", "store down"}
		if !slices.Equal(log, want) {
			t.Errorf("%v, want %v", log, want)
		}
	})
}

// TestLeaseIsRenewedWhileTheServerDrains is why stages stop one after another:
// an append in flight at the stop must still commit.
func TestLeaseIsRenewedWhileTheServerDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		renewals := 0
		lease := roles.Stage{Name: "lease", Run: func(ctx context.Context, up func()) error {
			up()
			for {
				select {
				case <-ctx.Done():
					return nil
				case <-time.After(time.Second):
					renewals++
				}
			}
		}}
		var log []string
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+time.Millisecond)
		defer cancel()
		if err := roles.Run(ctx, time.Minute, lease, worker("server", 5*time.Second, &log)); err != nil {
			t.Fatal(err)
		}
		if renewals != 15 {
			t.Errorf("%d renewals, want 15: ten before the stop and five of the drain", renewals)
		}
	})
}

func TestAFailureStopsTheProcess(t *testing.T) {
	errBroken := errors.New("listener broke")
	for _, tt := range []struct {
		name  string
		stage func(log *[]string) roles.Stage
		is    error
		kind  fault.Kind
		log   []string
	}{
		{
			name: "before the stage is up",
			stage: func(*[]string) roles.Stage {
				return roles.Stage{Name: "server", Run: func(context.Context, func()) error { return errBroken }}
			},
			is:  errBroken,
			log: []string{"store up", "store down"},
		},
		{
			name: "while all run",
			stage: func(log *[]string) roles.Stage {
				return roles.Stage{Name: "server", Run: func(_ context.Context, up func()) error {
					up()
					time.Sleep(time.Hour)
					return errBroken
				}}
			},
			is:  errBroken,
			log: []string{"store up", "last up", "last down", "store down"},
		},
		{
			name: "as a return without an error that nobody asked for",
			stage: func(log *[]string) roles.Stage {
				return roles.Stage{Name: "server", Run: func(_ context.Context, up func()) error {
					up()
					time.Sleep(time.Hour)
					return nil
				}}
			},
			kind: fault.Internal,
			log:  []string{"store up", "last up", "last down", "store down"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log []string
				err := roles.Run(t.Context(), time.Minute, worker("store", 0, &log), tt.stage(&log), worker("last", 0, &log))
				if err == nil || tt.is != nil && !errors.Is(err, tt.is) || fault.KindOf(err) != tt.kind {
					t.Errorf("error %v of kind %v", err, fault.KindOf(err))
				}
				if !slices.Equal(log, tt.log) {
					t.Errorf("%v, want %v", log, tt.log)
				}
			})
		})
	}
}

func TestAStopDuringTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string
		stuck := roles.Stage{Name: "stuck", Run: func(ctx context.Context, _ func()) error {
			<-ctx.Done() // never up
			return nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := roles.Run(ctx, time.Minute, worker("store", 0, &log), stuck, worker("last", 0, &log)); err != nil {
			t.Fatal(err)
		}
		if want := []string{"store up", "store down"}; !slices.Equal(log, want) {
			t.Errorf("%v, want %v", log, want)
		}
	})
}

func TestAllStagesShareOneGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		err := roles.Run(ctx, 30*time.Second, worker("store", 20*time.Second, &log), worker("server", 20*time.Second, &log))
		if fault.KindOf(err) != fault.Deadline {
			t.Errorf("error %v, want one of kind %v", err, fault.Deadline)
		}
		if took := time.Since(began); took != 40*time.Second {
			t.Errorf("took %v, want 10 s of work and 30 s of grace", took)
		}
		time.Sleep(20 * time.Second) // the stage that was left running ends
	})
}

func TestAStuckStageDoesNotKeepTheOthersFromStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string
		quit := make(chan struct{})
		defer close(quit)
		stuck := roles.Stage{Name: "stuck", Run: func(_ context.Context, up func()) error { up(); <-quit; return nil }}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := roles.Run(ctx, 3*time.Second, worker("store", 0, &log), stuck); fault.KindOf(err) != fault.Deadline {
			t.Errorf("error %v, want one of kind %v", err, fault.Deadline)
		}
		synctest.Wait()
		if want := []string{"store up", "store down"}; !slices.Equal(log, want) {
			t.Errorf("%v, want %v", log, want)
		}
	})
}

package exec_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/engine/exec"
)

// ownerCommand is the role of a process that owns a pool and says which
// workers it has: one that is idle, and one deep in a call of the engine.
const ownerCommand = "pool-owner"

func ownerMain(dir string) int {
	ctx := context.Background()
	p, err := exec.Open(ctx, exec.Options{Dir: dir, Slots: 2, Warm: 2, MemoryBytes: 512 << 20})
	if err != nil {
		return 1
	}
	busy := make(chan error)
	go func() {
		_, err := p.Query(ctx, engine.Query{SQL: deaf})
		busy <- err
	}()
	for p.Stats().Queries == 0 || p.Stats().Idle == 0 || p.Stats().Alive < 2 {
		select {
		case <-busy:
			return 1
		default:
		}
	}
	fmt.Fprintln(os.Stdout, p.WorkerPIDs())
	<-busy
	return 0
}

// A server that is killed leaves no worker behind, whatever the worker does.
func TestWorkersDieWithTheirPool(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	owner := osexec.CommandContext(t.Context(), self, ownerCommand, t.TempDir())
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, f := range strings.Fields(strings.Trim(strings.TrimSpace(line), "[]")) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	if len(pids) != 2 {
		t.Fatalf("workers %v", pids)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait() // killed
	for _, pid := range pids {
		wait(t, fmt.Sprintf("worker %d to die", pid), func() bool { return gone(pid) })
	}
}

// gone reports whether a process has ended, reaped or not.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(b), ") Z ")
}

// Statement after statement on one worker costs no file, no worker and no
// memory that is not given back.
func TestManyStatementsOnOneWorker(t *testing.T) {
	l := openLake(t, func(o *exec.Options) { o.Slots, o.Warm = 1, 1 })
	l.add(t, "numbers", numberColumns, numbers(100))
	pid := l.pool.WorkerPIDs()[0]
	files := func() int {
		fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if err != nil {
			t.Skip("reads /proc")
		}
		return len(fds)
	}
	run := func(i int) {
		sql := fmt.Sprintf("SELECT * FROM numbers WHERE id > %d", i)
		if i%3 == 2 {
			sql = fmt.Sprintf("SELECT nope%d FROM numbers", i)
		}
		if _, err := l.run(t.Context(), sql); (err != nil) != (i%3 == 2) {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	for i := range 20 {
		run(i)
	}
	before := files()
	for i := range 200 {
		run(i)
	}
	if after := files(); after > before {
		t.Errorf("the worker had %d files open and has %d", before, after)
	}
	if s := l.pool.Stats(); s.Spawns != 1 || s.Deaths != 0 {
		t.Errorf("%+v", s)
	}
}

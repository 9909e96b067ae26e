package exec

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// headroomBytes is what a worker may use beside the engine's memory_limit: Go
// heap, stacks, Arrow buffers and texts that the engine does not account for.
const headroomBytes = 1 << 30

// confine takes from this process what it will not need. Later threads inherit
// it. RLIMIT_DATA bounds memory where memory_limit does not: the engine's
// allocations fail and the statement with them. RLIMIT_AS would do so too, but
// breaks thread creation and the Go runtime.
func confine(h hello) error {
	if err := dieWith(h.Parent); err != nil {
		return err
	}
	for _, l := range []struct {
		name     string
		resource int
		max      uint64
	}{
		{"core", unix.RLIMIT_CORE, 0},
		{"data", unix.RLIMIT_DATA, uint64(h.MemoryBytes) + headroomBytes},
	} {
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: l.max, Max: l.max}); err != nil {
			return fmt.Errorf("limit %s to %d: %w", l.name, l.max, err)
		}
	}
	return closeInherited()
}

// closeInherited closes the files that a careless parent let through to this
// process. What this process opened itself is marked to close on exec; what
// came through an exec cannot be.
func closeInherited() error {
	open, err := os.ReadDir(openFiles)
	if err != nil {
		return fmt.Errorf("list open files: %w", err)
	}
	for _, e := range open {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= 2 {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
	return nil
}

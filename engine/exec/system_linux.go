package exec

/*
#include <malloc.h>
*/
import "C"

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// thisProgram stays the running program even when its file is replaced.
const thisProgram = "/proc/self/exe"

const openFiles = "/proc/self/fd"

// separate keeps a terminal's signals from a worker, and ends it with the
// thread that starts it.
func separate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// dieWith fails if the parent has died already. The signal of a later death
// was asked for before this program began.
func dieWith(parent int) error {
	if os.Getppid() != parent {
		return fmt.Errorf("the pool's process %d has gone", parent)
	}
	return nil
}

// privateBytes is the memory that a process shares with no file, or 0.
func privateBytes(pid int) int64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	f := bytes.Fields(b) // pages: size, resident, shared...
	if len(f) < 3 {
		return 0
	}
	resident, err1 := strconv.ParseInt(string(f[1]), 10, 64)
	shared, err2 := strconv.ParseInt(string(f[2]), 10, 64)
	if err1 != nil || err2 != nil {
		return 0
	}
	return (resident - shared) * int64(os.Getpagesize())
}

// memoryBytes is the machine's memory or, if smaller, the limit of the control
// group that this process is in.
func memoryBytes() int64 {
	var i unix.Sysinfo_t
	n := int64(1 << 40)
	if unix.Sysinfo(&i) == nil {
		n = int64(i.Totalram) * int64(i.Unit)
	}
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if v, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64); err == nil && v < n {
			n = v
		}
	}
	return n
}

// trimHeap gives free memory of the C heap back to the system.
func trimHeap() { C.malloc_trim(0) }

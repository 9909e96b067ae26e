//go:build !linux

package exec

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// thisProgram is found by os.Executable.
const thisProgram = ""

const openFiles = "/dev/fd"

// separate keeps a terminal's signals from a worker.
func separate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// dieWith fails if the parent has died already. Here a worker learns of a later
// death by the end of its socket alone.
func dieWith(parent int) error {
	if os.Getppid() != parent {
		return fmt.Errorf("the pool's process %d has gone", parent)
	}
	return nil
}

// privateBytes is not known here: workers are recycled by count and age.
func privateBytes(int) int64 { return 0 }

// memoryBytes is a guess that fits small machines.
func memoryBytes() int64 { return 8 << 30 }

// trimHeap does nothing here.
func trimHeap() {}

package exec_test

import (
	"os"
	"testing"

	"github.com/lakeward/lake/engine/exec"
)

// TestMain makes the test program its own worker.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == exec.WorkerCommand {
		os.Exit(exec.WorkerMain())
	}
	os.Exit(m.Run())
}

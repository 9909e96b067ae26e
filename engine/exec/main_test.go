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
	if len(os.Args) > 2 && os.Args[1] == exec.RogueCommand {
		os.Exit(exec.RogueMain(os.Args[2]))
	}
	if len(os.Args) > 2 && os.Args[1] == ownerCommand {
		os.Exit(ownerMain(os.Args[2]))
	}
	os.Exit(m.Run())
}

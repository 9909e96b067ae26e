package config

import (
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/lakeward/lake/fault"
)

// What auto stands for.
const (
	threadsMax       = 8
	warmAuto         = 2
	memoryPercent    = 70
	headroomBytes    = 1 << 30 // of a worker, beside its query's memory
	memoryBytesLeast = 512 << 20
	memoryAssumed    = 8 << 30 // where the system does not tell
)

// complete replaces what is left to the machine, and checks what concerns two
// settings.
func (c *Config) complete() error {
	if c.Root == "" {
		c.Root = c.Dir
	}
	q, cores := &c.Query, runtime.GOMAXPROCS(0)
	if q.Slots == 0 {
		q.Slots = 2 * cores
	}
	if q.Threads == 0 {
		q.Threads = min(cores, threadsMax)
	}
	if q.MemoryBytes == 0 {
		q.MemoryBytes = queryMemory(memoryLimit(os.ReadFile), q.Slots)
	}
	if q.Warm == 0 {
		q.Warm = min(warmAuto, q.Slots)
	}
	if q.Warm > q.Slots {
		return fault.Newf(fault.Invalid, "query-warm is %d (from %s): more idle workers than the %d of query-slots never run; use 1 to %d",
			q.Warm, c.sources["query-warm"], q.Slots, q.Slots)
	}
	return nil
}

// queryMemory is one slot's share of what queries may use of limit.
func queryMemory(limit int64, slots int) int64 {
	share := limit/100*memoryPercent/int64(slots) - headroomBytes
	return max(share>>20<<20, memoryBytesLeast)
}

// memoryLimit is the least of the machine's memory and the limit that a
// container sees as its own.
// ceiling: a limit that a service manager puts on a process outside of a
// container is not found; there, set query-memory.
func memoryLimit(read func(string) ([]byte, error)) int64 {
	limit := int64(math.MaxInt64)
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if b, err := read(file); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 {
				limit = min(limit, n)
			}
		}
	}
	b, _ := read("/proc/meminfo")
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemTotal:" {
			if kb, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				limit = min(limit, kb<<10)
			}
		}
	}
	if limit == math.MaxInt64 {
		return memoryAssumed
	}
	return limit
}

package config

import (
	"os"
	"testing"
)

func TestQueryMemory(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit int64
		slots int
		want  int64
	}{
		{"a share of 70 percent, less the worker's headroom", 100 << 30, 10, 6 << 30},
		{"never below the least that queries work with", 4 << 30, 8, 512 << 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := queryMemory(tt.limit, tt.slots)
			if d := tt.want - got; d < 0 || d > 2<<20 {
				t.Errorf("%s, want %s", formatSize(got), formatSize(tt.want))
			}
		})
	}
}

func TestMemoryLimit(t *testing.T) {
	const meminfo = "MemTotal:       16777216 kB\nMemFree:         1000 kB\n"
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"the machine's memory", map[string]string{"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory.max": "max\n"}, 16 << 30},
		{"a container's limit below it", map[string]string{"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory.max": "1073741824\n"}, 1 << 30},
		{"an older container's limit", map[string]string{"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory/memory.limit_in_bytes": "2147483648\n"}, 2 << 30},
		{"a container without a limit, as the older kind writes it", map[string]string{"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 16 << 30},
		{"a system that does not tell", nil, memoryAssumed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := memoryLimit(func(file string) ([]byte, error) {
				if text, ok := tt.files[file]; ok {
					return []byte(text), nil
				}
				return nil, os.ErrNotExist
			})
			if got != tt.want {
				t.Errorf("%d, want %d", got, tt.want)
			}
		})
	}
}

func TestEveryDefaultIsAllowed(t *testing.T) {
	for _, s := range table() {
		if err := s.set(&Config{}, s.Default); err != nil {
			t.Errorf("%s: default %q: %v", s.Name, s.Default, err)
		}
	}
}

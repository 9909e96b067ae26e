package exec_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lakeward/lake/engine/exec"
	"github.com/lakeward/lake/fault"
)

// Stars over stars double the columns with each level, and every reference to
// a wide CTE has them again: a text of a kilobyte once had the pool, which all
// clients share, follow a hundred million of them.
func TestFollowingColumnsIsBounded(t *testing.T) {
	l := openLake(t, func(o *exec.Options) { o.DeadlineMax = 2 * time.Second })
	l.add(t, "numbers", numberColumns, numbers(10))
	const levels = 28
	ctes := "WITH t0 AS (SELECT 1 AS x)"
	for i := range levels {
		ctes += fmt.Sprintf(", t%d AS (SELECT * FROM t%d a, t%d b)", i+1, i, i)
	}
	for name, sql := range map[string]string{
		"stars over stars":      strings.Repeat("SELECT *, * FROM (", levels) + "SELECT 1 AS x" + strings.Repeat(")", levels),
		"stars over a table":    strings.Repeat("SELECT *, * FROM (", levels) + "SELECT * FROM numbers" + strings.Repeat(") AS t", levels),
		"joins over joins":      fmt.Sprintf("%s SELECT count(*) FROM t%d", ctes, levels),
		"references to a table": "SELECT 1 FROM " + strings.Repeat("numbers, ", 4000) + "numbers",
	} {
		q, err := l.query(t.Context(), sql)
		if err != nil {
			if fault.KindOf(err) == fault.Internal {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = l.pool.Describe(t.Context(), q)
		runtime.ReadMemStats(&after)
		const allocatedMax = 256 << 20
		if n := after.TotalAlloc - before.TotalAlloc; n > allocatedMax {
			t.Errorf("%s: the pool took %d MiB", name, n>>20)
		}
		t.Logf("%s: %d KiB, %.100v", name, (after.TotalAlloc-before.TotalAlloc)>>10, err)
	}
	if _, err := l.run(t.Context(), "SELECT * FROM numbers"); err != nil {
		t.Errorf("the next statement: %v", err)
	}
}

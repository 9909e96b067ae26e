package exec

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/lakeward/lake/fault"
)

// Bounds on the quarantine of texts that killed a worker.
const (
	quarantineFor = 5 * time.Minute
	quarantineMax = 1024 // texts; the oldest goes first
)

var errQuarantined = fault.New(fault.Exhausted, "the statement killed its worker a short while ago and is held back")

// quarantine remembers texts that must not run for a while, by fingerprint.
type quarantine struct {
	mu    sync.Mutex
	until map[[sha256.Size]byte]time.Time
}

func (q *quarantine) add(sql string, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.until == nil {
		q.until = map[[sha256.Size]byte]time.Time{}
	}
	if len(q.until) >= quarantineMax {
		var oldest [sha256.Size]byte
		first := time.Time{}
		for k, t := range q.until {
			if first.IsZero() || t.Before(first) {
				oldest, first = k, t
			}
		}
		delete(q.until, oldest)
	}
	q.until[sha256.Sum256([]byte(sql))] = now.Add(quarantineFor)
}

func (q *quarantine) check(sql string, now time.Time) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.until) == 0 {
		return nil
	}
	k := sha256.Sum256([]byte(sql))
	t, ok := q.until[k]
	if !ok {
		return nil
	}
	if !now.Before(t) {
		delete(q.until, k)
		return nil
	}
	return fault.Detail(errQuarantined, "this statement killed its worker a short while ago and is held back for %v more; change it, or report it with the server's log", t.Sub(now).Round(time.Second))
}

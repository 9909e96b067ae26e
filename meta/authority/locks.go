package authority

import (
	"context"
	"sync"

	"github.com/lakeward/lake/ident"
)

// locks orders the changes of each table. A lock exists while it is held or
// waited for, so that there are never more than callers.
type locks struct {
	mu   sync.Mutex
	held map[ident.Table]*lock
}

type lock struct {
	slot  chan struct{} // holds one value while locked
	users int
}

// lock waits for the table's lock and returns what releases it.
func (l *locks) lock(ctx context.Context, t ident.Table) (unlock func(), err error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[ident.Table]*lock{}
	}
	k := l.held[t]
	if k == nil {
		k = &lock{slot: make(chan struct{}, 1)}
		l.held[t] = k
	}
	k.users++
	l.mu.Unlock()

	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.held, t)
		}
	}
	select {
	case k.slot <- struct{}{}:
		return func() { <-k.slot; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

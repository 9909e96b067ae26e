package delta

import (
	"context"
	"fmt"
	"sort"
	"time"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
)

// VersionAt implements engine.Timeline. A version was made when its commitInfo
// says. One that is said to be older than a version before it, as by another
// writer's clock, or that says nothing, is as old as that.
func (t *table) VersionAt(ctx context.Context, newest ident.Version, at time.Time) (ident.Version, error) {
	s, err := t.state(ctx, newest)
	if err != nil {
		return 0, fmt.Errorf("find a version of %s by time: %w", t.at, err)
	}
	ms := at.UnixMilli()
	after := sort.Search(len(s.made), func(i int) bool { return s.made[i] > ms })
	if after == 0 {
		first := time.UnixMilli(s.made[0]).UTC().Format("2006-01-02 15:04:05.000")
		return 0, fault.Detail(engine.ErrNoVersion, "the table's first version is of %s UTC; ask for that time or a later one", first)
	}
	return ident.Version(after - 1), nil
}

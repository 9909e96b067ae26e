package registry

import (
	"context"
	"fmt"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/meta"
	"github.com/lakeward/lake/meta/registry/registrypb"
)

const rootKey = "root"

var errOtherLake = fault.New(fault.Stale, "this root belongs to another lake than the metadata does; give the --root and --dir that belong together")

// BindRoot ties the metastore to the object store whose lake id is given: for
// ever at the first call, and refusing any other id later.
func (r *Registry) BindRoot(ctx context.Context, lake string) error {
	b, err := r.store.Get(ctx, rootKey)
	if err != nil {
		return fmt.Errorf("read the root record: %w", err)
	}
	if b == nil {
		if b, err = meta.Encode(formatNumber, &registrypb.Root{Lake: lake}); err != nil {
			return err
		}
		err = r.store.Commit(ctx, []meta.Pair{{Key: rootKey}}, []meta.Pair{{Key: rootKey, Value: b}})
		if fault.KindOf(err) == fault.Conflict {
			return r.BindRoot(ctx, lake)
		}
		return err
	}
	var p registrypb.Root
	if err := meta.Decode("the root record", formatNumber, b, &p); err != nil {
		return err
	}
	if p.GetLake() != lake {
		return errOtherLake
	}
	return nil
}

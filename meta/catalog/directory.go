package catalog

import (
	"context"
	"strconv"
	"time"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/meta/registry"
)

// A Directory is all tables at one generation, in order of name. It is shared:
// nobody changes it.
type Directory struct {
	Generation uint64
	Tables     []registry.Registration // their versions may be older than what Resolve says
}

// listing is a directory and when the source was asked for it.
type listing struct {
	d     *Directory
	at    time.Time
	epoch uint64
}

// Directory returns all tables as of at most ListTTL ago, or longer ago while
// no leader answers. A table whose change this process saw acknowledged is in
// it as it was then, or later.
func (c *Cache) Directory(ctx context.Context) (*Directory, error) {
	epoch := c.epoch.Load()
	last := c.lastListing()
	if last.d != nil && last.epoch == epoch && c.o.Now().Sub(last.at) < c.o.ListTTL {
		return last.d, nil
	}
	answer := c.loads.DoChan("directory@"+strconv.FormatUint(epoch, 10), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
		defer cancel()
		at := c.o.Now()
		d, err := c.source.Directory(ctx, last.d)
		if err == nil {
			c.mu.Lock()
			if c.directory.d == nil || c.directory.epoch <= epoch {
				c.directory = listing{d, at, epoch}
			}
			c.mu.Unlock()
		}
		return d, err
	})
	select {
	case r := <-answer:
		d, _ := r.Val.(*Directory)
		switch fault.KindOf(r.Err) {
		case fault.Unavailable, fault.Deadline:
			if r.Err != nil && last.d != nil && last.epoch == epoch && c.o.Now().Sub(last.at) < c.o.StaleMax {
				c.stale.Add(1)
				return last.d, nil
			}
		}
		return d, r.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *Cache) lastListing() listing {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.directory
}

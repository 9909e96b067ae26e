package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/lakeward/lake/objects"
)

// List implements objects.Store. It reads only the folders that can hold names
// of the page.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) ([]objects.Info, error) {
	l := lister{s: s, prefix: prefix, after: after, limit: limit}
	if limit > 0 {
		if err := l.folder(ctx, "."); err != nil {
			return nil, fmt.Errorf("list objects: %w", err)
		}
	}
	return l.out, nil
}

type lister struct {
	s             *Store
	prefix, after string
	limit         int
	out           []objects.Info
}

// folder lists what is in a folder and below it.
//
// ceiling: a page reads its folders whole, each name in memory.
func (l *lister) folder(ctx context.Context, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := fs.ReadDir(l.s.root.FS(), dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed while listing
	}
	if err != nil {
		return err
	}
	// A folder's names sort as if it were written with the slash they have.
	key := func(e fs.DirEntry) string {
		if e.IsDir() {
			return e.Name() + "/"
		}
		return e.Name()
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(key(a), key(b)) })
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if objects.CheckName(name) != nil {
			continue
		}
		if e.IsDir() {
			below := name + "/"
			if !strings.HasPrefix(below, l.prefix) && !strings.HasPrefix(l.prefix, below) {
				continue
			}
			if below < l.after && !strings.HasPrefix(l.after, below) {
				continue
			}
			if err := l.folder(ctx, name); err != nil {
				return err
			}
		} else if e.Type().IsRegular() && name > l.after && strings.HasPrefix(name, l.prefix) {
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			l.out = append(l.out, objects.Info{Name: name, Bytes: info.Size()})
		}
		if len(l.out) >= l.limit {
			return nil
		}
	}
	return nil
}

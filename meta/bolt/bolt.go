// Package bolt is a meta.Store in one local file. One process has it open at a
// time: its lock is what makes that process the only authority.
package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/meta"
)

// lockWait is how long Open waits for another process to let go of the file.
const lockWait = 2 * time.Second

// ErrLocked says that another process has the file open.
var ErrLocked = fault.New(fault.Unavailable, "another lake process uses this metadata file; stop it, or give another --dir")

var bucket = []byte("lake")

// Options of a store.
type Options struct {
	// NoSync leaves commits to the operating system's write-back: a crash of
	// the machine loses them. For benchmarks only.
	NoSync bool
}

// A Store is an open file.
type Store struct{ db *bbolt.DB }

// Open opens or makes the file at path.
func Open(path string, o Options) (*Store, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockWait, NoSync: o.NoSync, NoFreelistSync: true})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, ErrLocked
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch):
		return nil, fmt.Errorf("open metadata file: %w: %w", errFile, err)
	case err != nil:
		return nil, fmt.Errorf("open metadata file: %w", err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket)
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare metadata file: %w", err), db.Close())
	}
	return &Store{db}, nil
}

var errFile = fault.New(fault.Corrupt, "the metadata file is damaged or not lake's; restore it from a backup")

// Get implements meta.Store.
func (s *Store) Get(ctx context.Context, key string) (value []byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = s.db.View(func(tx *bbolt.Tx) error {
		if v := tx.Bucket(bucket).Get([]byte(key)); v != nil {
			value = append([]byte{}, v...)
		}
		return nil
	})
	return value, err
}

// Scan implements meta.Store.
func (s *Store) Scan(ctx context.Context, prefix, after string, limit int) (out []meta.Pair, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = s.db.View(func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucket).Cursor()
		p := []byte(prefix)
		k, v := c.Seek([]byte(max(prefix, after)))
		if k != nil && string(k) == after {
			k, v = c.Next()
		}
		for ; k != nil && bytes.HasPrefix(k, p) && len(out) < limit; k, v = c.Next() {
			out = append(out, meta.Pair{Key: string(k), Value: append([]byte{}, v...)})
		}
		return nil
	})
	return out, err
}

// Commit implements meta.Store.
func (s *Store) Commit(ctx context.Context, guards, writes []meta.Pair) error {
	if err := meta.CheckCommit(guards, writes); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucket)
		for _, g := range guards {
			v := b.Get([]byte(g.Key))
			if (v == nil) != (g.Value == nil) || !bytes.Equal(v, g.Value) {
				return meta.ErrGuard
			}
		}
		for _, w := range writes {
			var err error
			if w.Value == nil {
				err = b.Delete([]byte(w.Key))
			} else {
				err = b.Put([]byte(w.Key), w.Value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Close implements meta.Store.
func (s *Store) Close() error { return s.db.Close() }

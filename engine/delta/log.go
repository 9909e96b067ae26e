package delta

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/objects"
)

// logDir is the folder of a table's log.
const logDir = "_delta_log"

// readBackMax bounds how long a commit whose answer was lost is looked for.
const readBackMax = 10 * time.Second

// commitName is the object of a version's commit file.
func (t *table) commitName(v ident.Version) string {
	return t.at.Join(fmt.Sprintf("%s/%020d.json", logDir, v))
}

// readCommit returns the content of a version's commit file. One that is not
// there is objects.ErrNotFound.
func (t *table) readCommit(ctx context.Context, v ident.Version) (*commit, error) {
	b, err := objects.Read(ctx, t.e.store, t.commitName(v), commitBytesMax)
	if err != nil {
		return nil, err
	}
	c, err := parseCommit(b)
	if err != nil {
		return nil, fmt.Errorf("version %d: %w", v, fault.Detail(errCommit, "the commit file of version %d is corrupt (%v); restore it from a backup", v, err))
	}
	return c, nil
}

// put makes a version's commit file. If another commit holds the version, put
// returns it. A nil commit and a nil error say that the version is attempt's.
func (t *table) put(ctx context.Context, v ident.Version, body []byte, attempt ident.Attempt) (*commit, error) {
	_, err := objects.Put(ctx, t.e.store, t.commitName(v), body)
	if err == nil {
		return nil, nil
	}
	// Whether the name was taken by somebody else, or by this attempt with its
	// answer lost, is only known from what is there now.
	back := context.WithoutCancel(ctx)
	back, cancel := context.WithTimeout(back, readBackMax)
	defer cancel()
	c, err2 := t.readCommit(back, v)
	switch {
	case errors.Is(err2, objects.ErrNotFound):
		return nil, err
	case err2 != nil:
		return nil, errors.Join(err, err2)
	case attempt != "" && c.attempt() == attempt:
		return nil, nil
	}
	return c, nil
}

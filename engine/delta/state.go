package delta

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/objects"
)

// readAhead is how many commit files a replay reads at a time; replayBatch how
// many it holds before they are applied.
const (
	readAhead   = 8
	replayBatch = 64
)

// A state is a table at one version, as its log says. It is never changed.
type state struct {
	version   ident.Version
	made      []int64 // when each version was, in milliseconds; never falling
	protocol  *protocol
	metaData  *metaData
	schemaErr error           // why columns are not known
	columns   []engine.Column // of metaData
	fields    []deltaField    // of metaData
	files     []*liveFile     // in the order in which they were added
}

// A liveFile is a data file that a version has.
type liveFile struct {
	key     fileKey
	file    engine.DataFile
	problem error // why it cannot be read

	statsText string
	statsOf   *metaData // whose columns file.Stats are of
}

// A fileKey tells files apart as Delta does.
type fileKey struct{ path, vector string }

// timestamp is that of the newest commit that has one.
func (s *state) timestamp() int64 {
	if len(s.made) == 0 {
		return 0
	}
	return s.made[len(s.made)-1]
}

// readable refuses a version that cannot be read right.
func (s *state) readable() error {
	if err := checkReadable(s.protocol, s.metaData); err != nil {
		return err
	}
	if s.schemaErr != nil {
		return s.schemaErr
	}
	for _, f := range s.files {
		if f.problem != nil {
			return f.problem
		}
	}
	return nil
}

// dataFiles returns the version's files.
func (s *state) dataFiles() []engine.DataFile {
	out := make([]engine.DataFile, len(s.files))
	for i, f := range s.files {
		out[i] = f.file
	}
	return out
}

// state returns a version's state, from the nearest one before it that is in
// memory and the commits in between.
func (t *table) state(ctx context.Context, v ident.Version) (*state, error) {
	if v < 0 {
		return nil, engine.ErrNoVersion
	}
	s := t.e.cache.nearest(t.at, v)
	if s != nil && s.version == v {
		return s, nil
	}
	if s == nil {
		s = &state{version: -1}
	}
	// The version asked for is looked at first: without it there is nothing to
	// replay, however large its number.
	if _, err := t.e.store.Stat(ctx, t.commitName(v)); err != nil {
		return nil, t.missing(ctx, v, v, err)
	}
	r := newReplay(t, s)
	for s.version+ident.Version(r.applied) < v {
		from := s.version + ident.Version(r.applied) + 1
		batch := make([]*commit, min(v-from+1, replayBatch))
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(readAhead)
		for i := range batch {
			g.Go(func() (err error) {
				at := from + ident.Version(i)
				if batch[i], err = t.readCommit(gctx, at); err != nil {
					return t.missing(ctx, at, v, err)
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		for _, c := range batch {
			r.apply(c)
		}
	}
	s = r.finish()
	t.e.cache.put(t.at, s)
	return s, nil
}

// missing makes an error of a commit file that could not be read on the way to
// version v.
func (t *table) missing(ctx context.Context, at, v ident.Version, err error) error {
	if !errors.Is(err, objects.ErrNotFound) {
		return err
	}
	// A log that was cleaned up goes on from a checkpoint.
	const page = 1000
	found, err := t.e.store.List(ctx, t.at.Join(logDir)+"/", strings.TrimSuffix(t.commitName(at), ".json"), page)
	if err != nil {
		return err
	}
	for _, o := range found {
		if strings.Contains(o.Name, ".checkpoint.") {
			return fault.Detail(engine.ErrUnsupported, "the table's log begins with a checkpoint, without version %d, which cannot be read yet", at)
		}
	}
	if at == v {
		return engine.ErrNoVersion
	}
	return fault.Newf(fault.Corrupt, "the table's log has a gap: version %d is missing below version %d; restore its commit file", at, v)
}

// A replay applies commits to a state.
type replay struct {
	t       *table
	s       state
	applied int
	index   map[fileKey]int // of the live files in s.files, where dead ones are nil
}

func newReplay(t *table, from *state) *replay {
	r := &replay{t: t, s: *from, index: make(map[fileKey]int, len(from.files))}
	r.s.made = slices.Clip(from.made) // so that no two states append to one array
	r.s.files = slices.Clone(from.files)
	for i, f := range r.s.files {
		r.index[f.key] = i
	}
	return r
}

func (r *replay) apply(c *commit) {
	r.applied++
	r.s.made = append(r.s.made, max(r.s.timestamp(), c.info.Timestamp))
	if c.protocol != nil {
		r.s.protocol = c.protocol
	}
	if c.metaData != nil {
		r.s.metaData = c.metaData
		r.s.columns, r.s.fields, r.s.schemaErr = parseSchema(c.metaData.SchemaString)
	}
	for _, a := range c.files {
		if a.Remove != nil {
			r.drop(fileKey{a.Remove.Path, a.Remove.DeletionVector.key()})
			continue
		}
		f := r.t.liveFile(a.Add)
		r.drop(f.key)
		r.index[f.key] = len(r.s.files)
		r.s.files = append(r.s.files, f)
	}
}

func (r *replay) drop(k fileKey) {
	if i, ok := r.index[k]; ok {
		r.s.files[i] = nil
		delete(r.index, k)
	}
}

// finish returns the state. The replay is not used after it.
func (r *replay) finish() *state {
	s := r.s
	s.version += ident.Version(r.applied)
	s.files = slices.DeleteFunc(s.files, func(f *liveFile) bool { return f == nil })
	columns := leaves(s.columns)
	for i, f := range s.files {
		if f.statsOf != s.metaData { // added now, or the schema has changed
			f := *f
			f.statsOf = s.metaData
			f.file.Rows, f.file.Stats = parseStats(f.statsText, columns)
			s.files[i] = &f
		}
	}
	return &s
}

// liveFile makes a data file of an add. What is wrong with it matters only to
// versions that have it.
func (t *table) liveFile(a *addFile) *liveFile {
	f := &liveFile{key: fileKey{a.Path, a.DeletionVector.key()}, statsText: a.Stats}
	name, err := decodePath(a.Path)
	object := t.at.Join(name)
	switch {
	case err != nil:
		f.problem = err
	case objects.CheckName(object) != nil || strings.HasPrefix(name, "../"):
		f.problem = fault.Detail(engine.ErrUnsupported, "the table has a data file whose name this object store cannot hold; copy the table")
	case a.DeletionVector != nil:
		f.problem = fault.Detail(engine.ErrUnsupported, "the table uses the Delta feature deletionVectors, which cannot be read yet; purge them")
	case len(a.PartitionValues) > 0:
		f.problem = fault.Detail(engine.ErrUnsupported, "the table has partition values, which cannot be read yet; rewrite it without partitions")
	}
	f.file = engine.DataFile{Object: object, File: engine.File{Name: name, Bytes: a.Size}}
	if digest, ok := a.Tags[digestTag]; ok && digest != nil {
		if d, err := ident.ParseDigest(*digest); err == nil {
			f.file.SHA256 = d
		}
	}
	return f
}

// stateCache keeps the states that were last asked for.
type stateCache struct {
	filesMax int

	mu     sync.Mutex
	tables map[objects.Location][]*cached // each sorted by version
	order  *list.List                     // of *cached, the last used first
	files  int
}

type cached struct {
	at      objects.Location
	s       *state
	element *list.Element
}

// weight is what a state counts for against the bound: its files, itself, and
// its history, of which many versions take as much memory as one file.
func (c *cached) weight() int {
	const versionsPerFile = 64
	return len(c.s.files) + 1 + len(c.s.made)/versionsPerFile
}

func newStateCache(filesMax int) *stateCache {
	return &stateCache{filesMax: filesMax, tables: map[objects.Location][]*cached{}, order: list.New()}
}

func (c *stateCache) find(at objects.Location, v ident.Version) (int, bool) {
	return slices.BinarySearchFunc(c.tables[at], v, func(e *cached, v ident.Version) int { return cmp.Compare(e.s.version, v) })
}

// nearest returns the newest state that is not newer than v, or nil.
func (c *stateCache) nearest(at objects.Location, v ident.Version) *state {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, exact := c.find(at, v)
	if !exact {
		i--
	}
	if i < 0 {
		return nil
	}
	e := c.tables[at][i]
	c.order.MoveToFront(e.element)
	return e.s
}

func (c *stateCache) put(at objects.Location, s *state) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, exact := c.find(at, s.version)
	if exact {
		return
	}
	e := &cached{at: at, s: s}
	e.element = c.order.PushFront(e)
	c.tables[at] = slices.Insert(c.tables[at], i, e)
	c.files += e.weight()
	for c.files > c.filesMax && c.order.Len() > 0 {
		c.evict(c.order.Back().Value.(*cached))
	}
}

func (c *stateCache) evict(e *cached) {
	c.order.Remove(e.element)
	c.files -= e.weight()
	if i, ok := c.find(e.at, e.s.version); ok {
		c.tables[e.at] = slices.Delete(c.tables[e.at], i, i+1)
	}
	if len(c.tables[e.at]) == 0 {
		delete(c.tables, e.at)
	}
}

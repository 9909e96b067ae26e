package delta

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/objects"
)

// Bounds on one commit: how many other commits it may lose to, how many files
// it may have, and how many of those are looked at together.
const (
	commitRacesMax   = 1000
	commitFilesMax   = 100_000
	commitStatsAhead = 8
)

// Commit implements engine.Table.
func (t *table) Commit(ctx context.Context, base ident.Version, op engine.Op, m engine.Manifest) (ident.Version, error) {
	if err := t.checkManifest(m); err != nil {
		return 0, err
	}
	s, err := t.state(ctx, base)
	if err != nil {
		return 0, fmt.Errorf("commit after version %d of %s: %w", base, t.at, err)
	}
	if err := s.readable(); err != nil {
		return 0, fmt.Errorf("commit after version %d of %s: %w", base, t.at, err)
	}
	if err := checkAppendable(s.protocol, s.metaData, s.fields); err != nil {
		return 0, fmt.Errorf("commit after version %d of %s: %w", base, t.at, err)
	}
	names := make(map[string]bool, len(m.Files))
	for _, f := range m.Files {
		names[f.Name] = true
	}
	for _, f := range s.files {
		if names[f.file.Name] {
			return 0, fmt.Errorf("commit after version %d of %s: %w", base, t.at, inTable(f.file.Name))
		}
	}
	if err := t.checkFiles(ctx, m); err != nil {
		return 0, fmt.Errorf("commit to %s: %w", t.at, err)
	}
	adds := t.adds(m, s.columns)
	after := s.timestamp()
	for v := base + 1; v <= base+commitRacesMax; v++ {
		// Commits are ordered by their timestamps too, whatever the clocks of
		// their writers say.
		ms := max(t.e.o.Clock().UnixMilli(), after+1)
		for _, a := range adds {
			a.Add.ModificationTime = ms
		}
		info := action{CommitInfo: t.e.info(ms, "WRITE", map[string]string{"mode": "Append"}, op)}
		won, err := t.put(ctx, v, encodeCommit(append([]action{info}, adds...)...), op.Attempt)
		switch {
		case err != nil:
			return 0, fmt.Errorf("commit version %d of %s: %w", v, t.at, err)
		case won == nil:
			return v, nil
		case won.metaData != nil || won.protocol != nil:
			return 0, fmt.Errorf("commit version %d of %s: %w", v, t.at, engine.ErrForeign)
		}
		for _, a := range won.files {
			if a.Add != nil && names[a.Add.Path] { // our names need no encoding
				return 0, fmt.Errorf("commit version %d of %s: %w", v, t.at, inTable(a.Add.Path))
			}
		}
		after = max(after, won.info.Timestamp)
	}
	return 0, fmt.Errorf("commit to %s: %w", t.at,
		fault.Newf(fault.Conflict, "%d other commits came first; try again from the newest version", commitRacesMax))
}

// inTable refuses to add a file that the table has: its rows would not be there
// twice, but the commit would be acknowledged.
func inTable(name string) error {
	return fault.Newf(fault.Invalid, "the staged file %q is in the table already; stage the rows again for another operation", name)
}

// adds returns the actions of a manifest.
func (t *table) adds(m engine.Manifest, columns []engine.Column) []action {
	out := make([]action, len(m.Files))
	of := leaves(columns)
	for i, f := range m.Files {
		a := &addFile{
			Path:            (&url.URL{Path: f.Name}).EscapedPath(),
			PartitionValues: map[string]*string{},
			Size:            f.Bytes,
			DataChange:      true,
			Stats:           encodeStats(f, of),
		}
		if f.SHA256 != (ident.Digest{}) {
			digest := f.SHA256.String()
			a.Tags = map[string]*string{digestTag: &digest}
		}
		out[i] = action{Add: a}
	}
	return out
}

// checkManifest refuses what no Stage returns: a manifest comes from a client.
func (t *table) checkManifest(m engine.Manifest) error {
	if len(m.Files) > commitFilesMax {
		return fault.Newf(fault.Exhausted, "a commit of %d files is over the bound of %d; load it in parts", len(m.Files), commitFilesMax)
	}
	seen := make(map[string]bool, len(m.Files))
	for _, f := range m.Files {
		switch {
		case objects.CheckName(t.at.Join(f.Name)) != nil || strings.HasPrefix(f.Name, "_") || strings.Contains(f.Name, "/_"):
			return fault.Newf(fault.Invalid, "the manifest names a file %.80q that is not a data file of the table", f.Name)
		case seen[f.Name]:
			return fault.Newf(fault.Invalid, "the manifest names the file %.80q twice", f.Name)
		case f.Rows < 0 || f.Bytes <= 0:
			return fault.Newf(fault.Invalid, "the manifest says that the file %.80q has %d rows and %d bytes", f.Name, f.Rows, f.Bytes)
		}
		seen[f.Name] = true
	}
	return nil
}

// checkFiles looks at every file of a manifest.
func (t *table) checkFiles(ctx context.Context, m engine.Manifest) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(commitStatsAhead)
	for _, f := range m.Files {
		g.Go(func() error {
			info, err := t.e.store.Stat(ctx, t.at.Join(f.Name))
			switch {
			case errors.Is(err, objects.ErrNotFound):
				return fault.Newf(fault.Invalid, "the staged file %q is not there; stage the rows again", f.Name)
			case err != nil:
				return err
			case info.Bytes != f.Bytes:
				return fault.Newf(fault.Corrupt, "the staged file %q has %d bytes where its manifest says %d; stage the rows again", f.Name, info.Bytes, f.Bytes)
			}
			return nil
		})
	}
	return g.Wait()
}

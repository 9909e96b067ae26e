package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/objects"
	"github.com/lakeward/lake/objects/objectstest"
)

func open(t *testing.T, o Options) *Store {
	t.Helper()
	s, err := Open(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestStore(t *testing.T) {
	objectstest.Run(t, func(t *testing.T) objects.Store { return open(t, Options{NoSync: true}) })
}

// recorded makes a store write down what it syncs and links, with what the disk
// then holds.
func recorded(s *Store) *[]string {
	var mu sync.Mutex
	var calls []string
	note := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, fmt.Sprintf(format, args...))
	}
	fsync, link := s.sys.sync, s.sys.link
	s.sys.sync = func(f *os.File) error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(s.dir, filepath.Join(s.dir, f.Name()))
		if strings.HasPrefix(f.Name(), s.dir) {
			rel, err = filepath.Rel(s.dir, f.Name())
		}
		if err != nil {
			return err
		}
		if info.IsDir() {
			note("fsync folder %s", rel)
		} else {
			note("fsync %s of %d bytes", hideTemp(rel), info.Size())
		}
		return fsync(f)
	}
	s.sys.link = func(root *os.Root, from, to string) error {
		note("link %s to %s", hideTemp(from), to)
		return link(root, from, to)
	}
	return &calls
}

func hideTemp(name string) string {
	if dir, base := filepath.Split(name); strings.HasPrefix(base, tempPrefix) {
		return dir + "temp"
	}
	return name
}

// An object that was acknowledged is on the disk: its bytes before its name, its
// name before the answer, and the folders that lead to it before that. A store
// that leaves one of these out passes every other test.
func TestCommitSyncsBytesThenNameThenFolder(t *testing.T) {
	s := open(t, Options{})
	calls := recorded(s)
	for i, name := range []string{"a/b/first", "a/b/second", "top"} {
		w, err := s.Create(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, strings.Repeat("x", i+1)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"fsync folder .", // which now has a
		"fsync folder a", // which now has b
		"fsync a/b/temp of 1 bytes", "link a/b/temp to a/b/first", "fsync folder a/b",
		"fsync a/b/temp of 2 bytes", "link a/b/temp to a/b/second", "fsync folder a/b",
		"fsync temp of 3 bytes", "link temp to top", "fsync folder .",
	}
	if diff := cmp.Diff(want, *calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// A folder that exists may have been made by a process that lost power before
// it could sync it, so another store syncs it again.
func TestAnotherStoreSyncsFoldersAgain(t *testing.T) {
	first := open(t, Options{})
	if _, err := objects.Put(t.Context(), first, "a/b/x", nil); err != nil {
		t.Fatal(err)
	}
	second, err := Open(first.dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	calls := recorded(second)
	if _, err := objects.Put(t.Context(), second, "a/b/y", nil); err != nil {
		t.Fatal(err)
	}
	if got := *calls; len(got) < 2 || got[0] != "fsync folder ." || got[1] != "fsync folder a" {
		t.Errorf("calls: %q", got)
	}
}

func TestNoSyncSyncsNothing(t *testing.T) {
	s := open(t, Options{NoSync: true})
	f, err := os.Open(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := s.sys.sync(f); err != nil { // a closed file can be synced only by not doing it
		t.Errorf("sync = %v", err)
	}
}

func TestAFailedSyncIsNotAcknowledged(t *testing.T) {
	for nth := 1; ; nth++ {
		s := open(t, Options{})
		n := 0
		s.sys.sync = func(*os.File) error {
			if n++; n == nth {
				return syscall.EIO
			}
			return nil
		}
		_, err := objects.Put(t.Context(), s, "a/x", []byte("x"))
		if n < nth {
			if err != nil {
				t.Fatal(err)
			}
			if nth != 4 { // the folder above, the bytes, the folder
				t.Errorf("an object takes %d syncs, want 3", nth-1)
			}
			return
		}
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("with sync %d failing, Put = %v", nth, err)
		}
		if temps := leftovers(t, s.dir); len(temps) > 0 {
			t.Errorf("with sync %d failing, %q is left", nth, temps)
		}
	}
}

func leftovers(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(p), tempPrefix) {
			out = append(out, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestNothingTemporaryIsLeft(t *testing.T) {
	s := open(t, Options{NoSync: true})
	for range 2 { // the second finds the name taken
		_, _ = objects.Put(t.Context(), s, "a/x", []byte("x"))
	}
	w, err := s.Create(t.Context(), "a/y")
	if err != nil {
		t.Fatal(err)
	}
	if len(leftovers(t, s.dir)) != 1 {
		t.Error("an object being written has no temporary file")
	}
	w.Abort()
	if got := leftovers(t, s.dir); len(got) > 0 {
		t.Errorf("%q is left", got)
	}
}

func TestSweepRemovesWhatDeadWritersLeft(t *testing.T) {
	s := open(t, Options{NoSync: true})
	if _, err := objects.Put(t.Context(), s, "a/kept", nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a/old", "a/young"} {
		if _, err := s.Create(t.Context(), name); err != nil { // and never ended
			t.Fatal(err)
		}
	}
	now := time.Now()
	old := leftovers(t, s.dir)[0]
	if err := os.Chtimes(old, now, now.Add(-48*time.Hour)); err != nil {
		t.Fatal(err)
	}
	n, err := s.Sweep(t.Context(), now.Add(-24*time.Hour))
	if err != nil || n != 1 {
		t.Fatalf("Sweep = %d, %v, want 1", n, err)
	}
	if got := leftovers(t, s.dir); len(got) != 1 || got[0] == old {
		t.Errorf("left after the sweep: %q", got)
	}
	if _, err := s.Stat(t.Context(), "a/kept"); err != nil {
		t.Errorf("an object was swept: %v", err)
	}
}

func TestLinkGivesAnObjectAPath(t *testing.T) {
	s := open(t, Options{NoSync: true})
	if _, err := objects.Put(t.Context(), s, "a/x", []byte("bytes")); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, link := range map[string]func(path string) error{
		"linked": func(path string) error { return s.Link(t.Context(), "a/x", path) },
		"copied": func(path string) error { return s.copyTo(t.Context(), "a/x", path) },
	} {
		path := filepath.Join(dir, name)
		if err := link(path); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != "bytes" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		if err := link(path); !errors.Is(err, objects.ErrExists) {
			t.Errorf("%s again: %v, want ErrExists", name, err)
		}
	}
	if err := s.Link(t.Context(), "a/none", filepath.Join(dir, "none")); !errors.Is(err, objects.ErrNotFound) {
		t.Errorf("Link of nothing = %v", err)
	}
	if err := s.Link(t.Context(), "a", filepath.Join(dir, "folder")); !errors.Is(err, objects.ErrNotFound) {
		t.Errorf("Link of a folder = %v", err)
	}
	if err := s.Link(t.Context(), "../x", filepath.Join(dir, "outside")); fault.KindOf(err) != fault.Invalid {
		t.Errorf("Link of a bad name = %v", err)
	}
	if err := s.Link(t.Context(), "a/x", "relative"); err == nil {
		t.Error("Link to a relative path is no error")
	}
}

func TestWhatIsNotAnObjectIsNotListed(t *testing.T) {
	s := open(t, Options{NoSync: true})
	if _, err := objects.Put(t.Context(), s, "a/x", nil); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.WriteFile(filepath.Join(s.dir, "a/.tmp-1"), nil, 0o666),
		os.WriteFile(filepath.Join(s.dir, "a/with space"), nil, 0o666),
		os.Mkdir(filepath.Join(s.dir, "empty"), 0o777),
		os.Symlink("/etc/passwd", filepath.Join(s.dir, "a/link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.List(t.Context(), "", "", 10)
	if err != nil || !slices.Equal(got, []objects.Info{{Name: "a/x"}}) {
		t.Errorf("List = %v, %v", got, err)
	}
	if _, err := s.Open(t.Context(), "a/link"); err == nil {
		t.Error("a link out of the directory was followed")
	}
	if _, err := s.Stat(t.Context(), "empty"); !errors.Is(err, objects.ErrNotFound) {
		t.Errorf("Stat of a folder = %v", err)
	}
}

func TestAnObjectBelowAnObjectIsRefused(t *testing.T) {
	s := open(t, Options{NoSync: true})
	if _, err := objects.Put(t.Context(), s, "a", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := objects.Put(t.Context(), s, "a/b", nil); fault.KindOf(err) != fault.Invalid {
		t.Errorf("Put below an object = %v", err)
	}
}

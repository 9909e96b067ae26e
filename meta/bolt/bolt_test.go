package bolt_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/meta"
	"github.com/lakeward/lake/meta/bolt"
	"github.com/lakeward/lake/meta/metatest"
)

func open(t *testing.T, path string) *bolt.Store {
	t.Helper()
	s, err := bolt.Open(path, bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	metatest.Run(t, func(t *testing.T) meta.Store { return open(t, filepath.Join(t.TempDir(), "meta.db")) })
}

func TestSecondProcessIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meta.db")
	s := open(t, path)
	defer s.Close()
	if _, err := bolt.Open(path, bolt.Options{}); !errors.Is(err, bolt.ErrLocked) {
		t.Errorf("a second open: %v", err)
	}
}

func TestDamagedFileIsCorrupt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meta.db")
	if err := os.WriteFile(path, make([]byte, 1<<16), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := bolt.Open(path, bolt.Options{}); fault.KindOf(err) != fault.Corrupt {
		t.Errorf("a file of zeros: %v", err)
	}
}

func TestCommitsSurviveReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meta.db")
	s := open(t, path)
	if err := s.Commit(t.Context(), nil, []meta.Pair{{Key: "a", Value: []byte("1")}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	defer s.Close()
	if b, err := s.Get(t.Context(), "a"); string(b) != "1" || err != nil {
		t.Errorf("after reopening: %q, %v", b, err)
	}
}

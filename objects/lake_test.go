package objects_test

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/objects"
	"github.com/lakeward/lake/objects/mem"
)

// TestLakeFileFormat1 reads the file that the first release wrote.
func TestLakeFileFormat1(t *testing.T) {
	b, err := os.ReadFile("testdata/lake.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	s := mem.New()
	if _, err := objects.Put(t.Context(), s, "lake.json", b); err != nil {
		t.Fatal(err)
	}
	id, err := objects.Lake(t.Context(), s)
	if err != nil || id != "0190b7a0-0000-7000-8000-000000000002" {
		t.Errorf("%q, %v", id, err)
	}
	made := mem.New()
	if id, err = objects.MakeLake(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	got, err := objects.Read(t.Context(), made, "lake.json", 1000)
	if want := fmt.Sprintf("{\"format\":1,\"lake\":%q}\n", id); string(got) != want || err != nil {
		t.Errorf("written as %q (%v), want %q", got, err, want)
	}
}

func TestALakeIsMadeOnce(t *testing.T) {
	s := mem.New()
	if _, err := objects.Lake(t.Context(), s); !errors.Is(err, objects.ErrNoLake) {
		t.Errorf("an empty store: %v", err)
	}
	var ids sync.Map
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			id, err := objects.MakeLake(t.Context(), s)
			if err != nil {
				t.Error(err)
			}
			ids.Store(id, true)
		})
	}
	wg.Wait()
	n := 0
	ids.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d ids for one store", n)
	}
}

func TestLakeFilesThatAreNotRight(t *testing.T) {
	for text, kind := range map[string]fault.Kind{
		"":                                fault.Corrupt,
		"{":                               fault.Corrupt,
		`{"format":1,"lake":"x"}`:         fault.Corrupt,
		`{"format":2,"lake":"whatever"}`:  fault.Unsupported,
		`{"lake":"0190b7a0-0000-7000-8"}`: fault.Unsupported,
	} {
		s := mem.New()
		if _, err := objects.Put(t.Context(), s, "lake.json", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := objects.Lake(t.Context(), s); fault.KindOf(err) != kind {
			t.Errorf("%q: %v, want kind %v", text, err, kind)
		}
	}
}

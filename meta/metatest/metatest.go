// Package metatest is the suite that every meta.Store passes, and wrappers
// that make one fail or write down what it is asked.
package metatest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/meta"
)

// Run tests the stores that open returns, each of them empty.
func Run(t *testing.T, open func(t *testing.T) meta.Store) {
	for name, test := range map[string]func(*testing.T, meta.Store){
		"an absent key is nil and an empty value is not": absentAndEmpty,
		"a commit is all or nothing":                     allOrNothing,
		"guards hold for exact bytes only":               exactGuards,
		"a scan pages in bytewise order":                 scanPages,
		"callers own what they get and give":             ownership,
		"one of many racing commits wins":                race,
		"reads see every earlier commit":                 linear,
		"commits over a bound are refused":               bounds,
		"a cancelled context commits nothing":            cancelled,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			defer s.Close()
			test(t, s)
		})
	}
}

func pair(k, v string) meta.Pair { return meta.Pair{Key: k, Value: []byte(v)} }

func commit(t *testing.T, s meta.Store, guards []meta.Pair, writes ...meta.Pair) {
	t.Helper()
	if err := s.Commit(t.Context(), guards, writes); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, s meta.Store, k string) []byte {
	t.Helper()
	b, err := s.Get(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func absentAndEmpty(t *testing.T, s meta.Store) {
	if b := get(t, s, "a"); b != nil {
		t.Errorf("absent key is %q", b)
	}
	commit(t, s, nil, meta.Pair{Key: "a", Value: []byte{}})
	if b := get(t, s, "a"); b == nil || len(b) != 0 {
		t.Errorf("empty value came back as %#v", b)
	}
	if err := s.Commit(t.Context(), []meta.Pair{{Key: "a"}}, []meta.Pair{pair("b", "1")}); !errors.Is(err, meta.ErrGuard) {
		t.Errorf("an absent-guard on an empty value: %v", err)
	}
	commit(t, s, []meta.Pair{{Key: "a", Value: []byte{}}}, meta.Pair{Key: "a"})
	if b := get(t, s, "a"); b != nil {
		t.Errorf("deleted key is %q", b)
	}
	if err := s.Commit(t.Context(), []meta.Pair{{Key: "a", Value: []byte{}}}, nil); !errors.Is(err, meta.ErrGuard) {
		t.Errorf("an empty-guard on an absent key: %v", err)
	}
}

func allOrNothing(t *testing.T, s meta.Store) {
	commit(t, s, nil, pair("a", "1"), pair("b", "1"))
	err := s.Commit(t.Context(), []meta.Pair{pair("a", "1"), pair("b", "2")}, []meta.Pair{pair("a", "9"), {Key: "b"}, pair("c", "9")})
	if !errors.Is(err, meta.ErrGuard) || fault.KindOf(err) != fault.Conflict {
		t.Fatalf("a guard that does not hold: %v", err)
	}
	got, err := s.Scan(t.Context(), "", "", 10)
	if diff := cmp.Diff([]meta.Pair{pair("a", "1"), pair("b", "1")}, got); diff != "" || err != nil {
		t.Errorf("after a refused commit (%v):\n%s", err, diff)
	}
}

func exactGuards(t *testing.T, s meta.Store) {
	commit(t, s, []meta.Pair{{Key: "a"}}, pair("a", "value"))
	for _, g := range []string{"valu", "value\x00", "Value", ""} {
		if err := s.Commit(t.Context(), []meta.Pair{pair("a", g)}, []meta.Pair{pair("a", "x")}); !errors.Is(err, meta.ErrGuard) {
			t.Errorf("guard %q held: %v", g, err)
		}
	}
	commit(t, s, []meta.Pair{pair("a", "value")}, pair("a", "next"))
}

func scanPages(t *testing.T, s meta.Store) {
	keys := []string{"t/", "t/a", "t/a/b", "t/b", "t0", "u", "t/\x7f", "s"}
	for _, k := range keys {
		commit(t, s, nil, pair(k, k))
	}
	slices.Sort(keys)
	want := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return !strings.HasPrefix(k, "t/") })
	for limit := 1; limit <= len(want)+1; limit++ {
		var got []string
		after := ""
		for {
			page, err := s.Scan(t.Context(), "t/", after, limit)
			if err != nil || len(page) > limit {
				t.Fatalf("page of %d: %d pairs, %v", limit, len(page), err)
			}
			for _, p := range page {
				if p.Key != string(p.Value) {
					t.Errorf("key %q has value %q", p.Key, p.Value)
				}
				got = append(got, p.Key)
			}
			if len(page) < limit {
				break
			}
			after = page[len(page)-1].Key
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in pages of %d:\n%s", limit, diff)
		}
	}
	if page, err := s.Scan(t.Context(), "t/", "zzz", 5); len(page) != 0 || err != nil {
		t.Errorf("after the last key: %v, %v", page, err)
	}
	if page, err := s.Scan(t.Context(), "nope", "", 5); len(page) != 0 || err != nil {
		t.Errorf("an unknown prefix: %v, %v", page, err)
	}
}

func ownership(t *testing.T, s meta.Store) {
	v := []byte("value")
	commit(t, s, nil, meta.Pair{Key: "a", Value: v})
	v[0] = 'X'
	got := get(t, s, "a")
	got[1] = 'X'
	page, err := s.Scan(t.Context(), "", "", 1)
	if err != nil || len(page) != 1 {
		t.Fatal(page, err)
	}
	page[0].Value[2] = 'X'
	if b := get(t, s, "a"); string(b) != "value" {
		t.Errorf("the stored value changed to %q", b)
	}
}

func race(t *testing.T, s meta.Store) {
	const racers, rounds = 8, 20
	for r := range rounds {
		key := fmt.Sprintf("k%d", r)
		var won atomic.Int32
		var wg sync.WaitGroup
		for i := range racers {
			wg.Go(func() {
				err := s.Commit(t.Context(), []meta.Pair{{Key: key}}, []meta.Pair{pair(key, fmt.Sprint(i))})
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, meta.ErrGuard) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := won.Load(); n != 1 {
			t.Fatalf("round %d: %d winners", r, n)
		}
	}
}

// linear has writers count a register up by compare and swap: every increment
// must be there at the end, and no reader may see the count go down.
func linear(t *testing.T, s meta.Store) {
	const writers, each = 4, 25
	commit(t, s, nil, pair("n", "0"))
	stop := make(chan struct{})
	var readers, wg sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			last := 0
			for {
				select {
				case <-stop:
					return
				default:
				}
				n := 0
				b, err := s.Get(t.Context(), "n")
				if _, serr := fmt.Sscan(string(b), &n); err != nil || serr != nil || n < last {
					t.Errorf("read %q after %d: %v %v", b, last, err, serr)
					return
				}
				last = n
			}
		})
	}
	for range writers {
		wg.Go(func() {
			for done := 0; done < each; {
				b, err := s.Get(t.Context(), "n")
				if err != nil {
					t.Error(err)
					return
				}
				n := 0
				_, _ = fmt.Sscan(string(b), &n)
				switch err := s.Commit(t.Context(), []meta.Pair{{Key: "n", Value: b}}, []meta.Pair{pair("n", fmt.Sprint(n+1))}); {
				case err == nil:
					done++
				case !errors.Is(err, meta.ErrGuard):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	readers.Wait()
	if b := get(t, s, "n"); string(b) != fmt.Sprint(writers*each) {
		t.Errorf("%s increments of %d are there", b, writers*each)
	}
}

func bounds(t *testing.T, s meta.Store) {
	many := make([]meta.Pair, meta.CommitPairsMax+1)
	for i := range many {
		many[i] = pair(fmt.Sprint(i), "x")
	}
	for name, writes := range map[string][]meta.Pair{
		"too many pairs":      many,
		"an empty key":        {pair("", "x")},
		"a long key":          {pair(strings.Repeat("k", meta.KeyBytesMax+1), "x")},
		"a large value":       {{Key: "a", Value: make([]byte, meta.ValueBytesMax+1)}},
		"a key written twice": {pair("a", "1"), pair("a", "2")},
	} {
		if err := s.Commit(t.Context(), nil, writes); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	commit(t, s, nil, meta.Pair{Key: strings.Repeat("k", meta.KeyBytesMax), Value: make([]byte, meta.ValueBytesMax)})
	if page, err := s.Scan(t.Context(), "", "", 10); len(page) != 1 || err != nil {
		t.Errorf("%d pairs, want the one within the bounds (%v)", len(page), err)
	}
}

func cancelled(t *testing.T, s meta.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Commit(ctx, nil, []meta.Pair{pair("a", "1")}); !errors.Is(err, context.Canceled) {
		t.Errorf("commit under a cancelled context: %v", err)
	}
	if b := get(t, s, "a"); b != nil {
		t.Errorf("it wrote %q", b)
	}
}

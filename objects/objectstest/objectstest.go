// Package objectstest is the suite that every objects.Store passes, and wrappers
// that make a Store fail and that write down what is asked of it.
package objectstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/objects"
)

// Run checks that open returns empty stores that keep the contract of
// objects.Store.
func Run(t *testing.T, open func(t *testing.T) objects.Store) {
	for _, tt := range []struct {
		name string
		run  func(t *testing.T, s objects.Store)
	}{
		{"an object is there after its commit, and not before", commitMakesVisible},
		{"an object is read back at any offset", readAt},
		{"an empty object is an object", emptyObject},
		{"a taken name stays as it is", takenName},
		{"one of many writers of a name wins", oneWinner},
		{"a reader sees a whole object or none", wholeOrNothing},
		{"an aborted object leaves nothing", abortLeavesNothing},
		{"an abort after the commit does nothing", abortAfterCommit},
		{"a deleted object is gone, and can be read where it is open", deleted},
		{"lists are in bytewise order and by prefix", listOrder},
		{"lists have pages", listPages},
		{"lists are right while objects come", listWhileCreating},
		{"bad names are refused", badNames},
		{"names that are almost the same are different objects", similarNames},
		{"an object of many megabytes streams through", largeObject},
		{"a context that is over stops every call", canceled},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, open(t)) })
	}
}

func put(t *testing.T, s objects.Store, name, data string) {
	t.Helper()
	info, err := objects.Put(t.Context(), s, name, []byte(data))
	if err != nil || info != (objects.Info{Name: name, Bytes: int64(len(data))}) {
		t.Fatalf("put %s: %+v, %v", name, info, err)
	}
}

func read(t *testing.T, s objects.Store, name string) string {
	t.Helper()
	b, err := objects.Read(t.Context(), s, name, 1<<30)
	if err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	return string(b)
}

// gone checks that there is no object of the name, in all ways of looking.
func gone(t *testing.T, s objects.Store, name string) {
	t.Helper()
	if _, err := s.Open(t.Context(), name); !errors.Is(err, objects.ErrNotFound) {
		t.Errorf("Open(%s) = %v, want ErrNotFound", name, err)
	}
	if _, err := s.Stat(t.Context(), name); !errors.Is(err, objects.ErrNotFound) {
		t.Errorf("Stat(%s) = %v, want ErrNotFound", name, err)
	}
	if got, err := s.List(t.Context(), name, "", 10); err != nil || len(got) != 0 {
		t.Errorf("List(%s) = %v, %v, want nothing", name, got, err)
	}
}

func commitMakesVisible(t *testing.T, s objects.Store) {
	w, err := s.Create(t.Context(), "a/b/c")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	gone(t, s, "a/b/c")
	if _, err := io.WriteString(w, "hello"); err != nil {
		t.Fatal(err)
	}
	gone(t, s, "a/b/c")
	info, err := w.Commit(t.Context())
	if err != nil || info != (objects.Info{Name: "a/b/c", Bytes: 5}) {
		t.Fatalf("Commit = %+v, %v", info, err)
	}
	if got := read(t, s, "a/b/c"); got != "hello" {
		t.Errorf("read %q", got)
	}
	if info, err := s.Stat(t.Context(), "a/b/c"); err != nil || info.Bytes != 5 || info.Name != "a/b/c" {
		t.Errorf("Stat = %+v, %v", info, err)
	}
	if got, err := s.List(t.Context(), "", "", 10); err != nil || !slices.Equal(got, []objects.Info{{Name: "a/b/c", Bytes: 5}}) {
		t.Errorf("List = %v, %v", got, err)
	}
}

func readAt(t *testing.T, s objects.Store) {
	put(t, s, "x", "0123456789")
	r, err := s.Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Size() != 10 {
		t.Errorf("Size = %d", r.Size())
	}
	b := make([]byte, 4)
	if n, err := r.ReadAt(b, 3); n != 4 || err != nil || string(b) != "3456" {
		t.Errorf("ReadAt(3) = %d, %v, %q", n, err, b)
	}
	if n, err := r.ReadAt(b, 8); n != 2 || err != io.EOF || string(b[:n]) != "89" {
		t.Errorf("ReadAt(8) = %d, %v, %q", n, err, b[:n])
	}
	if n, err := r.ReadAt(b, 10); n != 0 || err != io.EOF {
		t.Errorf("ReadAt(10) = %d, %v", n, err)
	}
	var g sync.WaitGroup
	for range 4 { // ReadAt is safe side by side
		g.Go(func() {
			var b [1]byte
			for i := range int64(10) {
				if _, err := r.ReadAt(b[:], i); err != nil || b[0] != byte('0'+i) {
					t.Errorf("ReadAt(%d) = %q, %v", i, b, err)
				}
			}
		})
	}
	g.Wait()
}

func emptyObject(t *testing.T, s objects.Store) {
	put(t, s, "empty", "")
	if got := read(t, s, "empty"); got != "" {
		t.Errorf("read %q", got)
	}
	if _, err := objects.Put(t.Context(), s, "empty", []byte("x")); !errors.Is(err, objects.ErrExists) {
		t.Errorf("put again = %v, want ErrExists", err)
	}
}

func takenName(t *testing.T, s objects.Store) {
	put(t, s, "d/x", "first")
	_, err := objects.Put(t.Context(), s, "d/x", []byte("second"))
	if !errors.Is(err, objects.ErrExists) || fault.KindOf(err) != fault.Exists {
		t.Errorf("put again = %v, want ErrExists", err)
	}
	if got := read(t, s, "d/x"); got != "first" {
		t.Errorf("read %q", got)
	}
	// The name is free again once the object is gone.
	if err := s.Delete(t.Context(), "d/x"); err != nil {
		t.Fatal(err)
	}
	put(t, s, "d/x", "third")
}

func oneWinner(t *testing.T, s objects.Store) {
	const rounds, writers = 10, 16
	for round := range rounds {
		name := fmt.Sprintf("race/%d/log", round)
		var won atomic.Int32
		var winner atomic.Value
		start := make(chan struct{})
		var g sync.WaitGroup
		for i := range writers {
			g.Go(func() {
				<-start
				body := strings.Repeat(string(rune('a'+i)), 1000)
				switch _, err := objects.Put(t.Context(), s, name, []byte(body)); {
				case err == nil:
					won.Add(1)
					winner.Store(body)
				case !errors.Is(err, objects.ErrExists):
					t.Errorf("put = %v, want nil or ErrExists", err)
				}
			})
		}
		close(start)
		g.Wait()
		if n := won.Load(); n != 1 {
			t.Fatalf("%d of %d writers won", n, writers)
		}
		if got := read(t, s, name); got != winner.Load() {
			t.Fatalf("the object holds %.10q…, not what the winner wrote", got)
		}
	}
}

func wholeOrNothing(t *testing.T, s objects.Store) {
	const bytesEach = 1 << 20
	want := bytes.Repeat([]byte("x"), bytesEach)
	for i := range 5 {
		name := fmt.Sprintf("whole/%d", i)
		done := make(chan struct{})
		var g sync.WaitGroup
		g.Go(func() {
			defer close(done)
			w, err := s.Create(t.Context(), name)
			if err != nil {
				t.Error(err)
				return
			}
			defer w.Abort()
			for at := 0; at < bytesEach; at += 4096 {
				if _, err := w.Write(want[at : at+4096]); err != nil {
					t.Error(err)
					return
				}
			}
			if _, err := w.Commit(t.Context()); err != nil {
				t.Error(err)
			}
		})
		for open := true; open; {
			select {
			case <-done:
				open = false
			default:
			}
			b, err := objects.Read(t.Context(), s, name, 2*bytesEach)
			if errors.Is(err, objects.ErrNotFound) {
				continue
			}
			if err != nil || !bytes.Equal(b, want) {
				t.Errorf("read %d bytes, %v", len(b), err)
			}
		}
		g.Wait()
		if got := read(t, s, name); len(got) != bytesEach {
			t.Errorf("read %d bytes after the commit", len(got))
		}
	}
}

func abortLeavesNothing(t *testing.T, s objects.Store) {
	w, err := s.Create(t.Context(), "q/aborted")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "half"); err != nil {
		t.Fatal(err)
	}
	w.Abort()
	gone(t, s, "q/aborted")
	if got, err := s.List(t.Context(), "", "", 10); err != nil || len(got) != 0 {
		t.Errorf("List = %v, %v, want nothing", got, err)
	}
	put(t, s, "q/aborted", "now")
}

func abortAfterCommit(t *testing.T, s objects.Store) {
	w, err := s.Create(t.Context(), "kept")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Abort()
	if got := read(t, s, "kept"); got != "" {
		t.Errorf("read %q", got)
	}
}

func deleted(t *testing.T, s objects.Store) {
	put(t, s, "p/x", "bytes")
	put(t, s, "p/y", "other")
	r, err := s.Open(t.Context(), "p/x")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range 2 { // one that does not exist is no error
		if err := s.Delete(t.Context(), "p/x"); err != nil {
			t.Fatal(err)
		}
	}
	gone(t, s, "p/x")
	b := make([]byte, 5)
	if _, err := r.ReadAt(b, 0); err != nil && err != io.EOF || string(b) != "bytes" {
		t.Errorf("an open object reads %q, %v after its deletion", b, err)
	}
	if got := read(t, s, "p/y"); got != "other" {
		t.Errorf("its neighbour reads %q", got)
	}
	if err := s.Delete(t.Context(), "no/such/object"); err != nil {
		t.Errorf("Delete of nothing = %v", err)
	}
}

// listed has names whose order differs from that of a walk through folders.
var listed = []string{
	"a+b", "a-b", "a.b", "a/b", "a/b.c", "a/b/c", "a/c", "a0", "aB", "a_b", "ab", "ab/", "b/x/y/z", "b/x0", "z",
}

func fill(t *testing.T, s objects.Store) (names []string) {
	t.Helper()
	for _, name := range listed {
		if name == "a/b" || objects.CheckName(name) != nil {
			continue // a/b is a folder here, which a store need not have besides
		}
		put(t, s, name, "x")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func names(infos []objects.Info) (out []string) {
	for _, i := range infos {
		out = append(out, i.Name)
	}
	return out
}

func listOrder(t *testing.T, s objects.Store) {
	all := fill(t, s)
	for _, prefix := range []string{"", "a", "a/", "a/b", "a/b/", "a/b/c", "a/b/c/d", "ab", "b/x", "b/x/y", "none", "none/", "z"} {
		var want []string
		for _, n := range all {
			if strings.HasPrefix(n, prefix) {
				want = append(want, n)
			}
		}
		got, err := s.List(t.Context(), prefix, "", 100)
		if err != nil || !slices.Equal(names(got), want) {
			t.Errorf("List(%q) = %q, %v, want %q", prefix, names(got), err, want)
		}
	}
}

func listPages(t *testing.T, s objects.Store) {
	all := fill(t, s)
	for limit := 1; limit <= len(all)+1; limit++ {
		var got []string
		for after := ""; ; {
			page, err := s.List(t.Context(), "", after, limit)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, names(page)...)
			if len(page) < limit {
				break
			}
			after = page[len(page)-1].Name
		}
		if !slices.Equal(got, all) {
			t.Errorf("pages of %d give %q, want %q", limit, got, all)
		}
	}
	// A page may begin after a name that does not exist.
	for _, after := range []string{"a", "a/", "a/b", "a/bb", "a/b/zz", "aa", "b/x/y", "y", "zz"} {
		var want []string
		for _, n := range all {
			if n > after {
				want = append(want, n)
			}
		}
		if got, err := s.List(t.Context(), "", after, 100); err != nil || !slices.Equal(names(got), want) {
			t.Errorf("List after %q = %q, %v, want %q", after, names(got), err, want)
		}
	}
}

func listWhileCreating(t *testing.T, s objects.Store) {
	const n = 200
	var committed atomic.Int64
	var g sync.WaitGroup
	g.Go(func() {
		for i := range n {
			if _, err := objects.Put(t.Context(), s, fmt.Sprintf("log/%06d", i), []byte("x")); err != nil {
				t.Error(err)
				return
			}
			committed.Store(int64(i + 1))
		}
	})
	for last := false; !last; {
		before := committed.Load()
		last = before == n || t.Failed()
		got, err := s.List(t.Context(), "log/", "", 2*n)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(got)) < before {
			t.Fatalf("%d objects are listed after %d were committed", len(got), before)
		}
		for i, o := range got {
			if want := fmt.Sprintf("log/%06d", i); o.Name != want || o.Bytes != 1 {
				t.Fatalf("object %d is %+v, want %s", i, o, want)
			}
		}
	}
	g.Wait()
}

func badNames(t *testing.T, s objects.Store) {
	for _, name := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", ".hidden", "a/.hidden", "a\\b", "a\x00b", "a b", "ä", "a\nb",
		"-a", "a/-b", strings.Repeat("x", 256), strings.Repeat("x/", 600) + "x",
	} {
		if _, err := s.Create(t.Context(), name); fault.KindOf(err) != fault.Invalid {
			t.Errorf("Create(%.20q) = %v, want a fault.Invalid error", name, err)
		}
		if _, err := s.Open(t.Context(), name); fault.KindOf(err) != fault.Invalid {
			t.Errorf("Open(%.20q) = %v, want a fault.Invalid error", name, err)
		}
		if _, err := s.Stat(t.Context(), name); fault.KindOf(err) != fault.Invalid {
			t.Errorf("Stat(%.20q) = %v, want a fault.Invalid error", name, err)
		}
		if err := s.Delete(t.Context(), name); fault.KindOf(err) != fault.Invalid {
			t.Errorf("Delete(%.20q) = %v, want a fault.Invalid error", name, err)
		}
	}
	put(t, s, strings.Repeat("x", 255)+"/"+strings.Repeat("y", 255), "long")
}

func similarNames(t *testing.T, s objects.Store) {
	all := []string{"n/a", "n/A", "n/a.", "n/a_", "n/a%2F", "n/a=b", "n/a~", "n/a@b"}
	for _, name := range all {
		put(t, s, name, name)
	}
	for _, name := range all {
		if got := read(t, s, name); got != name {
			t.Errorf("%s reads %q", name, got)
		}
	}
	gone(t, s, "n/a/b") // below an object there is none
}

func largeObject(t *testing.T, s objects.Store) {
	const blocks, blockBytes = 40, 1 << 20
	w, err := s.Create(t.Context(), "large")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	block := make([]byte, blockBytes)
	for i := range blocks {
		for j := range block {
			block[j] = byte(i + j)
		}
		if _, err := w.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := w.Commit(t.Context()); err != nil || info.Bytes != blocks*blockBytes {
		t.Fatalf("Commit = %+v, %v", info, err)
	}
	r, err := s.Open(t.Context(), "large")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := range blocks {
		if _, err := r.ReadAt(block, int64(i*blockBytes)); err != nil && err != io.EOF {
			t.Fatal(err)
		}
		for j := range block {
			if block[j] != byte(i+j) {
				t.Fatalf("block %d differs at %d", i, j)
			}
		}
	}
}

func canceled(t *testing.T, s objects.Store) {
	put(t, s, "there", "x")
	w, err := s.Create(t.Context(), "late")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for call, err := range map[string]error{
		"Create": second(s.Create(ctx, "new")),
		"Open":   second(s.Open(ctx, "there")),
		"Stat":   second(s.Stat(ctx, "there")),
		"List":   second(s.List(ctx, "", "", 1)),
		"Delete": s.Delete(ctx, "there"),
		"Commit": second(w.Commit(ctx)),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s = %v, want context.Canceled", call, err)
		}
	}
	if got := read(t, s, "there"); got != "x" {
		t.Errorf("read %q", got)
	}
	gone(t, s, "late")
}

func second[T any](_ T, err error) error { return err }

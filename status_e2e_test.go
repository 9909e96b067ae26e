package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lakeward/lake/roles"
)

func TestE2EStatus(t *testing.T) {
	dir := t.TempDir()
	s := startDev(t, dir)
	mustLake(t, "load", sample, "--dir", dir, "--table", "demo.flights", "--create")
	var st statusJSON
	if err := json.Unmarshal([]byte(mustLake(t, "status", "--dir", dir, "--json")), &st); err != nil {
		t.Fatal(err)
	}
	if st.Version != version() || st.Lake == "" || st.Tables != 1 || st.PID != s.ready.PID || strings.Join(st.Roles, " ") != "query meta" {
		t.Errorf("%+v", st)
	}
	if out := mustLake(t, "status", "--uri", s.ready.Flight); !strings.Contains(out, st.Lake) || strings.Contains(out, "roles") {
		t.Errorf("by address: %s", out)
	}
	s.stop()
	if _, errs, code := lake(t, "status", "--uri", s.ready.Flight); code != exitUnavailable {
		t.Errorf("without a server: exit %d, %s", code, errs)
	}
}

// findings runs a command that reports, and returns its lines by check.
func findings(t *testing.T, code int, args ...string) map[string]finding {
	t.Helper()
	out, errs, got := lake(t, append(args, "--json")...)
	if got != code {
		t.Errorf("lake %s: exit %d, want %d\n%s%s", strings.Join(args, " "), got, code, out, errs)
	}
	var all []finding
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	by := map[string]finding{}
	for _, f := range all {
		by[f.Check] = f
	}
	return by
}

func TestE2EDoctor(t *testing.T) {
	dir := t.TempDir()
	s := startDev(t, dir)
	for check, f := range findings(t, 0, "doctor", "--dir", dir) {
		if f.Verdict != good && check != "free space" {
			t.Errorf("a server that runs: %+v", f)
		}
	}
	if out := mustLake(t, "doctor", "--dir", dir); !strings.Contains(out, "ok       links") {
		t.Errorf("as text:\n%s", out)
	}

	// The server is killed: its ready file is stale.
	s.kill()
	if f := findings(t, 0, "doctor", "--dir", dir)["ready file"]; f.Verdict != warning || !strings.Contains(f.Detail, "has ended") {
		t.Errorf("a killed server: %+v", f)
	}
	// Another process has its number now, which does not answer.
	ready, err := json.Marshal(roles.Ready{PID: os.Getpid(), Roles: []string{"query"}, Flight: s.ready.Flight})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "run", "ready.json"), ready, 0o600); err != nil {
		t.Fatal(err)
	}
	if f := findings(t, exitFailed, "doctor", "--dir", dir)["server"]; f.Verdict != failed || !strings.Contains(f.Detail, "does not answer") {
		t.Errorf("a server that does not answer: %+v", f)
	}
	// No lake at all is no failure.
	none := filepath.Join(t.TempDir(), "none")
	if f := findings(t, 0, "doctor", "--dir", none)["folders"]; f.Verdict != warning || !strings.Contains(f.Detail, "lake dev") {
		t.Errorf("no lake: %+v", f)
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("the folder was made")
	}
	left, err := filepath.Glob(filepath.Join(dir, "*", ".doctor*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestSpaceVerdict(t *testing.T) {
	for free, want := range map[int64]verdict{0: failed, spaceNone: warning, spaceLow: good} {
		if got, next := spaceVerdict(free); got != want || (next == "") != (want == good) {
			t.Errorf("%d bytes: %s%s, want %s", free, got, next, want)
		}
	}
}

func TestE2ESelftest(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	steps := []string{"server", "load", "replay", "sql", "types", "time travel"}
	none := filepath.Join(t.TempDir(), "none")
	by := findings(t, 0, "selftest", "--dir", none)
	for _, step := range steps {
		if by[step].Verdict != good {
			t.Errorf("of its own: %s: %+v", step, by[step])
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}

	dir := t.TempDir()
	s := startDev(t, dir)
	for range 2 {
		by = findings(t, 0, "selftest", "--dir", dir)
	}
	if f := by["left over"]; f.Verdict != good || !strings.Contains(f.Detail, "no drop") {
		t.Errorf("in a server that runs: %+v", by)
	}
	if tables, err := s.client().Tables(t.Context()); err != nil || len(tables) != 2 || !strings.HasPrefix(tables[0].Name, "selftest.") {
		t.Errorf("%v (%v)", tables, err)
	}
	s.stop()
	if _, errs, code := lake(t, "selftest", "--uri", s.ready.Flight); code != exitUnavailable || !strings.Contains(errs, "leave out --uri") {
		t.Errorf("a server that is gone: exit %d, %s", code, errs)
	}
}

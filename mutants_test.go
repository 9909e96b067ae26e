package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMutantRunner runs the mutants of a module made for it, one for each way
// in which a mutant can end.
func TestMutantRunner(t *testing.T) {
	root := t.TempDir()
	patch := func(must, test, from, to string) string {
		return "# must: " + must + "\n# test: " + test + "\n" +
			"--- a/add.go\n+++ b/add.go\n@@ -1,3 +1,3 @@\n package add\n \n-" + from + "\n+" + to + "\n"
	}
	const add = "func Add(a, b int) int { return a + b }"
	files := map[string]string{
		"go.mod": "module add\n\ngo 1.26\n",
		"add.go": "package add\n\n" + add + "\n",
		"add_test.go": `package add

import "testing"

func TestAdd(t *testing.T) {
	if Add(1, 2) != 3 {
		t.Error("wrong")
	}
}

func TestZero(t *testing.T) {
	if Add(0, 0) != 0 {
		t.Error("wrong")
	}
}

func TestRed(t *testing.T) { t.Error("always") }
`,
		"testdata/mutants/killed.patch":    patch("adds", "./ -run '^TestAdd$'", add, "func Add(a, b int) int { return a - b }"),
		"testdata/mutants/panics.patch":    patch("adds", "./ -run '^TestAdd$'", add, "func Add(a, b int) int { panic(a) }"),
		"testdata/mutants/survives.patch":  patch("adds", "./ -run '^TestZero$'", add, "func Add(a, b int) int { return a - b }"),
		"testdata/mutants/obsolete.patch":  patch("adds", "./ -run '^TestAdd$'", "func Sum(a, b int) int { return a + b }", "func Sum(a, b int) int { return 0 }"),
		"testdata/mutants/breaks.patch":    patch("adds", "./ -run '^TestAdd$'", add, "func Add(a, b int) int { return c }"),
		"testdata/mutants/testless.patch":  patch("adds", "./ -run '^TestSub$'", add, "func Add(a, b int) int { return a - b }"),
		"testdata/mutants/redbefore.patch": patch("adds", "./ -run '^TestRed$'", add, "func Add(a, b int) int { return a - b }"),
	}
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", root).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}

	out, err := exec.CommandContext(t.Context(), "go", "run", "testdata/mutants/run.go", "-root", root).CombinedOutput()
	if err == nil {
		t.Error("exit 0 although a mutant survived")
	}
	for name, want := range map[string]string{
		"killed":    "ok TestAdd noticed",
		"panics":    "ok TestAdd noticed",
		"survives":  "FAIL survived: the test passes with the patch too",
		"obsolete":  "FAIL patch does not apply",
		"breaks":    "FAIL does not compile",
		"testless":  "FAIL names no test",
		"redbefore": "FAIL its test fails without the patch",
	} {
		line := regexp.MustCompile(`(?m)^(ok  |FAIL)\tmutant ` + name + `\t[0-9.]+s\t(.*)$`).FindStringSubmatch(string(out))
		if line == nil {
			t.Errorf("no line for %s", name)
		} else if got := strings.TrimSpace(line[1]) + " " + line[2]; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if !strings.Contains(string(out), "\n2 passed, 5 failed\n") {
		t.Error("no closing count")
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != want {
			t.Errorf("%s was changed: %q (%v)", name, got, err)
		}
	}
	if t.Failed() {
		t.Logf("output:\n%s", out)
	}
}

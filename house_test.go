package main

import (
	"fmt"
	"go/ast"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// onlyIn names what belongs in few packages, and those. Tests may use all of it
// but what is in testsNeither.
var onlyIn = map[string]string{
	"time.Sleep":          "", // wait for a condition or a context instead
	"os.Exit":             ".",
	"os.Getenv":           "config",
	"os.LookupEnv":        "config",
	"os.Environ":          "config",
	"context.Background":  ". roles/*",
	"context.TODO":        "",
	"fmt.Print":           ".",
	"fmt.Printf":          ".",
	"fmt.Println":         ".",
	"log.Fatal":           "",
	"log.Fatalf":          "",
	"log.Fatalln":         "",
	"log.Panic":           "",
	"log.Panicf":          "",
	"log.Panicln":         "",
	"log.Print":           "",
	"log.Printf":          "",
	"log.Println":         "",
	"log/slog.SetDefault": "telemetry",
}

// testsNeither is what even a test may not use. A test sleeps in a bubble of
// testing/synctest only, where it costs no time.
var testsNeither = []string{"time.Sleep", "context.TODO"}

const linesMax = 900

// TestHouseRules holds the tree against the rules of how code is written.
func TestHouseRules(t *testing.T) {
	tree := readTree(t, os.DirFS("."))
	if len(tree.files) == 0 {
		t.Fatal("no Go file found: the test looks in the wrong place")
	}
	for _, r := range house {
		for _, f := range r.check(tree) {
			t.Errorf("%s: %s", r.name, f)
		}
	}
}

var house = []rule{
	{"only in", checkOnlyIn},
	{"init", checkInit},
	{"package comment", checkComments},
	{"length", checkLength},
}

// TestHouseRulesCatches plants one violation of each kind.
func TestHouseRulesCatches(t *testing.T) {
	const doc = "// Package p is p.\npackage p\n\n"
	imports := func(path, rest string) string { return fmt.Sprintf("import %q\n\n%s\n", path, rest) }
	for _, tt := range []struct {
		name  string
		rule  string
		files map[string]string
	}{
		{"a sleep", "only in", map[string]string{"meta/x.go": doc + imports("time", "func f() { time.Sleep(1) }")}},
		{"a sleep under another name", "only in", map[string]string{"meta/x.go": doc + "import clock \"time\"\n\nvar wait = clock.Sleep\n"}},
		{"a sleep in a test", "only in", map[string]string{"meta/x_test.go": "package p\n\n" + imports("time", "func f() { time.Sleep(1) }")}},
		{"a variable of the environment", "only in", map[string]string{"sdk/x.go": doc + imports("os", "var home = os.Getenv(\"HOME\")")}},
		{"a context without an end", "only in", map[string]string{"flight/control/x.go": doc + imports("context", "var ctx = context.Background()")}},
		{"a way out of the process", "only in", map[string]string{"sdk/x.go": doc + imports("os", "func f() { os.Exit(1) }")}},
		{"a default log", "only in", map[string]string{"sdk/x.go": doc + imports("log/slog", "func f() { slog.SetDefault(nil) }")}},
		{"init", "init", map[string]string{"meta/x.go": doc + "func init() {}\n"}},
		{"no package comment", "package comment", map[string]string{"meta/x.go": "package p\n"}},
		{"two package comments", "package comment", map[string]string{"meta/x.go": doc, "meta/y.go": doc}},
		{"a file too long", "length", map[string]string{"meta/x.go": doc + strings.Repeat("\n", linesMax)}},
		{"but not a sleep in a bubble", "", map[string]string{"meta/x_test.go": "package p\n\nimport (\n\t\"testing/synctest\"\n\t\"time\"\n)\n\nvar _ = synctest.Test\n\nfunc f() { time.Sleep(1) }\n"}},
		{"and not a variable in config", "", map[string]string{"config/x.go": doc + imports("os", "var home = os.Getenv(\"HOME\")")}},
	} {
		t.Run(tt.name, func(t *testing.T) { catches(t, house, tt.rule, tt.files) })
	}
}

func checkOnlyIn(t tree) (faults []string) {
	for _, f := range t.files {
		if ast.IsGenerated(f.File) {
			continue
		}
		bubble := slices.Contains(slices.Collect(maps.Values(f.imports)), "testing/synctest")
		ast.Inspect(f.File, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			name := f.qualified(e)
			where, listed := onlyIn[name]
			switch {
			case !listed, allowed(where, f.pkg):
			case f.test && !slices.Contains(testsNeither, name):
			case f.test && bubble && name == "time.Sleep":
			default:
				faults = append(faults, fmt.Sprintf("%s: %s belongs in %q only", t.at(n), name, where))
			}
			return true
		})
	}
	return faults
}

func checkInit(t tree) (faults []string) {
	for _, f := range t.files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" && !ast.IsGenerated(f.File) {
				faults = append(faults, t.at(fn)+": init hides wiring; construct it where it is used")
			}
		}
	}
	return faults
}

func checkComments(t tree) (faults []string) {
	comments := map[string]int{}
	for _, f := range t.files {
		if f.test || ast.IsGenerated(f.File) {
			continue
		}
		comments[f.pkg] += 0
		if f.Doc != nil {
			comments[f.pkg]++
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(comments)) {
		if n := comments[pkg]; n != 1 {
			faults = append(faults, fmt.Sprintf("%s has %d package comments, want 1", pkg, n))
		}
	}
	return faults
}

func checkLength(t tree) (faults []string) {
	for _, f := range t.files {
		if f.lines > linesMax && !ast.IsGenerated(f.File) {
			faults = append(faults, fmt.Sprintf("%s has %d lines, more than %d; it holds more than one noun", f.name, f.lines, linesMax))
		}
	}
	return faults
}

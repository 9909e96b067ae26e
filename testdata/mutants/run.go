//go:build ignore

// Run proves that tests notice what they are for: it breaks the code on purpose
// with one patch at a time, in copies of the tree, and demands that the test
// which the patch names turns red. The patches are testdata/mutants/*.patch;
// each begins with
//
//	# must: what the code does that the patch takes away
//	# test: ./package -run '^TestName$'
//
// A patch that does not apply, one that does not compile, and a test that does
// not pass without the patch are failures, as a mutant that survives is.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// testTimeout ends a test that a mutant makes hang.
const testTimeout = 2 * time.Minute

func main() {
	root := flag.String("root", ".", "of the module")
	parallel := flag.Int("p", 2, "mutants at once")
	flag.Parse()
	failed, err := run(*root, *parallel)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

// mutant is one patch.
type mutant struct {
	name, file string
	must       string
	pkg, tests string // the package and the expression that names the tests
}

func run(root string, parallel int) (failed int, err error) {
	mutants, err := load(filepath.Join(root, "testdata", "mutants"))
	if err != nil {
		return 0, err
	}
	work, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(work)

	queue := make(chan mutant, len(mutants))
	for _, m := range mutants {
		queue <- m
	}
	close(queue)
	errs := make(chan error, parallel)
	var mu sync.Mutex // guards failed and the output
	var wg sync.WaitGroup
	for i := range parallel {
		wg.Go(func() {
			tree := filepath.Join(work, fmt.Sprint(i))
			if err := copyTree(root, tree); err != nil {
				errs <- err
				return
			}
			for m := range queue {
				began := time.Now()
				verdict, err := try(tree, m)
				took := time.Since(began).Seconds()
				mu.Lock()
				if err != nil {
					failed++
					fmt.Printf("FAIL\tmutant %s\t%.2fs\t%v\n\tmust: %s\n\ttest: %s -run '%s'\n", m.name, took, err, m.must, m.pkg, m.tests)
				} else {
					fmt.Printf("ok  \tmutant %s\t%.2fs\t%s\n", m.name, took, verdict)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	close(errs)
	fmt.Printf("%d passed, %d failed\n", len(mutants)-failed, failed)
	return failed, <-errs
}

var testLine = regexp.MustCompile(`^(\./\S*) -run '([^']+)'$`)

func load(dir string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no patch in %s", dir)
	}
	slices.Sort(files)
	var out []mutant
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m := mutant{name: strings.TrimSuffix(filepath.Base(file), ".patch")}
		if m.file, err = filepath.Abs(file); err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if s, ok := strings.CutPrefix(line, "# must: "); ok {
				m.must = s
			}
			if s, ok := strings.CutPrefix(line, "# test: "); ok {
				p := testLine.FindStringSubmatch(s)
				if p == nil {
					return nil, fmt.Errorf("%s: write the test as: ./package -run '^TestName$'", file)
				}
				m.pkg, m.tests = p[1], p[2]
			}
			if strings.HasPrefix(line, "--- ") {
				break
			}
		}
		if m.must == "" || m.tests == "" {
			return nil, fmt.Errorf("%s: begin with \"# must: \" and \"# test: \" lines", file)
		}
		out = append(out, m)
	}
	return out, nil
}

// copyTree copies what git tracks or would add.
func copyTree(root, to string) error {
	c := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	c.Dir = root
	names, err := c.Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, but still in the index
		}
		if err != nil {
			return err
		}
		file := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// try reports in words how the mutant was killed.
func try(tree string, m mutant) (string, error) {
	before, err := test(tree, m)
	switch {
	case err != nil:
		return "", err
	case before.built && len(before.ran) == 0:
		return "", errors.New("names no test")
	case !before.built || before.failed != "":
		return "", fmt.Errorf("its test fails without the patch\n%s", before.output)
	}
	if err := apply(tree, m.file); err != nil {
		return "", err
	}
	after, err := test(tree, m)
	if err := errors.Join(err, apply(tree, m.file, "--reverse")); err != nil {
		return "", err
	}
	switch {
	case !after.built:
		return "", fmt.Errorf("does not compile\n%s", after.output)
	case after.failed == "":
		return "", errors.New("survived: the test passes with the patch too")
	}
	return after.failed + " noticed", nil
}

func apply(tree, patch string, args ...string) error {
	c := exec.Command("git", append(append([]string{"apply"}, args...), patch)...)
	c.Dir = tree
	c.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(tree))
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("patch does not apply: %s", bytes.TrimSpace(out))
	}
	return nil
}

// outcome is what a run of go test came to.
type outcome struct {
	built  bool
	ran    []string
	failed string // a top-level test that did, or ""
	output string
}

func test(tree string, m mutant) (outcome, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*testTimeout) // half for the compiler
	defer cancel()
	// Without the paths of the tree, its copies share one build cache.
	c := exec.CommandContext(ctx, "go", "test", "-trimpath", "-json", "-count=1", "-timeout="+testTimeout.String(), "-run", m.tests, m.pkg)
	c.Dir = tree
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if ctx.Err() != nil {
		return outcome{}, ctx.Err()
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return outcome{}, err
	}

	o := outcome{built: true}
	var text strings.Builder
	passed := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, len(out)+1)
	for lines.Scan() {
		var e struct{ Action, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		top := e.Test != "" && !strings.Contains(e.Test, "/")
		switch {
		case e.Action == "build-fail":
			o.built = false
		case e.Action == "build-output" || e.Action == "output":
			text.WriteString(e.Output)
		case e.Action == "run" && top:
			o.ran = append(o.ran, e.Test)
		case (e.Action == "pass" || e.Action == "skip") && top:
			passed[e.Test] = true
		}
	}
	if err != nil && len(o.ran) == 0 {
		o.built = false // the package is not there, or go test does not know the expression
	}
	for _, name := range o.ran {
		if !passed[name] && err != nil { // failed, or did not come to its end
			o.failed = name
		}
	}
	o.output = text.String() + stderr.String()
	return o, nil
}

//go:build ignore

// Slowest runs go test with the given arguments and prints what go test prints,
// then the slowest tests and every skipped one. It fails if a test fails, if
// the run takes longer than its budget, or if a test skips where none may.
//
//	go run .ci/slowest.go -budget 5m -- ./...
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// shown is how many of the slowest tests are printed.
const shown = 10

// event is one line of go test -json.
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64 // seconds
}

// result is one finished top-level test.
type result struct {
	pkg, test string
	seconds   float64
}

func main() {
	budget := flag.Duration("budget", 0, "fail a run that takes longer, 0 for any time")
	skips := flag.Bool("skips", os.Getenv("CI") == "", "let tests skip")
	flag.Parse()
	began := time.Now()
	finished, skipped, err := run(flag.Args())
	took := time.Since(began).Round(time.Second)

	slices.SortFunc(finished, func(a, b result) int { return cmp.Compare(b.seconds, a.seconds) })
	fmt.Printf("\n%d tests in %v; the slowest:\n", len(finished), took)
	for _, r := range finished[:min(shown, len(finished))] {
		fmt.Printf("%8.2fs  %s.%s\n", r.seconds, r.pkg, r.test)
	}
	failed := err != nil
	if err != nil {
		fmt.Printf("FAIL\tgo test: %v\n", err)
	}
	for _, s := range skipped {
		fmt.Printf("SKIP\t%s\n", s)
	}
	if len(skipped) > 0 && !*skips {
		fmt.Printf("FAIL\t%d tests skipped; here none may\n", len(skipped))
		failed = true
	}
	if *budget > 0 && took > *budget {
		fmt.Printf("FAIL\ttook %v, more than the budget of %v\n", took, *budget)
		failed = true
	}
	if failed {
		os.Exit(1)
	}
}

func run(args []string) (finished []result, skipped []string, err error) {
	c := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := c.Start(); err != nil {
		return nil, nil, err
	}
	held := map[string][]string{} // output of tests that have not passed
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 || err != nil && len(line) == 0 {
			break
		}
		var e event
		if json.Unmarshal(line, &e) != nil {
			os.Stdout.Write(line)
			continue
		}
		key := e.Package + "." + e.Test
		switch {
		case e.Action == "build-output":
			fmt.Print(e.Output)
		case e.Action == "output" && e.Test == "":
			if e.Output != "PASS\n" {
				fmt.Print(e.Output)
			}
		case e.Action == "output":
			if !strings.HasPrefix(e.Output, "=== ") {
				held[key] = append(held[key], e.Output)
			}
		case e.Test == "": // of the whole package; its output line says it
			if e.Action == "fail" {
				printUnfinished(held, e.Package)
			}
		case e.Action == "pass" || e.Action == "fail" || e.Action == "skip":
			if e.Action == "fail" {
				fmt.Print(strings.Join(held[key], ""))
			}
			if e.Action == "skip" {
				skipped = append(skipped, key+": "+strings.TrimSpace(strings.Join(held[key], " ")))
			}
			delete(held, key)
			if !strings.Contains(e.Test, "/") {
				finished = append(finished, result{e.Package, e.Test, e.Elapsed})
			}
		}
	}
	return finished, skipped, c.Wait()
}

// printUnfinished prints what tests wrote that a panic or a timeout ended.
func printUnfinished(held map[string][]string, pkg string) {
	for key, lines := range held {
		if strings.HasPrefix(key, pkg+".") {
			fmt.Print(strings.Join(lines, ""))
			delete(held, key)
		}
	}
}

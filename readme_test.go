package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lakeward/lake/config"
)

// TestE2EREADMECommands runs README.md as a reader does, from top to bottom:
// a block after <!-- serve --> in the background, each after <!-- run --> to
// its end, and what a run prints is the block after <!-- prints -->, where …
// stands for anything in a line. Only the port is another one.
func TestE2EREADMECommands(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	marked := blocks(string(page))
	if len(marked) < 3 || strings.Count(string(page), "\n<!-- ") != len(marked) {
		t.Fatalf("%d marked blocks: each of <!-- serve -->, <!-- run --> and <!-- prints --> stands right before its block", len(marked))
	}

	// The reader is at the root of the repository, but gets a lake of its own.
	dir := t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bin", "testdata"} {
		if err := os.Symlink(filepath.Join(here, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat("bin/lake"); err != nil {
		missing(t, "bin/lake is not there: make e2e builds it")
	}
	defaults, err := config.Load(nil, "", func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	var uri, printed string
	for _, b := range marked {
		switch b.mark {
		case "serve":
			args := strings.Fields(b.text)
			if args[0] != "bin/lake" {
				t.Fatalf("%q is not a command of lake", b.text)
			}
			args = append(args[1:], "--dir", filepath.Join(dir, "lake-data"), "--flight", "127.0.0.1:0")
			uri = startServer(t, args...).ready.Flight
		case "run":
			text := strings.ReplaceAll(b.text, "grpc://"+defaults.Query.Flight, uri)
			cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", text)
			if b.language == "python" {
				cmd = exec.CommandContext(t.Context(), python(t), "-c", text)
			}
			cmd.Dir = dir
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s%s", err, b.text, errs.Bytes())
			}
			printed = out.String()
		case "prints":
			if !matches(b.text, printed) {
				t.Errorf("README.md says that this is printed:\n%s\nbut it is:\n%s", b.text, printed)
			}
		}
	}
}

// block is a fenced block of a page and the mark before it.
type block struct{ mark, language, text string }

var markedBlock = regexp.MustCompile("(?ms)^<!-- (\\w+) -->\n```(\\w*)\n(.*?)^```$")

func blocks(page string) (out []block) {
	for _, m := range markedBlock.FindAllStringSubmatch(page, -1) {
		out = append(out, block{m[1], m[2], m[3]})
	}
	return out
}

// matches reports whether got is want, with … for any text within a line.
func matches(want, got string) bool {
	parts := strings.Split(want, "…")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	return regexp.MustCompile(`^` + strings.Join(parts, `[^\n]*`) + `$`).MatchString(got)
}

func TestREADMEBlocksAndOutput(t *testing.T) {
	got := blocks("text\n\n<!-- run -->\n```sh\na\nb\n```\n\n```sh\nnot run\n```\n\n<!-- prints -->\n```\nc\n```\n")
	if len(got) != 2 || got[0] != (block{"run", "sh", "a\nb\n"}) || got[1] != (block{"prints", "", "c\n"}) {
		t.Errorf("%q", got)
	}
	for _, tt := range []struct {
		want, got string
		ok        bool
	}{
		{"1 (row)\n", "1 (row)\n", true},
		{"in … s\n", "in 0.3 s\n", true},
		{"in … s\n", "in 0.3\n s\n", false},
		{"2\n", "3\n", false},
		{"2\n", "2\n3\n", false},
	} {
		if matches(tt.want, tt.got) != tt.ok {
			t.Errorf("%q and %q: want %v", tt.want, tt.got, tt.ok)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeward/lake/sdk"
)

// typing is a terminal at which everything was typed already.
type typing struct {
	io.Reader
	bytes.Buffer
}

func (t *typing) Read(p []byte) (int, error) { return t.Reader.Read(p) }

func knownTables() *completer {
	schema := func(names ...string) *arrow.Schema {
		var fields []arrow.Field
		for _, n := range names {
			fields = append(fields, column(n, arrow.PrimitiveTypes.Int64))
		}
		return arrow.NewSchema(fields, nil)
	}
	return &completer{tables: func(context.Context) ([]sdk.Table, error) {
		return []sdk.Table{
			{Name: "demo.flights", Schema: schema("delay", "destination", "Odd one")},
			{Name: "demo.planes", Schema: schema("desk")},
			{Name: "robots.runs", Schema: schema("id")},
		}, nil
	}}
}

func TestEditorReadsLines(t *testing.T) {
	h := &history{entries: []string{"SELECT 1;", "SELECT 2;"}}
	keys := "a\x7fb\r" + // backspace
		"\x1b[A\x1b[A\r" + // up, up
		"given up\x03" + // Ctrl-C
		"mid\x1b[D\x1b[Dx\r" + // left, left
		"\x1b[200~SELECT\r\t1;\x1b[201~\r" + // pasted, with a tab
		"\x04" // Ctrl-D
	e := newEditorOn(&typing{Reader: strings.NewReader(keys)}, h, func(line string, pos int) (string, int, []string) {
		t.Errorf("a pasted tab completes %q", line)
		return line, pos, nil
	})
	for _, want := range []string{"b", "SELECT 1;", "", "mxid", "SELECT", "\t1;", ""} {
		line, err := e.line(t.Context(), "lake> ")
		switch {
		case errors.Is(err, errInterrupted):
			if want != "" {
				t.Errorf("Ctrl-C where %q should be", want)
			}
		case errors.Is(err, io.EOF):
			if want != "" {
				t.Errorf("the end where %q should be", want)
			}
		case err != nil || line != want:
			t.Errorf("%q (%v), want %q", line, err, want)
		}
	}
	if len(h.entries) != 2 {
		t.Errorf("the editor added to the history: %q", h.entries)
	}
}

func TestComplete(t *testing.T) {
	c := knownTables()
	c.refresh(t.Context())
	for _, tt := range []struct {
		name, before, line string // the cursor is at |
		want               string
		choices            string
	}{
		{"a keyword in the case of its beginning", "", "sel|", "select |", ""},
		{"and in the other", "", "SEL|", "SELECT |", ""},
		{"a table", "", "SELECT 1 FROM demo.f|", "SELECT 1 FROM demo.flights |", ""},
		{"as far as it is clear", "", "FROM d|", "FROM d|", "date_trunc delay demo.flights demo.planes desc describe desk destination distinct"},
		{"what is typed already stays", "", "FROM demo.|", "FROM demo.|", "demo.flights demo.planes"},
		{"columns of the tables that are named", "", "SELECT de| FROM demo.flights", "SELECT de| FROM demo.flights", "delay demo.flights demo.planes desc describe destination"},
		{"also in an earlier line", "SELECT 1 FROM demo.planes", "WHERE desk|", "WHERE desk |", ""},
		{"a column of a table", "", "SELECT flights.des| FROM demo.flights", "SELECT flights.destination| FROM demo.flights", ""},
		{"a name that needs quotes is not guessed", "", "SELECT Odd| FROM demo.flights", "SELECT Odd| FROM demo.flights", ""},
		{"a command", "", `\ti|`, `\timing |`, ""},
		{"its table", "", `\d rob|`, `\d robots.runs |`, ""},
		{"its format", "", `\format nd|`, `\format ndjson |`, ""},
		{"nothing fits", "", "zzz|", "zzz|", ""},
		{"letters of more than a byte", "", "SELECT 'ö' AS größe, sel|", "SELECT 'ö' AS größe, select |", ""},
	} {
		pos := strings.IndexByte(tt.line, '|')
		line, pos, choices := c.complete(tt.before, tt.line[:pos]+tt.line[pos+1:], pos)
		if got := line[:pos] + "|" + line[pos:]; got != tt.want || strings.Join(choices, " ") != tt.choices {
			t.Errorf("%s: %q and %q, want %q and %q", tt.name, got, choices, tt.want, tt.choices)
		}
	}
}

func TestCompleteKeepsWhatIsKnownWithoutAServer(t *testing.T) {
	c := knownTables()
	c.refresh(t.Context())
	c.tables = func(context.Context) ([]sdk.Table, error) { return nil, errors.New("gone") }
	c.asked = c.asked.Add(-completeFresh)
	c.refresh(t.Context())
	if len(c.known) != 3 {
		t.Errorf("%d tables are known", len(c.known))
	}
}

func TestHistoryIsKeptBoundedAndPrivate(t *testing.T) {
	environ := func(name string) (string, bool) {
		return map[string]string{"XDG_STATE_HOME": filepath.Join(t.TempDir(), "state")}[name], name == "XDG_STATE_HOME"
	}
	file := historyFile(environ)
	h := openHistory(file)
	h.enter([]string{"SELECT", "  1;"})
	h.enter([]string{"SELECT", "  1;"}) // again: once is enough
	h.enter([]string{"SELECT 1 -- one", "+ 2;"})
	h.enter([]string{"SELECT 'a", "b';"})
	h.enter([]string{strings.Repeat("x", historyEntryMax+1)})
	h.enter([]string{"\x1b[2J"})
	want := []string{"SELECT   1;", "SELECT 1 -- one", "+ 2;", "SELECT 'a", "b';"}
	if !slices.Equal(h.entries, want) {
		t.Errorf("%q, want %q", h.entries, want)
	}
	if err := h.save(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v (%v)", info, err)
	}
	h = openHistory(file)
	if !slices.Equal(h.entries, want) {
		t.Errorf("%q is read back, want %q", h.entries, want)
	}
	for i := range historyMax {
		h.enter([]string{fmt.Sprintf("SELECT %d;", i)})
	}
	if len(h.entries) != historyMax || h.entries[0] != "SELECT 0;" {
		t.Errorf("%d entries from %q", len(h.entries), h.entries[0])
	}
	if err := (&history{}).save(); err != nil || historyFile(func(string) (string, bool) { return "", false }) != "" {
		t.Errorf("without a place: %v", err)
	}
}

func TestPagerHoldsUntilTheScreenIsFull(t *testing.T) {
	for _, tt := range []struct {
		height int
		lines  int
		want   string
	}{
		{3, 2, "line\nline\n"},
		{3, 4, "1\tline\n2\tline\n3\tline\n4\tline\n"},
		{0, 4, "line\nline\nline\nline\n"},
	} {
		var out bytes.Buffer
		p := &pager{to: &out, height: tt.height, command: `awk '{print NR "\t" $0}'`}
		for range tt.lines {
			if _, err := io.WriteString(p, "line\n"); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.end(); err != nil || out.String() != tt.want {
			t.Errorf("%d lines on %d: %q (%v), want %q", tt.lines, tt.height, out.String(), err, tt.want)
		}
	}
}

// Who leaves the pager has seen enough, which is no error.
func TestPagerThatIsLeft(t *testing.T) {
	p := &pager{to: io.Discard, height: 1, command: "exit 0"}
	var err error
	for err == nil {
		_, err = p.Write(bytes.Repeat([]byte("line\n"), 1000))
	}
	if !left(err) || p.end() != nil {
		t.Errorf("%v", err)
	}
}

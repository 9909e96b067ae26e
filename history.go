package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Bounds of the history: entries, and the length of one in letters, which is
// what a line can be edited to.
const (
	historyMax      = 1000
	historyEntryMax = 4096
)

// A history is the lines that were entered, the newest last. Its file is the
// user's alone.
type history struct {
	file    string // empty: none is kept
	entries []string
}

// historyFile is where the history is kept, or "" if the user has no place.
func historyFile(environ func(string) (string, bool)) string {
	if dir, ok := environ("XDG_STATE_HOME"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "lake", "history")
	}
	if home, ok := environ("HOME"); ok && filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "lake", "history")
	}
	return ""
}

// openHistory reads what there is. A history that cannot be read begins anew.
func openHistory(file string) *history {
	h := &history{file: file}
	f, err := os.Open(file)
	if err != nil {
		return h
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, historyEntryMax*utf8.UTFMax)
	for lines.Scan() {
		h.remember(lines.Text())
	}
	return h
}

func (h *history) remember(entry string) {
	if entry == "" || !utf8.ValidString(entry) || utf8.RuneCountInString(entry) > historyEntryMax || clean(entry) != entry {
		return
	}
	if n := len(h.entries); n > 0 && h.entries[n-1] == entry {
		return
	}
	if h.entries = append(h.entries, entry); len(h.entries) > historyMax {
		h.entries = append(h.entries[:0], h.entries[1:]...)
	}
}

// enter adds the lines of a statement: as one entry if they can be one line.
func (h *history) enter(lines []string) {
	one := true
	var s splitter
	for i, line := range lines {
		if _, err := s.add(line + "\n"); err != nil {
			return
		}
		one = one && (i == len(lines)-1 || s.in == plain || s.in == blockComment) && !strings.Contains(line, "--")
	}
	if one {
		lines = []string{strings.Join(lines, " ")}
	}
	for _, line := range lines {
		h.remember(strings.TrimSpace(line))
	}
}

// save keeps the history, which another shell may have replaced meanwhile.
func (h *history) save() error {
	if h.file == "" || len(h.entries) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(h.file), 0o700); err != nil {
		return err
	}
	return writeWhole(h.file, 0o600, []byte(strings.Join(h.entries, "\n")+"\n"))
}

// editorHistory is the history as the line editor sees it, which adds nothing:
// the shell enters what it took.
type editorHistory struct{ *history }

func (editorHistory) Add(string) {}

func (h editorHistory) Len() int { return len(h.entries) }

func (h editorHistory) At(i int) string { return h.entries[len(h.entries)-1-i] }

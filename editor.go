package main

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/lakeward/lake/fault"
)

// errInterrupted says that the line was given up with Ctrl-C.
var errInterrupted = fault.New(fault.Canceled, "interrupted")

// An editor reads lines from a terminal.
type editor struct {
	t           *term.Terminal
	raw         func() (restore func(), err error)
	size        func() (width, height int)
	interrupted bool
}

// complete returns what a line becomes at a tab, and what could follow if that
// is not clear.
type complete func(line string, pos int) (newLine string, newPos int, choices []string)

// newEditor returns an editor of the terminal that two files are.
func newEditor(in, out *os.File, h *history, c complete) *editor {
	e := newEditorOn(struct {
		io.Reader
		io.Writer
	}{in, out}, h, c)
	e.raw = func() (func(), error) {
		was, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return nil, err
		}
		e.t.SetBracketedPasteMode(true)
		return func() {
			e.t.SetBracketedPasteMode(false)
			_ = term.Restore(int(in.Fd()), was) // there is nothing else to try
		}, nil
	}
	e.size = func() (int, int) {
		w, h, err := term.GetSize(int(out.Fd()))
		if err != nil {
			return 0, 0
		}
		return w, h
	}
	return e
}

// newEditorOn returns an editor of anything that sends keys and takes text.
func newEditorOn(rw io.ReadWriter, h *history, c complete) *editor {
	e := &editor{
		raw:  func() (func(), error) { return func() {}, nil },
		size: func() (int, int) { return 0, 0 },
	}
	e.t = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{&keys{r: rw}, rw}, "")
	e.t.History = editorHistory{h}
	e.t.AutoCompleteCallback = func(line string, pos int, key rune) (string, int, bool) {
		switch key {
		case keyInterrupt:
			e.interrupted = true
			return line + "^C", len(line) + 2, true
		case '\t':
			newLine, newPos, choices := c(line, pos)
			if len(choices) > 0 {
				_, _ = e.t.Write(columns(choices, e.width())) // the next write fails too
			}
			return newLine, newPos, true
		}
		return "", 0, false
	}
	return e
}

func (e *editor) width() int {
	w, _ := e.size()
	return w
}

// line reads a line. It is io.EOF at Ctrl-D, and errInterrupted at Ctrl-C.
func (e *editor) line(ctx context.Context, prompt string) (string, error) {
	restore, err := e.raw()
	if err != nil {
		return "", err
	}
	defer restore()
	if w, h := e.size(); w > 0 && h > 0 {
		if err := e.t.SetSize(w, h); err != nil {
			return "", err
		}
	}
	e.t.SetPrompt(prompt)
	e.interrupted = false
	type read struct {
		line string
		err  error
	}
	got := make(chan read, 1)
	go func() {
		line, err := e.t.ReadLine()
		got <- read{line, err}
	}()
	select {
	case r := <-got:
		switch {
		case errors.Is(r.err, term.ErrPasteIndicator):
			r.err = nil
		case r.err == nil && e.interrupted:
			r.err = errInterrupted
		}
		return r.line, r.err
	case <-ctx.Done():
		// The read goes on until there is a key, or the process ends.
		return "", ctx.Err()
	}
}

// keyInterrupt is what Ctrl-C becomes for the editor, which would end at it.
const keyInterrupt = 0x1f

// keys sends Ctrl-C as keyInterrupt and Enter.
type keys struct {
	r    io.Reader
	next []byte
}

func (k *keys) Read(p []byte) (int, error) {
	if len(k.next) == 0 {
		b := make([]byte, max(1, len(p)/2))
		n, err := k.r.Read(b)
		for _, c := range b[:n] {
			if c == 3 {
				k.next = append(k.next, keyInterrupt, '\r')
			} else {
				k.next = append(k.next, c)
			}
		}
		if len(k.next) == 0 {
			return 0, err
		}
	}
	n := copy(p, k.next)
	k.next = k.next[n:]
	return n, nil
}

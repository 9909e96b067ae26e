package main

import (
	"strings"

	"github.com/lakeward/lake/fault"
)

// statementBytesMax bounds one statement of a script. The server's bound is
// lower; this one keeps a file that is no script from filling the memory.
const statementBytesMax = 1 << 20

// spaces is what SQL takes for space between words.
const spaces = " \t\n\r\v\f"

// A statement is one of a script.
type statement struct {
	text string // without the semicolon, and without space around it
	line int    // that it begins in, from 1
}

// A splitter cuts SQL text, given line by line, at the semicolons that are
// outside of quotes and comments. The zero value is ready.
type splitter struct {
	text  strings.Builder // of the statement that is not over
	lines int             // given so far
	line  int             // where that statement's first word is; 0: none yet
	in    scope
	depth int    // of nested block comments
	tag   string // that ends a dollar quote, as $tag$
}

// A scope is what a piece of SQL text is part of.
type scope uint8

// The scopes. The zero value is plain text.
const (
	plain scope = iota
	singleQuoted
	escapeQuoted // E'…', where a backslash escapes
	doubleQuoted
	dollarQuoted
	lineComment
	blockComment
)

// add takes a line, with or without its newline, and returns the statements
// that end in it.
func (s *splitter) add(line string) (done []statement, err error) {
	if s.text.Len()+len(line) > statementBytesMax {
		return nil, fault.Newf(fault.Exhausted, "a statement is longer than %d bytes; split it, or end it with a semicolon", statementBytesMax)
	}
	s.lines++
	if s.in == lineComment {
		s.in = plain
	}
	from := 0
	for i := 0; i < len(line); {
		n := s.step(line, i)
		if s.in == plain && line[i] == ';' && n == 1 {
			s.text.WriteString(line[from:i])
			if st, ok := s.end(); ok {
				done = append(done, st)
			}
			from = i + 1
		}
		i += n
	}
	s.text.WriteString(line[from:])
	return done, nil
}

// end returns the statement that is over, if it has a word.
func (s *splitter) end() (statement, bool) {
	st := statement{strings.Trim(s.text.String(), spaces), s.line}
	ok := s.line > 0
	s.text.Reset()
	s.line, s.in, s.depth = 0, plain, 0
	return st, ok
}

// step looks at what begins at i and returns its length.
func (s *splitter) step(line string, i int) int {
	c, rest := line[i], line[i:]
	switch s.in {
	case plain:
		return s.open(line, i)
	case lineComment:
		if c == '\n' || c == '\r' {
			s.in = plain
		}
	case blockComment:
		switch {
		case strings.HasPrefix(rest, "/*"):
			s.depth++
			return 2
		case strings.HasPrefix(rest, "*/"):
			if s.depth--; s.depth == 0 {
				s.in = plain
			}
			return 2
		}
	case singleQuoted, doubleQuoted, escapeQuoted:
		quote := byte('\'')
		if s.in == doubleQuoted {
			quote = '"'
		}
		switch {
		case c == '\\' && s.in == escapeQuoted && len(rest) > 1:
			return 2
		case c == quote && len(rest) > 1 && rest[1] == quote:
			return 2
		case c == quote:
			s.in = plain
		}
	case dollarQuoted:
		if strings.HasPrefix(rest, s.tag) {
			s.in = plain
			return len(s.tag)
		}
	}
	return 1
}

// open looks at plain text at i: what it begins, and how long that is.
func (s *splitter) open(line string, i int) int {
	c, rest := line[i], line[i:]
	switch {
	case strings.HasPrefix(rest, "--"):
		s.in = lineComment
		return 2
	case strings.HasPrefix(rest, "/*"):
		s.in, s.depth = blockComment, 1
		return 2
	case c == ';' || strings.IndexByte(spaces, c) >= 0:
		return 1
	}
	if s.line == 0 {
		s.line = s.lines
	}
	switch {
	case c == '\'':
		s.in = singleQuoted
		if i > 0 && (line[i-1] == 'e' || line[i-1] == 'E') && (i == 1 || !wordByte(line[i-2])) {
			s.in = escapeQuoted
		}
	case c == '"':
		s.in = doubleQuoted
	case c == '$' && (i == 0 || !wordByte(line[i-1])):
		if tag := dollarTag(rest); tag != "" {
			s.in, s.tag = dollarQuoted, tag
			return len(tag)
		}
	}
	return 1
}

// dollarTag returns the $tag$ that text begins with, or "".
func dollarTag(text string) string {
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '$':
			return text[:i+1]
		case !wordByte(c) || i == 1 && c >= '0' && c <= '9':
			return ""
		}
	}
	return ""
}

// wordByte says whether c can be part of a name.
func wordByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}

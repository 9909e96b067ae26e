package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/lakeward/lake/fault"
)

// split returns the statements of a text, and what is left at its end.
func split(t testing.TB, text string) (done []statement, rest statement, open bool) {
	t.Helper()
	var s splitter
	for line := range strings.Lines(text) {
		more, err := s.add(line)
		if err != nil {
			t.Fatal(err)
		}
		done = append(done, more...)
	}
	unquoted := s.in == plain || s.in == lineComment
	rest, _ = s.end()
	return done, rest, !unquoted
}

func TestSplitter(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []statement
		rest       string
		open       bool
	}{
		{"nothing", " \n\t;;\n", nil, "", false},
		{"two on a line", "SELECT 1; SELECT 2;", []statement{{"SELECT 1", 1}, {"SELECT 2", 1}}, "", false},
		{"the last needs no semicolon", "SELECT 1;\nSELECT 2", []statement{{"SELECT 1", 1}}, "SELECT 2", false},
		{"over lines", "SELECT\n 1\n;", []statement{{"SELECT\n 1", 1}}, "", false},
		{"the line is that of the first word", "\n-- first\n\nSELECT 1;", []statement{{"-- first\n\nSELECT 1", 4}}, "", false},
		{"in a text", "SELECT 'a;''b;';", []statement{{"SELECT 'a;''b;'", 1}}, "", false},
		{"a backslash is a letter", `SELECT 'a\'; SELECT 2;`, []statement{{`SELECT 'a\'`, 1}, {"SELECT 2", 1}}, "", false},
		{"a backslash escapes after E", `SELECT E'a\';b'; SELECT 2;`, []statement{{`SELECT E'a\';b'`, 1}, {"SELECT 2", 1}}, "", false},
		{"a name that ends in e is no E", `SELECT size'a\'; SELECT 2;`, []statement{{`SELECT size'a\'`, 1}, {"SELECT 2", 1}}, "", false},
		{"in a name", `SELECT 1 AS "a;""b;";`, []statement{{`SELECT 1 AS "a;""b;"`, 1}}, "", false},
		{"in a comment", "SELECT 1 -- a; 'b\n;", []statement{{"SELECT 1 -- a; 'b", 1}}, "", false},
		{"in a block comment", "SELECT /* a; /* 'b; */ ; */ 1;", []statement{{"SELECT /* a; /* 'b; */ ; */ 1", 1}}, "", false},
		{"comments alone are no statement", "-- a\n/* b */;\n-- c", nil, "-- c", false},
		{"in a dollar quote", "SELECT $$a;'b$$; SELECT 2;", []statement{{"SELECT $$a;'b$$", 1}, {"SELECT 2", 1}}, "", false},
		{"in a tagged dollar quote", "SELECT $x$a;$$;\n$x$; SELECT 2;", []statement{{"SELECT $x$a;$$;\n$x$", 1}, {"SELECT 2", 2}}, "", false},
		{"a parameter is no quote", "SELECT $1, $2; SELECT $name;", []statement{{"SELECT $1, $2", 1}, {"SELECT $name", 1}}, "", false},
		{"a dollar in a name is no quote", "SELECT a$b$c; SELECT 2;", []statement{{"SELECT a$b$c", 1}, {"SELECT 2", 1}}, "", false},
		{"an open quote", "SELECT 'a;\n;", nil, "SELECT 'a;\n;", true},
		{"an open comment", "SELECT 1 /* ;", nil, "SELECT 1 /* ;", true},
		{"two minus signs are a comment", "SELECT 1--1;\n;", []statement{{"SELECT 1--1;", 1}}, "", false},
		{"an arrow is none", "SELECT a->'b;' - -1;", []statement{{"SELECT a->'b;' - -1", 1}}, "", false},
		{"line ends of Windows", "SELECT 1; -- a;\r\nSELECT 2;\r\n", []statement{{"SELECT 1", 1}, {"-- a;\r\nSELECT 2", 2}}, "", false},
	} {
		got, rest, open := split(t, tt.text)
		if !slices.Equal(got, tt.want) || rest.text != tt.rest || open != tt.open {
			t.Errorf("%s: %+v, then %q (in a quote: %v), want %+v, then %q (%v)", tt.name, got, rest.text, open, tt.want, tt.rest, tt.open)
		}
	}
}

func TestSplitterIsBounded(t *testing.T) {
	var s splitter
	line := strings.Repeat("x", statementBytesMax/4)
	for range 4 {
		if _, err := s.add(line); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.add("x"); fault.KindOf(err) != fault.Exhausted {
		t.Errorf("a statement over the bound: %v", err)
	}
}

// FuzzSplitter checks that nothing but semicolons gets lost, and that what was
// split is one statement.
func FuzzSplitter(f *testing.F) {
	f.Add("SELECT 1; SELECT 'a;' -- x;\n; /* ; */ $a$;$a$")
	f.Add("E'\\';' \"a\"\";\" $$;$$ $1;\r;")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > statementBytesMax/2 {
			t.Skip()
		}
		done, rest, _ := split(t, text)
		n := len(rest.text)
		for i, st := range done {
			n += len(st.text)
			if i > 0 && st.line < done[i-1].line {
				t.Errorf("statement %d begins in line %d, the one before in line %d", i, st.line, done[i-1].line)
			}
			again, left, _ := split(t, st.text+"\n;")
			if len(again) != 1 || again[0].text != st.text || left.text != "" {
				t.Errorf("%q is split into %+v and %q", st.text, again, left.text)
			}
		}
		if n > len(text) {
			t.Errorf("%d bytes came of %d", n, len(text))
		}
	})
}

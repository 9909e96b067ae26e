package main

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/text/width"
)

// Bounds of a printed table: rows that are looked at for the widths of the
// columns, the widest column, and the narrowest that one is cut to.
const (
	tableLookahead = 1000
	cellWidthMax   = 60
	cellWidthMin   = 6
)

// Escapes that make a null stand out.
const (
	dim        = "\x1b[2m"
	plainAgain = "\x1b[0m"
)

// A gridCell is a text of a table. A text NULL has quotes, a null has none.
type gridCell struct {
	text string // at most cellWidthMax wide
	null bool
}

func newCell(a arrow.Array, i int) gridCell {
	if isNull(a, i) {
		return gridCell{"NULL", true}
	}
	text := cell(a, i)
	if text == "NULL" {
		text = `"NULL"`
	}
	return gridCell{text: clip(clean(text), cellWidthMax)}
}

// A grid prints aligned columns. Widths are those of the first rows, so that a
// long result streams. If the columns cannot be made to fit the width, each row
// is printed as lines of its own.
type grid struct {
	p      printer
	names  []gridCell
	right  []bool
	widths []int
	cut    bool // to the widths, so that lines fit
	tall   bool // a line for each value
	rows   int64
}

func (p printer) table(rows result) (int64, error) {
	fields := rows.Schema().Fields()
	g := &grid{p: p, right: make([]bool, len(fields))}
	for i, f := range fields {
		g.names = append(g.names, gridCell{text: clip(clean(f.Name), cellWidthMax)})
		g.right[i] = arrow.IsInteger(f.Type.ID()) || arrow.IsFloating(f.Type.ID()) || arrow.IsDecimal(f.Type.ID())
	}
	var first [][]gridCell
	for batch, err := range rows.Batches() {
		if err != nil {
			return g.rows, err
		}
		for r := range int(batch.NumRows()) {
			row := make([]gridCell, len(fields))
			for c := range fields {
				row[c] = newCell(batch.Column(c), r)
			}
			if g.widths != nil {
				if err := g.print(row); err != nil {
					return g.rows, err
				}
			} else if first = append(first, row); len(first) == tableLookahead {
				if err := g.begin(first); err != nil {
					return g.rows, err
				}
				first = nil
			}
		}
	}
	if g.widths == nil {
		if err := g.begin(first); err != nil {
			return g.rows, err
		}
	}
	what := "rows"
	if g.rows == 1 {
		what = "row"
	}
	_, err := fmt.Fprintf(p.out, "(%d %s)\n", g.rows, what)
	return g.rows, err
}

// begin decides on the widths and prints the first rows.
func (g *grid) begin(first [][]gridCell) error {
	g.widths = make([]int, len(g.names))
	for c, n := range g.names {
		g.widths[c] = textWidth(n.text)
		for _, row := range first {
			g.widths[c] = max(g.widths[c], textWidth(row[c].text))
		}
	}
	if g.p.width > 0 {
		g.cut = true
		g.tall = !fit(g.widths, g.p.width-2*(len(g.widths)-1))
	}
	if !g.tall {
		rule := make([]gridCell, len(g.names))
		for c, w := range g.widths {
			rule[c].text = strings.Repeat("─", w)
		}
		for _, row := range [][]gridCell{g.names, rule} {
			if err := g.line(row); err != nil {
				return err
			}
		}
	}
	for _, row := range first {
		if err := g.print(row); err != nil {
			return err
		}
	}
	return nil
}

// fit narrows the widest columns until all of them together have room, and
// reports whether that is possible.
func fit(widths []int, room int) bool {
	for limit := cellWidthMax; limit >= cellWidthMin; limit-- {
		sum := 0
		for _, w := range widths {
			sum += min(w, limit)
		}
		if sum <= room {
			for c, w := range widths {
				widths[c] = min(w, limit)
			}
			return true
		}
	}
	return false
}

func (g *grid) print(row []gridCell) error {
	g.rows++
	if !g.tall {
		return g.line(row)
	}
	fmt.Fprintf(g.p.out, "─ row %d\n", g.rows)
	names := 0
	for _, n := range g.names {
		names = max(names, textWidth(n.text))
	}
	names = min(names, max(cellWidthMin, g.p.width/2))
	for c, v := range row {
		name := clip(g.names[c].text, names)
		text := clip(v.text, max(cellWidthMin, g.p.width-names-3))
		if _, err := g.p.out.WriteString(name + pad(name, names) + " │ " + g.styled(gridCell{text, v.null}) + "\n"); err != nil {
			return err
		}
	}
	return nil
}

func (g *grid) line(row []gridCell) error {
	for c, v := range row {
		if c > 0 {
			g.p.out.WriteString("  ")
		}
		if g.cut {
			v.text = clip(v.text, g.widths[c])
		}
		space, text := pad(v.text, g.widths[c]), g.styled(v)
		switch {
		case g.right[c]:
			g.p.out.WriteString(space + text)
		case c == len(row)-1:
			g.p.out.WriteString(text)
		default:
			g.p.out.WriteString(text + space)
		}
	}
	return g.p.out.WriteByte('\n')
}

func (g *grid) styled(v gridCell) string {
	if v.null && g.p.color {
		return dim + v.text + plainAgain
	}
	return v.text
}

func pad(text string, to int) string { return strings.Repeat(" ", max(0, to-textWidth(text))) }

// runeWidth is how many cells of a terminal a letter takes.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

func textWidth(text string) (n int) {
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

// clip cuts a text to a width; what is cut ends in an ellipsis.
func clip(text string, to int) string {
	n, end := 0, 0
	for i, r := range text {
		w := runeWidth(r)
		if n+w > to {
			return text[:end] + "…"
		}
		if n += w; n < to {
			end = i + len(string(r))
		}
	}
	return text
}

// clean keeps a cell on its line and from commanding the terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '�'
		}
		return r
	}, s)
}

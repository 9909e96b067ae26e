package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/lakeward/lake/sdk"
)

// Bounds of completion: tables whose names are known, names that are shown,
// how long they are taken for true, and how long a tab may take.
const (
	completeTablesMax = 5000
	completeShownMax  = 100
	completeFresh     = 15 * time.Second
	completeWait      = 2 * time.Second
)

// keywords are the words of SQL that are completed.
var keywords = strings.Fields(`
	ALL AND ANTI ANY AS ASC ASOF BETWEEN BY CASE CAST CROSS CUBE DESC DESCRIBE DISTINCT ELSE END EXCEPT EXCLUDE EXISTS
	EXPLAIN FALSE FETCH FILTER FIRST FOLLOWING FROM FULL GROUP GROUPING HAVING ILIKE IN INNER INTERSECT INTERVAL IS JOIN
	LAST LATERAL LEFT LIKE LIMIT NATURAL NOT NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PIVOT POSITIONAL PRECEDING
	QUALIFY RANGE RECURSIVE REPLACE RIGHT ROLLUP ROWS SAMPLE SELECT SEMI SHOW SUMMARIZE TABLES THEN TIMESTAMP TRUE
	UNBOUNDED UNION UNPIVOT USING VALUES WHEN WHERE WINDOW WITH
	array_agg avg coalesce count date_trunc first last list max median min quantile_cont round stddev sum`)

// A completer knows what words can follow.
type completer struct {
	tables func(context.Context) ([]sdk.Table, error)

	known []sdk.Table
	asked time.Time
}

// refresh asks for the tables unless that was a moment ago. Without an answer,
// what was known stays.
func (c *completer) refresh(ctx context.Context) {
	if time.Since(c.asked) < completeFresh {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, completeWait)
	defer cancel()
	if tables, err := c.tables(ctx); err == nil {
		c.known = tables[:min(len(tables), completeTablesMax)]
	}
	c.asked = time.Now()
}

// complete completes the word before pos. before is the lines that the
// statement has already.
func (c *completer) complete(before, line string, pos int) (string, int, []string) {
	from := pos
	for from > 0 && (wordByte(line[from-1]) || line[from-1] == '.' || line[from-1] == '\\') {
		from--
	}
	word := line[from:pos]
	found := c.candidates(before+" "+line[:from]+" "+line[pos:], line[:from], word)
	if len(found) == 0 {
		return line, pos, nil
	}
	common := found[0]
	for _, f := range found {
		for !strings.HasPrefix(f, common) {
			common = common[:len(common)-1]
		}
	}
	switch {
	case len(found) > 1 && len(common) <= len(word):
		return line, pos, found[:min(len(found), completeShownMax)]
	case len(found) == 1 && !strings.HasPrefix(line[pos:], " "):
		common += " "
	}
	return line[:from] + common + line[pos:], from + len(common), nil
}

// candidates are the words that begin with word, in order.
func (c *completer) candidates(statement, before, word string) (out []string) {
	add := func(name string) {
		if len(name) >= len(word) && strings.EqualFold(name[:len(word)], word) {
			out = append(out, name)
		}
	}
	command := strings.HasPrefix(strings.TrimSpace(before+word), `\`)
	switch {
	case command && strings.TrimSpace(before) == "":
		for _, k := range shellCommands {
			add(k.name)
		}
	case command && strings.TrimSpace(before) == `\format`:
		for _, f := range formats {
			if !binary(f) {
				add(f)
			}
		}
	default:
		if !command {
			c.words(statement, word, add)
		}
		for _, t := range c.known {
			add(t.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// words adds keywords, in the case of what was typed, and columns: those of the
// tables that the statement names, or of all.
func (c *completer) words(statement, word string, add func(string)) {
	if word == "" {
		return // everything could follow
	}
	for _, k := range keywords {
		if word == strings.ToLower(word) {
			k = strings.ToLower(k)
		}
		add(k)
	}
	statement = strings.ToLower(statement)
	named := slices.ContainsFunc(c.known, func(t sdk.Table) bool { return strings.Contains(statement, t.Name) })
	qualifier, _, qualified := strings.Cut(word, ".")
	for _, t := range c.known {
		if named && !strings.Contains(statement, t.Name) {
			continue
		}
		_, short, _ := strings.Cut(t.Name, ".")
		for _, f := range t.Schema.Fields() {
			switch name := sdk.QuoteName(f.Name); {
			case !qualified:
				add(name)
			case strings.EqualFold(qualifier, short):
				add(qualifier + "." + name)
			}
		}
	}
}

// columns lays words out in columns, as wide as a terminal.
func columns(words []string, width int) []byte {
	widest := 0
	for _, w := range words {
		widest = max(widest, textWidth(w)+2)
	}
	across := max(1, max(width, 80)/widest)
	var b strings.Builder
	for i, w := range words {
		b.WriteString(clean(w))
		if i%across == across-1 || i == len(words)-1 {
			b.WriteByte('\n')
		} else {
			b.WriteString(pad(w, widest))
		}
	}
	return []byte(b.String())
}

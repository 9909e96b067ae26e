package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/sdk"
)

// A printer writes a result in one format, as it streams in.
type printer struct {
	out    *bufio.Writer
	format string
}

func newPrinter(out *bufio.Writer, format string) (printer, error) {
	switch format {
	case "table", "csv", "json", "ndjson":
		return printer{out, format}, nil
	}
	return printer{}, fault.Newf(fault.Invalid, "there is no format %q; the formats are table, csv, json and ndjson", format)
}

func (p printer) rows(rows *sdk.Rows) error {
	switch p.format {
	case "csv":
		return p.csv(rows)
	case "json":
		return p.json(rows, "[", ",\n ", "]\n")
	case "ndjson":
		return p.json(rows, "", "\n", "\n")
	}
	return p.table(rows)
}

// cell is a value as text; null is what a null prints as.
func cell(a arrow.Array, i int, null string) string {
	if a.IsNull(i) {
		return null
	}
	switch a := a.(type) {
	case *array.Timestamp:
		return timestamp(a, i)
	case *array.Decimal128:
		return decimal(a, i)
	case *array.Dictionary:
		return cell(a.Dictionary(), a.GetValueIndex(i), null)
	}
	return a.ValueStr(i)
}

// timestamp is a point in time to the digit; one without a zone has none here.
func timestamp(a *array.Timestamp, i int) string {
	t := a.DataType().(*arrow.TimestampType)
	text := a.Value(i).ToTime(t.Unit).Format("2006-01-02 15:04:05.999999999")
	if t.TimeZone != "" {
		text += "Z"
	}
	return text
}

// decimal is a number with all digits of its scale.
func decimal(a *array.Decimal128, i int) string {
	return a.Value(i).ToString(a.DataType().(*arrow.Decimal128Type).Scale)
}

func (p printer) csv(rows *sdk.Rows) error {
	w := csv.NewWriter(p.out)
	record := make([]string, rows.Schema().NumFields())
	for i, f := range rows.Schema().Fields() {
		record[i] = f.Name
	}
	if err := w.Write(record); err != nil {
		return err
	}
	for batch, err := range rows.Batches() {
		if err != nil {
			return err
		}
		for r := range int(batch.NumRows()) {
			for c := range record {
				record[c] = cell(batch.Column(c), r, "")
			}
			if err := w.Write(record); err != nil {
				return err
			}
		}
	}
	w.Flush()
	return w.Error()
}

// json writes a row as an object, with its columns in order.
func (p printer) json(rows *sdk.Rows, open, between, end string) error {
	names := make([][]byte, rows.Schema().NumFields())
	for i, f := range rows.Schema().Fields() {
		var err error
		if names[i], err = json.Marshal(f.Name); err != nil {
			return err
		}
	}
	p.out.WriteString(open)
	n := 0
	for batch, err := range rows.Batches() {
		if err != nil {
			return err
		}
		for r := range int(batch.NumRows()) {
			if n++; n > 1 {
				p.out.WriteString(between)
			}
			p.out.WriteByte('{')
			for c, name := range names {
				if c > 0 {
					p.out.WriteByte(',')
				}
				value, err := json.Marshal(jsonValue(batch.Column(c), r))
				if err != nil {
					return fmt.Errorf("column %s: %w", name, err)
				}
				p.out.Write(name)
				p.out.WriteByte(':')
				p.out.Write(value)
			}
			p.out.WriteByte('}')
		}
	}
	if n > 0 || p.format == "json" {
		p.out.WriteString(end)
	}
	return nil
}

func jsonValue(a arrow.Array, i int) any {
	if t, ok := a.(*array.Timestamp); ok && t.IsValid(i) {
		return strings.Replace(timestamp(t, i), " ", "T", 1)
	}
	if d, ok := a.(*array.Decimal128); ok && d.IsValid(i) {
		return json.Number(decimal(d, i))
	}
	return a.GetOneForMarshal(i)
}

// Bounds of a printed table: rows that are looked at for the widths of the
// columns, and the widest column.
const (
	tableLookahead = 1000
	cellWidthMax   = 60
)

// table prints aligned columns. Widths are those of the first rows, so that a
// long result streams.
func (p printer) table(rows *sdk.Rows) error {
	fields := rows.Schema().Fields()
	header := make([]string, len(fields))
	right := make([]bool, len(fields))
	widths := make([]int, len(fields))
	for i, f := range fields {
		header[i] = f.Name
		right[i] = arrow.IsInteger(f.Type.ID()) || arrow.IsFloating(f.Type.ID()) || arrow.IsDecimal(f.Type.ID())
	}
	first := [][]string{header}
	n := 0
	print := func() {
		for _, row := range first {
			for c, text := range row {
				widths[c] = max(widths[c], min(cellWidthMax, utf8.RuneCountInString(text)))
			}
		}
		for r, row := range first {
			p.row(row, widths, right)
			if r == 0 {
				for c, w := range widths {
					row[c] = strings.Repeat("─", w)
				}
				p.row(row, widths, right)
			}
		}
	}
	for batch, err := range rows.Batches() {
		if err != nil {
			return err
		}
		for r := range int(batch.NumRows()) {
			row := make([]string, len(fields))
			for c := range fields {
				row[c] = clean(cell(batch.Column(c), r, "NULL"))
			}
			switch n++; {
			case n < tableLookahead:
				first = append(first, row)
			case n == tableLookahead:
				first = append(first, row)
				print()
			default:
				p.row(row, widths, right)
			}
		}
	}
	if n < tableLookahead {
		print()
	}
	if n == 1 {
		fmt.Fprintln(p.out, "(1 row)")
	} else {
		fmt.Fprintf(p.out, "(%d rows)\n", n)
	}
	return nil
}

func (p printer) row(cells []string, widths []int, right []bool) {
	for c, text := range cells {
		if c > 0 {
			p.out.WriteString("  ")
		}
		if n := utf8.RuneCountInString(text); n > cellWidthMax {
			text = string([]rune(text)[:cellWidthMax-1]) + "…"
		}
		pad := strings.Repeat(" ", max(0, widths[c]-utf8.RuneCountInString(text)))
		switch {
		case right[c]:
			p.out.WriteString(pad + text)
		case c == len(cells)-1:
			p.out.WriteString(text)
		default:
			p.out.WriteString(text + pad)
		}
	}
	p.out.WriteByte('\n')
}

// clean keeps a cell on its line and from commanding the terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '�'
		}
		return r
	}, s)
}

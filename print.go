package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeward/lake/fault"
)

// A result is what is printed: sdk.Rows.
type result interface {
	Schema() *arrow.Schema
	Batches() iter.Seq2[arrow.RecordBatch, error]
}

// The formats that results are printed in.
const (
	formatTable   = "table"
	formatCSV     = "csv"
	formatJSON    = "json"
	formatNDJSON  = "ndjson"
	formatArrow   = "arrow"
	formatParquet = "parquet"
)

var formats = []string{formatTable, formatCSV, formatJSON, formatNDJSON, formatArrow, formatParquet}

func checkFormat(format string) error {
	if slices.Contains(formats, format) {
		return nil
	}
	return fault.Newf(fault.Invalid, "there is no format %.40q; the formats are table, csv, json, ndjson, arrow and parquet", format)
}

// binary says that a format is bytes, which a terminal cannot show.
func binary(format string) bool { return format == formatArrow || format == formatParquet }

// A printer writes results in one format, as they stream in.
type printer struct {
	out    *bufio.Writer
	format string
	width  int  // of the terminal that a table is to fit; 0: none
	color  bool // nulls of a table stand out
}

// rows prints a result and returns how many rows it had.
func (p printer) rows(rows result) (n int64, err error) {
	switch p.format {
	case formatTable:
		n, err = p.table(rows)
	case formatCSV:
		n, err = p.csv(rows)
	case formatJSON:
		n, err = p.json(rows, "[", ",\n ", "]\n")
	case formatNDJSON:
		n, err = p.json(rows, "", "\n", "\n")
	case formatArrow:
		n, err = p.arrow(rows)
	case formatParquet:
		n, err = p.parquet(rows)
	default:
		err = checkFormat(p.format)
	}
	return n, errors.Join(err, p.out.Flush())
}

// isNull says whether a value is null, also one that a dictionary holds.
func isNull(a arrow.Array, i int) bool {
	if d, ok := a.(*array.Dictionary); ok && d.IsValid(i) {
		return isNull(d.Dictionary(), d.GetValueIndex(i))
	}
	return a.IsNull(i)
}

// cell is a value as text.
func cell(a arrow.Array, i int) string {
	switch a := a.(type) {
	case *array.Timestamp:
		return timestamp(a, i)
	case *array.Decimal128:
		return decimal(a, i)
	case *array.Dictionary:
		return cell(a.Dictionary(), a.GetValueIndex(i))
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

// csv writes a null as nothing, and a text without letters as "".
func (p printer) csv(rows result) (n int64, err error) {
	fields := rows.Schema().Fields()
	for i, f := range fields {
		p.field(i, f.Name)
	}
	p.out.WriteByte('\n')
	for batch, err := range rows.Batches() {
		if err != nil {
			return n, err
		}
		for r := range int(batch.NumRows()) {
			for c := range fields {
				if col := batch.Column(c); !isNull(col, r) {
					p.field(c, cell(col, r))
				} else if c > 0 {
					p.out.WriteByte(',')
				}
			}
			if err := p.out.WriteByte('\n'); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}

// field writes a field of RFC 4180.
func (p printer) field(i int, text string) {
	if i > 0 {
		p.out.WriteByte(',')
	}
	if text != "" && text[0] != ' ' && !strings.ContainsAny(text, "\",\r\n") {
		p.out.WriteString(text)
		return
	}
	p.out.WriteByte('"')
	p.out.WriteString(strings.ReplaceAll(text, `"`, `""`))
	p.out.WriteByte('"')
}

// json writes a row as an object, with its columns in order.
func (p printer) json(rows result, open, between, end string) (n int64, err error) {
	names := make([][]byte, rows.Schema().NumFields())
	for i, f := range rows.Schema().Fields() {
		if names[i], err = json.Marshal(f.Name); err != nil {
			return 0, err
		}
	}
	p.out.WriteString(open)
	for batch, err := range rows.Batches() {
		if err != nil {
			return n, err
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
					return n, fmt.Errorf("column %s: %w", name, err)
				}
				p.out.Write(name)
				p.out.WriteByte(':')
				p.out.Write(value)
			}
			if err := p.out.WriteByte('}'); err != nil {
				return n, err
			}
		}
	}
	if n > 0 || p.format == formatJSON {
		p.out.WriteString(end)
	}
	return n, nil
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

package delta

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeward/lake/engine"
)

// statsColumnsMax is how many leaf columns of a table have statistics in the
// log: the first ones, as everywhere in Delta. A list or a map counts as one.
const statsColumnsMax = 32

// textRunesMax is where the bounds of texts are cut.
const textRunesMax = 64

// unknownRows is File.Rows of a file whose writer has not said it.
const unknownRows = -1

// digestTag keeps a file's SHA-256 in its add.
const digestTag = "lake.sha256"

// Forms of dates and timestamps in statistics.
const (
	dateForm = time.DateOnly
	timeForm = "2006-01-02T15:04:05.000000"
)

type statsText struct {
	NumRecords *int64         `json:"numRecords,omitempty"`
	MinValues  map[string]any `json:"minValues,omitempty"`
	MaxValues  map[string]any `json:"maxValues,omitempty"`
	NullCount  map[string]any `json:"nullCount,omitempty"`
}

// A leaf is a column that has statistics: one that is reached through structs
// only and holds one value a row.
type leaf struct {
	path []string
	typ  arrow.DataType // stored
}

// leaves returns the columns that have statistics in the log.
func leaves(columns []engine.Column) []leaf {
	var out []leaf
	n := 0
	var walk func(path []string, t arrow.DataType)
	walk = func(path []string, t arrow.DataType) {
		if n >= statsColumnsMax {
			return
		}
		if s, ok := t.(*arrow.StructType); ok {
			for _, f := range s.Fields() {
				walk(append(path[:len(path):len(path)], f.Name), f.Type)
			}
			return
		}
		n++
		if _, nested := t.(arrow.NestedType); !nested {
			out = append(out, leaf{path, t})
		}
	}
	for _, c := range columns {
		walk([]string{c.Source}, c.Stored)
	}
	return out
}

// encodeStats returns the statistics of an add.
func encodeStats(f engine.File, of []leaf) string {
	byPath := make(map[string]engine.ColumnStats, len(f.Stats))
	for _, s := range f.Stats {
		byPath[pathKey(s.Path)] = s
	}
	out := statsText{NumRecords: &f.Rows, MinValues: map[string]any{}, MaxValues: map[string]any{}, NullCount: map[string]any{}}
	for _, l := range of {
		s, ok := byPath[pathKey(l.path)]
		if !ok {
			continue
		}
		put(out.NullCount, l.path, s.Nulls)
		if v, ok := encodeValue(s.Min, l.typ); ok {
			put(out.MinValues, l.path, v)
		}
		if v, ok := encodeValue(s.Max, l.typ); ok {
			put(out.MaxValues, l.path, v)
		}
	}
	return string(mustJSON(out))
}

func pathKey(path []string) string { return strings.Join(path, "\x00") }

func put(m map[string]any, path []string, v any) {
	for _, p := range path[:len(path)-1] {
		child, ok := m[p].(map[string]any)
		if !ok {
			child = map[string]any{}
			m[p] = child
		}
		m = child
	}
	m[path[len(path)-1]] = v
}

// encodeValue returns the JSON of a bound, or false if it has none.
func encodeValue(v engine.Value, t arrow.DataType) (any, bool) {
	switch v.Kind {
	case engine.BoolValue:
		return v.Int != 0, true
	case engine.IntValue:
		return v.Int, true
	case engine.FloatValue:
		if math.IsInf(v.Float, 0) || math.IsNaN(v.Float) {
			return nil, false
		}
		if v.Float == 0 && math.Signbit(v.Float) {
			return json.RawMessage("-0.0"), true // some readers order the zeros
		}
		return v.Float, true
	case engine.TextValue:
		return v.Text, utf8.ValidString(v.Text)
	case engine.DecimalValue:
		return json.Number(v.Text), decimalText(v.Text)
	case engine.DateValue:
		d := time.Unix(0, 0).UTC().AddDate(0, 0, int(v.Int))
		return d.Format(dateForm), d.Year() >= 1 && d.Year() <= 9999
	case engine.TimestampValue:
		d := time.UnixMicro(v.Int).UTC()
		text := d.Format(timeForm)
		if ts, ok := t.(*arrow.TimestampType); ok && ts.TimeZone != "" {
			text += "Z"
		}
		return text, d.Year() >= 1 && d.Year() <= 9999
	}
	return nil, false
}

// decimalText reports whether s is a decimal number in plain notation.
func decimalText(s string) bool {
	s = strings.TrimPrefix(s, "-")
	whole, fraction, point := strings.Cut(s, ".")
	digits := func(s string) bool {
		return s != "" && strings.Trim(s, "0123456789") == ""
	}
	return digits(whole) && (len(whole) == 1 || whole[0] != '0') && (!point || digits(fraction))
}

// parseStats reads the statistics of an add about the columns of leaves. What is not there, or not of its
// column's type, is not known.
func parseStats(text string, of []leaf) (rows int64, out []engine.ColumnStats) {
	var s statsText
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	if d.Decode(&s) != nil {
		return unknownRows, nil
	}
	rows = unknownRows
	if s.NumRecords != nil && *s.NumRecords >= 0 {
		rows = *s.NumRecords
	}
	for _, l := range of {
		c := engine.ColumnStats{Path: l.path}
		n, ok := at(s.NullCount, l.path).(json.Number)
		if nulls, err := n.Int64(); ok && err == nil && nulls >= 0 {
			c.Nulls = nulls
		} else {
			continue // without it, nothing is said about the column
		}
		c.Min = parseValue(at(s.MinValues, l.path), l.typ, false)
		c.Max = parseValue(at(s.MaxValues, l.path), l.typ, true)
		out = append(out, c)
	}
	return rows, out
}

func at(m map[string]any, path []string) any {
	for _, p := range path[:len(path)-1] {
		m, _ = m[p].(map[string]any)
	}
	return m[path[len(path)-1]]
}

// parseValue reads a bound. upper says that it must not be below any value, so
// that what was cut off is made up for.
func parseValue(v any, t arrow.DataType, upper bool) engine.Value {
	switch v := v.(type) {
	case bool:
		if t.ID() == arrow.BOOL {
			n := int64(0)
			if v {
				n = 1
			}
			return engine.Value{Kind: engine.BoolValue, Int: n}
		}
	case json.Number:
		return parseNumber(string(v), t)
	case string:
		switch t := t.(type) {
		case *arrow.StringType:
			return engine.Value{Kind: engine.TextValue, Text: v}
		case *arrow.Date32Type:
			if d, err := time.Parse(dateForm, v); err == nil {
				return engine.Value{Kind: engine.DateValue, Int: floorDiv(d.Unix(), 86400)}
			}
		case *arrow.TimestampType:
			return parseTimestamp(v, t, upper)
		}
	}
	return engine.Value{}
}

func parseNumber(s string, t arrow.DataType) engine.Value {
	switch t := t.(type) {
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type:
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return engine.Value{Kind: engine.IntValue, Int: n}
		}
	case *arrow.Float32Type, *arrow.Float64Type:
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return engine.Value{Kind: engine.FloatValue, Float: f}
		}
	case *arrow.Decimal128Type:
		if text, ok := withScale(s, int(t.Scale)); ok {
			return engine.Value{Kind: engine.DecimalValue, Text: text}
		}
	}
	return engine.Value{}
}

// withScale writes a plain decimal with exactly that many digits after its
// point, if it has no more.
func withScale(s string, scale int) (string, bool) {
	if !decimalText(s) {
		return "", false
	}
	whole, fraction, _ := strings.Cut(s, ".")
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > scale {
		return "", false
	}
	if scale == 0 {
		return whole, true
	}
	return whole + "." + fraction + strings.Repeat("0", scale-len(fraction)), true
}

// parseTimestamp reads a bound of timestamps. Writers cut off what is below a
// millisecond, so that an upper bound of so few digits is raised by what may
// have been there.
func parseTimestamp(s string, t *arrow.TimestampType, upper bool) engine.Value {
	forms := []string{"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999Z07:00"}
	if t.TimeZone == "" {
		forms = []string{"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999Z"}
	}
	for _, form := range forms {
		d, err := time.Parse(form, s)
		if err != nil {
			continue
		}
		us := d.UnixMicro()
		switch n := fractionDigits(s); {
		case upper && n <= 3:
			us += 999
		case upper && d.Nanosecond()%1000 != 0:
			us++
		}
		return engine.Value{Kind: engine.TimestampValue, Int: us}
	}
	return engine.Value{}
}

func fractionDigits(s string) int {
	_, fraction, _ := strings.Cut(s, ".")
	return len(fraction) - len(strings.TrimLeft(fraction, "0123456789"))
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// lowerText returns a text that is not above s, and is not long.
func lowerText(s string) engine.Value {
	if !utf8.ValidString(s) {
		return engine.Value{}
	}
	return engine.Value{Kind: engine.TextValue, Text: s[:prefixBytes(s)]}
}

// upperText returns a text that is not below s, and is not long, or no value if
// there is none.
func upperText(s string) engine.Value {
	if !utf8.ValidString(s) {
		return engine.Value{}
	}
	n := prefixBytes(s)
	if n == len(s) {
		return engine.Value{Kind: engine.TextValue, Text: s}
	}
	// The prefix is raised at its last character that has one after it. UTF-8
	// sorts as its characters do.
	for p := s[:n]; p != ""; {
		r, size := utf8.DecodeLastRuneInString(p)
		p = p[:len(p)-size]
		switch {
		case r == utf8.MaxRune:
			continue
		case r == 0xD7FF:
			r = 0xE000 // past the surrogates
		default:
			r++
		}
		return engine.Value{Kind: engine.TextValue, Text: p + string(r)}
	}
	return engine.Value{}
}

// prefixBytes is the length of the first textRunesMax characters of s.
func prefixBytes(s string) int {
	n := 0
	for i := range s {
		if n == textRunesMax {
			return i
		}
		n++
	}
	return len(s)
}

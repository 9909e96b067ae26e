package enginetest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// A Hash is a content hash of rows that depends neither on their order nor on
// how they lie in files or which engine read them: the sum, modulo 2^128, of the
// first 16 bytes of the SHA-256 of each row's canonical text. Duplicate rows
// count. Independent readers compute the same one.
type Hash struct {
	Rows int64
	sum  big.Int
}

// Add hashes the rows of a batch.
func (h *Hash) Add(b arrow.RecordBatch) {
	texts := make([][]string, b.NumCols())
	for i, c := range b.Columns() {
		texts[i] = Canonical(c)
	}
	row := make([]string, len(texts))
	for r := range int(b.NumRows()) {
		for i := range texts {
			row[i] = texts[i][r]
		}
		d := sha256.Sum256([]byte(strings.Join(row, "\x1f")))
		h.sum.Add(&h.sum, new(big.Int).SetBytes(d[:16]))
	}
	h.Rows += b.NumRows()
}

// String returns the hash in hexadecimal.
func (h *Hash) String() string {
	var b [17]byte
	m := new(big.Int).Mod(&h.sum, new(big.Int).Lsh(big.NewInt(1), 128))
	m.FillBytes(b[:])
	return hex.EncodeToString(b[1:])
}

// Canonical returns the canonical text of each value of an array: ~ for null, t
// and f, decimal integers, the shortest text of a float as a double, decimals
// with their scale, s and a JSON string, x and hexadecimal bytes, d and days,
// microseconds of timestamps, [a,b] lists, {a,b} structs, <k=v,…> maps sorted by
// the text of their entries.
func Canonical(arr arrow.Array) []string {
	out := make([]string, arr.Len())
	var text func(i int) string
	switch a := arr.(type) {
	case *array.Null:
		text = func(int) string { return "~" }
	case *array.Boolean:
		text = func(i int) string {
			if a.Value(i) {
				return "t"
			}
			return "f"
		}
	case *array.Int8:
		text = func(i int) string { return strconv.FormatInt(int64(a.Value(i)), 10) }
	case *array.Int16:
		text = func(i int) string { return strconv.FormatInt(int64(a.Value(i)), 10) }
	case *array.Int32:
		text = func(i int) string { return strconv.FormatInt(int64(a.Value(i)), 10) }
	case *array.Int64:
		text = func(i int) string { return strconv.FormatInt(a.Value(i), 10) }
	case *array.Uint8:
		text = func(i int) string { return strconv.FormatUint(uint64(a.Value(i)), 10) }
	case *array.Uint16:
		text = func(i int) string { return strconv.FormatUint(uint64(a.Value(i)), 10) }
	case *array.Uint32:
		text = func(i int) string { return strconv.FormatUint(uint64(a.Value(i)), 10) }
	case *array.Uint64:
		text = func(i int) string { return strconv.FormatUint(a.Value(i), 10) }
	case *array.Float32:
		text = func(i int) string { return floatText(float64(a.Value(i))) }
	case *array.Float64:
		text = func(i int) string { return floatText(a.Value(i)) }
	case *array.Decimal128:
		scale := a.DataType().(*arrow.Decimal128Type).Scale
		text = func(i int) string { return a.Value(i).ToString(scale) }
	case array.StringLike:
		text = func(i int) string { return "s" + jsonText(a.Value(i)) }
	case interface{ Value(i int) []byte }: // binary of all kinds
		text = func(i int) string { return "x" + hex.EncodeToString(a.Value(i)) }
	case *array.Date32:
		text = func(i int) string { return "d" + strconv.FormatInt(int64(a.Value(i)), 10) }
	case *array.Timestamp:
		unit := a.DataType().(*arrow.TimestampType).Unit
		text = func(i int) string { return strconv.FormatInt(micros(int64(a.Value(i)), unit), 10) }
	case *array.Dictionary:
		values := Canonical(a.Dictionary())
		text = func(i int) string { return values[a.GetValueIndex(i)] }
	case *array.Struct:
		fields := make([][]string, a.NumField())
		for f := range fields {
			fields[f] = Canonical(a.Field(f))
		}
		text = func(i int) string {
			parts := make([]string, len(fields))
			for f := range fields {
				parts[f] = fields[f][i]
			}
			return "{" + strings.Join(parts, ",") + "}"
		}
	case *array.Map:
		keys, items := Canonical(a.Keys()), Canonical(a.Items())
		text = func(i int) string {
			start, end := a.ValueOffsets(i)
			var parts []string
			for j := start; j < end; j++ {
				parts = append(parts, keys[j]+"="+items[j])
			}
			slices.Sort(parts)
			return "<" + strings.Join(parts, ",") + ">"
		}
	case array.ListLike:
		values := Canonical(a.ListValues())
		text = func(i int) string {
			start, end := a.ValueOffsets(i)
			return "[" + strings.Join(values[start:end], ",") + "]"
		}
	default:
		panic(fmt.Sprintf("enginetest: no canonical text of %s", arr.DataType()))
	}
	for i := range out {
		out[i] = "~"
		if arr.IsValid(i) {
			out[i] = text(i)
		}
	}
	return out
}

func micros(v int64, unit arrow.TimeUnit) int64 {
	switch unit {
	case arrow.Second:
		return v * 1_000_000
	case arrow.Millisecond:
		return v * 1000
	case arrow.Nanosecond:
		return v / 1000
	}
	return v
}

// floatText is Python's repr of a float.
func floatText(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	case v == 0:
		return "0.0" // both zeros
	}
	e := strconv.FormatFloat(v, 'e', -1, 64)
	_, exponent, _ := strings.Cut(e, "e")
	if x, _ := strconv.Atoi(exponent); x < -4 || x >= 16 {
		return e
	}
	f := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(f, ".") {
		f += ".0"
	}
	return f
}

// jsonText is a JSON string with nothing escaped but what must be.
func jsonText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"', r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\b':
			b.WriteString(`\b`)
		case r == '\f':
			b.WriteString(`\f`)
		case r < ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

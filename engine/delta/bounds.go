package delta

import (
	"bytes"
	"cmp"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/lakeward/lake/engine"
)

// bounds collects the statistics of one leaf column of a file. They are not
// taken from the Parquet footer, where arrow-go leaves out a bound of many bytes
// and then reads it as an empty one.
type bounds struct {
	leaf
	nulls int64
	has   bool // a value with an order was seen
	nan   bool // a value that most engines order above all others was seen

	minInt, maxInt     int64
	minFloat, maxFloat float64
	minText, maxText   []byte
	minDec, maxDec     decimal128.Num
}

// add takes a column's values, of which those are there whose level is full.
func (b *bounds) add(values arrow.Array, def []int16, full int16) {
	if def == nil {
		full = 0
	} else {
		for _, d := range def {
			if d != full {
				b.nulls++
			}
		}
	}
	there := func(i int) bool { return def == nil || def[i] == full }
	switch a := values.(type) {
	case *array.Boolean:
		for i := range a.Len() {
			if there(i) {
				n := int64(0)
				if a.Value(i) {
					n = 1
				}
				addInts(b, []int64{n}, nil, 0)
			}
		}
	case *array.Int8:
		addInts(b, a.Int8Values(), def, full)
	case *array.Int16:
		addInts(b, a.Int16Values(), def, full)
	case *array.Int32:
		addInts(b, a.Int32Values(), def, full)
	case *array.Int64:
		addInts(b, a.Int64Values(), def, full)
	case *array.Uint8:
		addInts(b, a.Uint8Values(), def, full)
	case *array.Uint16:
		addInts(b, a.Uint16Values(), def, full)
	case *array.Uint32:
		addInts(b, a.Uint32Values(), def, full)
	case *array.Date32:
		addInts(b, a.Date32Values(), def, full)
	case *array.Timestamp:
		addInts(b, a.TimestampValues(), def, full)
	case *array.Float32:
		addFloats(b, a.Float32Values(), def, full)
	case *array.Float64:
		addFloats(b, a.Float64Values(), def, full)
	case *array.String:
		addTexts(b, a.ValueOffsets(), a.ValueBytes(), there)
	case *array.LargeString:
		addTexts(b, a.ValueOffsets(), a.ValueBytes(), there)
	case *array.Decimal128:
		for i, v := range a.Values() {
			if there(i) {
				if !b.has || v.Less(b.minDec) {
					b.minDec = v
				}
				if !b.has || b.maxDec.Less(v) {
					b.maxDec = v
				}
				b.has = true
			}
		}
	}
}

func addInts[T ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32](b *bounds, values []T, def []int16, full int16) {
	lo, hi, ok := extremes(values, def, full)
	if !ok {
		return
	}
	if !b.has || int64(lo) < b.minInt {
		b.minInt = int64(lo)
	}
	if !b.has || int64(hi) > b.maxInt {
		b.maxInt = int64(hi)
	}
	b.has = true
}

func addFloats[T ~float32 | ~float64](b *bounds, values []T, def []int16, full int16) {
	for i, v := range values {
		if v != v && (def == nil || def[i] == full) {
			b.nan = true
			break
		}
	}
	lo, hi, ok := extremes(values, def, full)
	if !ok {
		return
	}
	if !b.has {
		b.minFloat, b.maxFloat = float64(lo), float64(hi)
	}
	// min and max put -0.0 below 0.0, as readers that order the zeros do.
	b.minFloat, b.maxFloat = min(b.minFloat, float64(lo)), max(b.maxFloat, float64(hi))
	b.has = true
}

// extremes returns the least and the greatest of the values that are there and
// equal to themselves.
func extremes[T cmp.Ordered](values []T, def []int16, full int16) (lo, hi T, ok bool) {
	for i, v := range values {
		if def != nil && def[i] != full || v != v {
			continue
		}
		if !ok {
			lo, hi, ok = v, v, true
		}
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi, ok
}

func addTexts[O int32 | int64](b *bounds, offsets []O, values []byte, there func(int) bool) {
	for i := range len(offsets) - 1 {
		if !there(i) {
			continue
		}
		v := values[offsets[i]-offsets[0] : offsets[i+1]-offsets[0]]
		if !b.has || bytes.Compare(v, b.minText) < 0 {
			b.minText = append(b.minText[:0], v...)
		}
		if !b.has || bytes.Compare(v, b.maxText) > 0 {
			b.maxText = append(b.maxText[:0], v...)
		}
		b.has = true
	}
}

// stats returns what was collected.
func (b *bounds) stats() engine.ColumnStats {
	s := engine.ColumnStats{Path: b.path, Nulls: b.nulls}
	if !b.has {
		return s
	}
	kind := engine.IntValue
	switch t := b.typ.(type) {
	case *arrow.Float32Type, *arrow.Float64Type:
		s.Min, s.Max = engine.Value{Kind: engine.FloatValue, Float: b.minFloat}, engine.Value{Kind: engine.FloatValue, Float: b.maxFloat}
		if b.nan {
			s.Max = engine.Value{}
		}
		return s
	case *arrow.StringType:
		s.Min, s.Max = lowerText(string(b.minText)), upperText(string(b.maxText))
		return s
	case *arrow.Decimal128Type:
		s.Min = engine.Value{Kind: engine.DecimalValue, Text: b.minDec.ToString(t.Scale)}
		s.Max = engine.Value{Kind: engine.DecimalValue, Text: b.maxDec.ToString(t.Scale)}
		return s
	case *arrow.BooleanType:
		kind = engine.BoolValue
	case *arrow.Date32Type:
		kind = engine.DateValue
	case *arrow.TimestampType:
		kind = engine.TimestampValue
	}
	s.Min, s.Max = engine.Value{Kind: kind, Int: b.minInt}, engine.Value{Kind: kind, Int: b.maxInt}
	return s
}

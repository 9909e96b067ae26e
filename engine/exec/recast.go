package exec

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeward/lake/fault"
)

// A recast gives data another type that holds the same values, or fails. The
// data begins at offset 0. The caller releases the result.
type recast func(arrow.ArrayData) (arrow.ArrayData, error)

// errDictionaryFull says that a batch has more values than its column's
// dictionary index can count: a smaller batch has fewer.
var errDictionaryFull = fault.New(fault.Internal, "more values than a dictionary index can count")

// errInexact says that a value does not fit the registered type, so that the
// files do not hold what was registered.
func errInexact(v any, t arrow.DataType) error {
	return &failure{Class: "Inexact", Position: -1, Public: true, Message: fmt.Sprintf("the stored value %v is no %s, the type that the column is registered with; run lake table doctor", v, t)}
}

// recastTo returns how data of a type of the engine becomes data of another
// type, if it can.
func recastTo(from, to arrow.DataType) (recast, bool) {
	switch to := to.(type) {
	case arrow.ExtensionType:
		conv, ok := recastTo(from, to.StorageType())
		return then(conv, relabel(to)), ok
	case *arrow.DictionaryType:
		return toDictionary(from, to)
	case *arrow.TimestampType:
		return toTimestamp(from, to)
	case *arrow.Time32Type:
		return toTime32(from, to)
	case *arrow.Time64Type:
		return relabel(to), from.ID() == arrow.INT64 || arrow.TypeEqual(from, to)
	case *arrow.DurationType:
		return relabel(to), from.ID() == arrow.INT64
	case *arrow.Date64Type:
		return mapFixed(to, 4, 8, func(dst, src []byte) bool {
			const dayMillis = 24 * 60 * 60 * 1000
			binary.LittleEndian.PutUint64(dst, uint64(int64(int32(binary.LittleEndian.Uint32(src)))*dayMillis))
			return true
		}), from.ID() == arrow.DATE32
	case *arrow.Float16Type:
		return mapFixed(to, 4, 2, toHalf), from.ID() == arrow.FLOAT32
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		return widen(to), from.ID() == map[arrow.Type]arrow.Type{arrow.LARGE_STRING: arrow.STRING, arrow.LARGE_BINARY: arrow.BINARY}[to.ID()]
	case *arrow.StringViewType, *arrow.BinaryViewType:
		return toView(to), from.ID() == map[arrow.Type]arrow.Type{arrow.STRING_VIEW: arrow.STRING, arrow.BINARY_VIEW: arrow.BINARY}[to.ID()]
	case *arrow.FixedSizeBinaryType:
		return toFixedBinary(to), from.ID() == arrow.BINARY
	case arrow.DecimalType:
		return toDecimal(from, to)
	case *arrow.ListType, *arrow.LargeListType, *arrow.FixedSizeListType, *arrow.MapType, *arrow.StructType:
		return toNested(from, to)
	}
	return relabel(to), arrow.TypeEqual(from, to)
}

// relabel gives data of the same layout another type.
func relabel(to arrow.DataType) recast {
	return func(d arrow.ArrayData) (arrow.ArrayData, error) {
		out := array.NewData(to, d.Len(), d.Buffers(), d.Children(), d.NullN(), d.Offset())
		if d.Dictionary() != nil {
			out.SetDictionary(d.Dictionary())
		}
		return out, nil
	}
}

// then is first and, after it, second.
func then(first, second recast) recast {
	return func(d arrow.ArrayData) (arrow.ArrayData, error) {
		mid, err := first(d)
		if err != nil {
			return nil, err
		}
		defer mid.Release()
		return second(mid)
	}
}

// mapFixed rebuilds values of from bytes each as values of to bytes. each
// writes dst and returns false for a value that the new type does not have.
func mapFixed(t arrow.DataType, from, to int, each func(dst, src []byte) bool) recast {
	return func(d arrow.ArrayData) (arrow.ArrayData, error) {
		src, dst := d.Buffers()[1].Bytes(), make([]byte, d.Len()*to)
		valid := validity(d)
		for i := range d.Len() {
			s := src[i*from : (i+1)*from]
			if valid(i) && !each(dst[i*to:(i+1)*to], s) {
				return nil, errInexact(integer(s), t)
			}
		}
		return rebuilt(t, d, dst), nil
	}
}

// validity reports which values of d are not null.
func validity(d arrow.ArrayData) func(int) bool {
	if d.NullN() == 0 || d.Buffers()[0] == nil {
		return func(int) bool { return true }
	}
	bits := d.Buffers()[0].Bytes()
	return func(i int) bool { return bits[i/8]>>(i%8)&1 != 0 }
}

// rebuilt is data with the nulls of d and other buffers after them.
func rebuilt(t arrow.DataType, d arrow.ArrayData, buffers ...[]byte) arrow.ArrayData {
	all := []*memory.Buffer{d.Buffers()[0]}
	for _, b := range buffers {
		all = append(all, memory.NewBufferBytes(b))
	}
	return array.NewData(t, d.Len(), all, nil, d.NullN(), 0)
}

// integer reads a value for an error text.
func integer(b []byte) any {
	switch len(b) {
	case 4:
		return int32(binary.LittleEndian.Uint32(b))
	case 8:
		return int64(binary.LittleEndian.Uint64(b))
	}
	return fmt.Sprintf("%x", b)
}

func toTimestamp(from arrow.DataType, to *arrow.TimestampType) (recast, bool) {
	t, ok := from.(*arrow.TimestampType)
	switch {
	case from.ID() == arrow.INT64, ok && t.Unit == to.Unit:
		return relabel(to), true
	case !ok || t.Unit != arrow.Microsecond || to.Unit > arrow.Microsecond:
		return nil, false
	}
	return mapFixed(to, 8, 8, divide64(int64(t.Unit.Multiplier()), int64(to.Unit.Multiplier()))), true
}

// divide64 makes counts of a fine unit into counts of a coarse one.
func divide64(fine, coarse int64) func(dst, src []byte) bool {
	return func(dst, src []byte) bool {
		v := int64(binary.LittleEndian.Uint64(src))
		if v == math.MaxInt64 || v == -math.MaxInt64 { // the engine's infinities
			binary.LittleEndian.PutUint64(dst, uint64(v))
			return true
		}
		binary.LittleEndian.PutUint64(dst, uint64(v/(coarse/fine)))
		return v%(coarse/fine) == 0
	}
}

func toTime32(from arrow.DataType, to *arrow.Time32Type) (recast, bool) {
	step := int64(1)
	switch t := from.(type) {
	case *arrow.Time64Type:
		step = int64(to.Unit.Multiplier() / t.Unit.Multiplier())
	case *arrow.Int64Type:
	default:
		return relabel(to), arrow.TypeEqual(from, to)
	}
	return mapFixed(to, 8, 4, func(dst, src []byte) bool {
		v := int64(binary.LittleEndian.Uint64(src))
		binary.LittleEndian.PutUint32(dst, uint32(int32(v/step)))
		return v%step == 0 && v/step == int64(int32(v/step))
	}), true
}

func toHalf(dst, src []byte) bool {
	f := math.Float32frombits(binary.LittleEndian.Uint32(src))
	h := float16.New(f)
	binary.LittleEndian.PutUint16(dst, h.Uint16())
	return h.Float32() == f || f != f
}

func toDecimal(from arrow.DataType, to arrow.DecimalType) (recast, bool) {
	t, ok := from.(*arrow.Decimal128Type)
	if !ok || t.Precision != to.GetPrecision() || t.Scale != to.GetScale() {
		return nil, false
	}
	switch to.ID() {
	case arrow.DECIMAL128:
		return relabel(to), true
	case arrow.DECIMAL256:
		return mapFixed(to, 16, 32, func(dst, src []byte) bool {
			high := int64(binary.LittleEndian.Uint64(src[8:]))
			n := decimal256.New(uint64(high>>63), uint64(high>>63), uint64(high), binary.LittleEndian.Uint64(src))
			for i, word := range n.Array() {
				binary.LittleEndian.PutUint64(dst[8*i:], word)
			}
			return true
		}), true
	}
	// A decimal of few digits is the low end of the same number.
	width := int(to.(arrow.FixedWidthDataType).Bytes())
	return mapFixed(to, 16, width, func(dst, src []byte) bool {
		copy(dst, src)
		sign := byte(0)
		if src[width-1]&0x80 != 0 {
			sign = 0xff
		}
		for _, b := range src[width:] {
			if b != sign {
				return false
			}
		}
		return true
	}), true
}

// widen makes 32-bit offsets 64-bit ones.
func widen(to arrow.DataType) recast {
	return func(d arrow.ArrayData) (arrow.ArrayData, error) {
		b := d.Buffers()
		all := []*memory.Buffer{b[0], memory.NewBufferBytes(wideOffsets(d)), b[2]}
		return array.NewData(to, d.Len(), all, nil, d.NullN(), 0), nil
	}
}

func wideOffsets(d arrow.ArrayData) []byte {
	out := make([]byte, 8*(d.Len()+1))
	for i, o := range narrowOffsets(d) {
		binary.LittleEndian.PutUint64(out[8*i:], uint64(o))
	}
	return out
}

// narrowOffsets are the offsets of lists or texts, one more than values.
func narrowOffsets(d arrow.ArrayData) []int32 {
	if d.Len() == 0 || d.Buffers()[1] == nil {
		return nil // all zero
	}
	return arrow.Int32Traits.CastFromBytes(d.Buffers()[1].Bytes())[:d.Len()+1]
}

// bytesOf returns the i-th text of d.
func bytesOf(d arrow.ArrayData) func(i int) []byte {
	offsets := narrowOffsets(d)
	if offsets == nil || d.Buffers()[2] == nil {
		return func(int) []byte { return nil }
	}
	data := d.Buffers()[2].Bytes()
	return func(i int) []byte { return data[offsets[i]:offsets[i+1]] }
}

func toView(to arrow.DataType) recast {
	return func(d arrow.ArrayData) (arrow.ArrayData, error) {
		b := array.NewBuilder(memory.DefaultAllocator, to)
		defer b.Release()
		valid, value := validity(d), bytesOf(d)
		for i := range d.Len() {
			switch b := b.(type) {
			case *array.StringViewBuilder:
				if valid(i) {
					b.BinaryViewBuilder.Append(value(i))
				} else {
					b.AppendNull()
				}
			case *array.BinaryViewBuilder:
				if valid(i) {
					b.Append(value(i))
				} else {
					b.AppendNull()
				}
			}
		}
		a := b.NewArray()
		defer a.Release()
		a.Data().Retain()
		return a.Data(), nil
	}
}

func toFixedBinary(to *arrow.FixedSizeBinaryType) recast {
	return func(d arrow.ArrayData) (arrow.ArrayData, error) {
		dst := make([]byte, d.Len()*to.ByteWidth)
		valid, value := validity(d), bytesOf(d)
		for i := range d.Len() {
			if !valid(i) {
				continue
			}
			v := value(i)
			if len(v) != to.ByteWidth {
				return nil, errInexact(fmt.Sprintf("of %d bytes", len(v)), to)
			}
			copy(dst[i*to.ByteWidth:], v)
		}
		return rebuilt(to, d, dst), nil
	}
}

func toNested(from, to arrow.DataType) (recast, bool) {
	switch to := to.(type) {
	case *arrow.ListType:
		l, ok := from.(*arrow.ListType)
		if !ok {
			return nil, false
		}
		elem, ok := recastTo(l.Elem(), to.Elem())
		return children(to, elem), ok
	case *arrow.LargeListType:
		l, ok := from.(*arrow.ListType)
		if !ok {
			return nil, false
		}
		elem, ok := recastTo(l.Elem(), to.Elem())
		return then(children(arrow.ListOfField(to.ElemField()), elem), widenList(to)), ok
	case *arrow.FixedSizeListType:
		l, ok := from.(*arrow.FixedSizeListType)
		if !ok || l.Len() != to.Len() {
			return nil, false
		}
		elem, ok := recastTo(l.Elem(), to.Elem())
		return children(to, elem), ok
	case *arrow.MapType:
		m, ok := from.(*arrow.MapType)
		if !ok {
			return nil, false
		}
		key, ok1 := recastTo(m.KeyType(), to.KeyType())
		item, ok2 := recastTo(m.ItemType(), to.ItemType())
		return children(to, children(to.Elem(), key, item)), ok1 && ok2
	case *arrow.StructType:
		s, ok := from.(*arrow.StructType)
		if !ok || s.NumFields() != to.NumFields() {
			return nil, false
		}
		fields := make([]recast, s.NumFields())
		for i, f := range s.Fields() {
			if fields[i], ok = recastTo(f.Type, to.Field(i).Type); !ok || f.Name != to.Field(i).Name {
				return nil, false
			}
		}
		return children(to, fields...), true
	}
	return nil, false
}

// children rebuilds nested data with each child recast.
func children(to arrow.DataType, each ...recast) recast {
	return func(d arrow.ArrayData) (arrow.ArrayData, error) {
		kids := make([]arrow.ArrayData, len(each))
		defer func() {
			for _, k := range kids {
				if k != nil {
					k.Release()
				}
			}
		}()
		for i, conv := range each {
			var err error
			if kids[i], err = conv(d.Children()[i]); err != nil {
				return nil, err
			}
		}
		return array.NewData(to, d.Len(), d.Buffers(), kids, d.NullN(), d.Offset()), nil
	}
}

func widenList(to arrow.DataType) recast {
	return func(d arrow.ArrayData) (arrow.ArrayData, error) {
		all := []*memory.Buffer{d.Buffers()[0], memory.NewBufferBytes(wideOffsets(d))}
		return array.NewData(to, d.Len(), all, d.Children(), d.NullN(), 0), nil
	}
}

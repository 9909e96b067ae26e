package delta

import (
	"context"
	"fmt"
	"sort"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeward/lake/fault"
)

// plain returns the values of a leaf in a form that pqarrow writes to a column
// of the stored type, and refuses those that Parquet would keep wrongly.
func (s *shredder) plain(ctx context.Context, arr arrow.Array, stored arrow.DataType, path string) (arrow.Array, error) {
	if d, ok := arr.(*array.Dictionary); ok {
		values, err := compute.TakeArray(ctx, d.Dictionary(), d.Indices())
		if err != nil {
			return nil, fault.Newf(fault.Invalid, "column %q has a dictionary that does not fit its indices: %v", path, err)
		}
		arr = s.own(values)
	}
	switch a := arr.(type) {
	case *array.Timestamp:
		if stored.ID() == arrow.INT64 { // nanoseconds
			return s.own(retype(a, arrow.PrimitiveTypes.Int64)), nil
		}
	case *array.Uint64:
		return s.own(decimals(a)), nil
	case *array.Decimal128:
		if err := checkDecimals(a, path); err != nil {
			return nil, err
		}
	case *array.String:
		if err := checkText(a, a.ValueOffsets(), a.ValueBytes(), path); err != nil {
			return nil, err
		}
	case *array.LargeString:
		if err := checkText(a, a.ValueOffsets(), a.ValueBytes(), path); err != nil {
			return nil, err
		}
	}
	return arr, nil
}

// retype gives an array another type of the same layout.
func retype(a arrow.Array, t arrow.DataType) arrow.Array {
	d := a.Data()
	data := array.NewData(t, d.Len(), d.Buffers(), d.Children(), a.NullN(), d.Offset())
	defer data.Release()
	return array.MakeFromData(data)
}

func decimals(a *array.Uint64) arrow.Array {
	b := array.NewDecimal128Builder(memory.DefaultAllocator, uint64Decimal)
	defer b.Release()
	b.Reserve(a.Len())
	for i, v := range a.Uint64Values() {
		if a.IsNull(i) {
			b.UnsafeAppendBoolToBitmap(false)
		} else {
			b.UnsafeAppend(decimal128.FromU64(v))
		}
	}
	return b.NewArray()
}

func checkDecimals(a *array.Decimal128, path string) error {
	t := a.DataType().(*arrow.Decimal128Type)
	for i, v := range a.Values() {
		if a.IsValid(i) && !v.FitsInPrecision(t.Precision) {
			return fault.Newf(fault.Invalid, "column %q is %s, but a row has more digits; cast it to a wider decimal", path, t)
		}
	}
	return nil
}

// checkText refuses text that is not UTF-8, which readers of the file would
// stumble over. values are the bytes from the first offset on.
func checkText[O int32 | int64](a arrow.Array, offsets []O, values []byte, path string) error {
	if len(offsets) == 0 {
		return nil
	}
	first := offsets[0]
	whole := utf8.Valid(values)
	for i := 0; whole && i < len(offsets); i++ {
		at := offsets[i] - first
		whole = int(at) == len(values) || utf8.RuneStart(values[at])
	}
	if whole {
		return nil
	}
	for i := range len(offsets) - 1 {
		if a.IsValid(i) && !utf8.Valid(values[offsets[i]-first:offsets[i+1]-first]) {
			return fault.Newf(fault.Invalid, "column %q has text that is not UTF-8; make it a binary column", path)
		}
	}
	return nil
}

// Bounds on a slice of rows that is written at once: a page ends between
// slices.
const (
	sliceRowsMax  = 20_480
	sliceBytesMax = 1 << 20
)

// sliceRows returns how many of the rows of arr from the i-th on are written at
// once: at least one.
func sliceRows(arr arrow.Array, i int) int {
	n := min(arr.Len()-i, sliceRowsMax)
	switch a := arr.(type) {
	case *array.Dictionary:
		if longest := longestValue(a.Dictionary()); longest > 0 {
			n = min(n, sliceBytesMax/longest)
		}
	case *array.String:
		n = fitting(a.ValueOffsets()[i:], n)
	case *array.Binary:
		n = fitting(a.ValueOffsets()[i:], n)
	case *array.LargeString:
		n = fitting(a.ValueOffsets()[i:], n)
	case *array.LargeBinary:
		n = fitting(a.ValueOffsets()[i:], n)
	default:
		if _, nested := arr.DataType().(arrow.NestedType); nested {
			if perRow := arrayBytes(arr) / int64(arr.Len()); perRow > 0 {
				n = int(min(int64(n), sliceBytesMax/perRow))
			}
		}
	}
	return max(n, 1)
}

// fitting returns how many of the first n values have sliceBytesMax in all.
func fitting[O int32 | int64](offsets []O, n int) int {
	return sort.Search(n, func(k int) bool { return int64(offsets[k+1]-offsets[0]) > sliceBytesMax })
}

func longestValue(values arrow.Array) (longest int) {
	type sized interface{ ValueLen(i int) int }
	if v, ok := values.(sized); ok {
		for i := range values.Len() {
			longest = max(longest, v.ValueLen(i))
		}
	}
	return longest
}

// arrayBytes is about how many bytes the values of an array take, of a slice
// only its own.
func arrayBytes(arr arrow.Array) (n int64) {
	rows := int64(arr.Len())
	if rows == 0 {
		return 0
	}
	switch a := arr.(type) {
	case *array.Dictionary:
		return rows*4 + arrayBytes(a.Dictionary())
	case *array.String:
		return rows*4 + span(a.ValueOffsets())
	case *array.Binary:
		return rows*4 + span(a.ValueOffsets())
	case *array.LargeString:
		return rows*8 + span(a.ValueOffsets())
	case *array.LargeBinary:
		return rows*8 + span(a.ValueOffsets())
	case *array.Struct:
		for i := range a.NumField() {
			n += arrayBytes(a.Field(i))
		}
		return n + rows
	case array.ListLike:
		start, _ := a.ValueOffsets(0)
		_, end := a.ValueOffsets(int(rows) - 1)
		elements := array.NewSlice(a.ListValues(), start, max(start, end))
		defer elements.Release()
		return rows*4 + arrayBytes(elements)
	}
	if t, ok := arr.DataType().(arrow.FixedWidthDataType); ok {
		return rows * int64(t.BitWidth()+7) / 8
	}
	return rows * 8
}

func span[O int32 | int64](offsets []O) int64 {
	return int64(offsets[len(offsets)-1] - offsets[0])
}

// batchBytes is about how many bytes a batch's values take.
func batchBytes(b arrow.RecordBatch) (n int64, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = malformed(p)
		}
	}()
	for _, c := range b.Columns() {
		n += arrayBytes(c)
	}
	return n, nil
}

// malformed makes an error of a panic over rows that break Arrow's own rules.
func malformed(what any) error {
	return fmt.Errorf("%w (%v)", errMalformed, what)
}

var errMalformed = fault.New(fault.Invalid, "the rows are malformed: an array's offsets, lengths or types contradict one another")

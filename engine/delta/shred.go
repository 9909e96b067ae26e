package delta

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeward/lake/fault"
)

// A shredder cuts arrays of exact types into the leaf columns of Parquet. It
// does what pqarrow's own does, which accepts neither a null list that has
// elements, as those of fixed size do, nor more than one column at a time.
// It is used by one goroutine.
type shredder struct {
	emit  func(l shredded) error
	owned []arrow.Array // released when the column is done
	ones  []int16
}

// shredded is one leaf column of a slice of rows: its levels, and the values
// that have a slot. def is nil if every value is there, rep if every row has one.
type shredded struct {
	index    int // among the column's leaves
	path     string
	values   arrow.Array
	def, rep []int16
	full     int16 // the level of a value that is there
	nullable bool
}

// entries is a level of the descent: one entry for each value, null or empty
// list so far. An entry has a slot in the array at hand if its nearest repeated
// ancestor has an element for it, that is, if its level is at least slot. It is
// there, so that the array says what it is, if its level is the full one.
type entries struct {
	def, rep   []int16 // nil as in shredded
	n          int
	full, slot int16
	repeat     int16 // repetition level of the nearest repeated ancestor
}

// column cuts rows of a top-level column, whose stored field is f, and emits
// its leaves in order.
func (s *shredder) column(ctx context.Context, arr arrow.Array, f arrow.Field) error {
	defer func() {
		for _, a := range s.owned {
			a.Release()
		}
		s.owned = s.owned[:0]
	}()
	leaf := 0
	return s.node(ctx, arr, f, f.Name, entries{n: arr.Len()}, &leaf)
}

// node cuts an array, of an exact type, of which in has one entry for each slot.
func (s *shredder) node(ctx context.Context, arr arrow.Array, f arrow.Field, path string, in entries, leaf *int) error {
	switch t := f.Type.(type) {
	case *arrow.StructType:
		at, err := s.validity(arr, f, path, in)
		if err != nil {
			return err
		}
		a := arr.(*array.Struct)
		for i, c := range t.Fields() {
			if err := s.node(ctx, a.Field(i), c, path+"."+c.Name, at, leaf); err != nil {
				return err
			}
		}
		return nil
	case *arrow.ListType:
		at, err := s.validity(arr, f, path, in)
		if err != nil {
			return err
		}
		below, elements := s.list(arr.(array.ListLike), at)
		return s.node(ctx, elements, t.ElemField(), path+"."+elementName, below, leaf)
	case *arrow.MapType:
		at, err := s.validity(arr, f, path, in)
		if err != nil {
			return err
		}
		below, elements := s.list(arr.(array.ListLike), at)
		pairs := elements.(*array.Struct)
		if err := s.node(ctx, pairs.Field(0), t.KeyField(), path+"."+keyName, below, leaf); err != nil {
			return err
		}
		return s.node(ctx, pairs.Field(1), t.ItemField(), path+"."+valueName, below, leaf)
	}
	values, err := s.plain(ctx, arr, f.Type, path)
	if err != nil {
		return err
	}
	at, err := s.validity(values, f, path, in)
	if err != nil {
		return err
	}
	out := shredded{index: *leaf, path: path, values: values, def: at.def, rep: at.rep, full: at.full, nullable: f.Nullable}
	*leaf++
	return s.emit(out)
}

// own makes the shredder release an array.
func (s *shredder) own(a arrow.Array) arrow.Array {
	s.owned = append(s.owned, a)
	return a
}

// allOnes returns n levels of 1, which nobody changes.
func (s *shredder) allOnes(n int) []int16 {
	for len(s.ones) < n {
		s.ones = append(s.ones, 1)
	}
	return s.ones[:n:n]
}

// validity takes an array's nulls into the levels. A null where the stored
// field has none is refused.
func (s *shredder) validity(arr arrow.Array, f arrow.Field, path string, in entries) (entries, error) {
	nulls := arr.NullN() > 0
	out := in
	switch {
	case !f.Nullable && !nulls:
		return in, nil
	case f.Nullable && in.def == nil && !nulls:
		out.def, out.full = s.allOnes(in.n), 1
		return out, nil
	case f.Nullable:
		out.full++
		out.def = make([]int16, in.n)
	}
	slot := 0
	for i := range in.n {
		def := int16(0)
		if in.def != nil {
			def = in.def[i]
		}
		if def >= in.slot {
			if def == in.full {
				switch valid := arr.IsValid(slot); {
				case valid && f.Nullable:
					def++
				case !valid && !f.Nullable:
					return out, fault.Newf(fault.Invalid, "column %q must not be null, but a row has a null there; fill it, or make a table whose column may be null", path)
				}
			}
			slot++
		}
		if f.Nullable {
			out.def[i] = def
		}
	}
	return out, nil
}

// list opens lists: entries that are there become one entry for each element,
// or one that says that there is none. Elements of lists that are not there
// are left out of the array that it returns.
func (s *shredder) list(arr array.ListLike, in entries) (entries, arrow.Array) {
	type run struct{ start, end int64 }
	var runs []run
	out := entries{full: in.full + 1, slot: in.full + 1, repeat: in.repeat + 1}
	out.def, out.rep = make([]int16, 0, in.n), make([]int16, 0, in.n)
	slot := 0
	for i := range in.n {
		def, rep := int16(0), int16(0)
		if in.def != nil {
			def = in.def[i]
		}
		if in.rep != nil {
			rep = in.rep[i]
		}
		var start, end int64
		if def >= in.slot {
			if def == in.full {
				start, end = arr.ValueOffsets(slot)
			}
			slot++
		}
		if start == end {
			out.def, out.rep = append(out.def, def), append(out.rep, rep)
			continue
		}
		if n := len(runs); n > 0 && runs[n-1].end == start {
			runs[n-1].end = end
		} else {
			runs = append(runs, run{start, end})
		}
		n := len(out.def)
		out.def = slices.Grow(out.def, int(end-start))[:n+int(end-start)]
		out.rep = slices.Grow(out.rep, int(end-start))[:n+int(end-start)]
		for j := n; j < len(out.def); j++ {
			out.def[j], out.rep[j] = out.full, out.repeat
		}
		out.rep[n] = rep
	}
	out.n = len(out.def)
	elements := arr.ListValues()
	switch len(runs) {
	case 0:
		return out, s.own(array.NewSlice(elements, 0, 0))
	case 1:
		return out, s.own(array.NewSlice(elements, runs[0].start, runs[0].end))
	}
	parts := make([]arrow.Array, len(runs))
	for i, r := range runs {
		parts[i] = array.NewSlice(elements, r.start, r.end)
		defer parts[i].Release()
	}
	joined, err := array.Concatenate(parts, memory.DefaultAllocator)
	if err != nil { // parts of one array have one type
		panic("delta: " + err.Error())
	}
	return out, s.own(joined)
}

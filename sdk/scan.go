package sdk

import (
	"bytes"
	"fmt"
	"reflect"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeward/lake/fault"
)

// Next goes to the next row and reports whether there is one. After the last
// row, or an error, which Err returns, there is none. It is an alternative to
// Batches: use one of them.
func (r *Rows) Next() bool {
	if r.row++; r.batch != nil && r.row < r.batch.NumRows() {
		return true
	}
	for r.reader.Next() {
		if r.batch = r.reader.RecordBatch(); r.batch.NumRows() > 0 {
			r.row = 0
			return true
		}
	}
	r.batch = nil
	return false
}

// Err is why Next found no row, or nil at the end of the result.
func (r *Rows) Err() error { return readError(r.reader) }

// Scan copies the columns of the present row into what dest points to: an
// integer, float, bool, string, []byte or time.Time of a size that holds the
// value, a pointer to one of these for a column that may be null, or any. A
// nil dest skips its column. Lists, structs and maps scan into any, as
// encoding/json would read them.
func (r *Rows) Scan(dest ...any) error {
	switch {
	case r.batch == nil:
		return errNoRow
	case len(dest) != int(r.batch.NumCols()):
		return fault.Newf(fault.Invalid, "the result has %d columns and Scan was given %d places", r.batch.NumCols(), len(dest))
	}
	for i, d := range dest {
		if d == nil {
			continue
		}
		if err := scan(r.batch.Column(i), int(r.row), d); err != nil {
			return fault.Newf(fault.Invalid, "column %q: %v", r.batch.ColumnName(i), err)
		}
	}
	return nil
}

var errNoRow = fault.New(fault.Invalid, "Scan needs a row: call Next first")

func scan(a arrow.Array, i int, dest any) error {
	p := reflect.ValueOf(dest)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return fmt.Errorf("a %T is not a pointer to a value", dest)
	}
	v := value(a, i)
	to := p.Elem()
	if to.Kind() == reflect.Interface && to.NumMethod() == 0 {
		if v == nil {
			to.SetZero()
		} else {
			to.Set(reflect.ValueOf(v))
		}
		return nil
	}
	if to.Kind() == reflect.Pointer {
		if v == nil {
			to.SetZero()
			return nil
		}
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	if v == nil {
		return fmt.Errorf("it is null, which a %s cannot be; scan into a pointer to one", to.Type())
	}
	return set(to, v)
}

// set assigns a value to a Go variable of a kind that holds it.
func set(to reflect.Value, v any) error {
	from := reflect.ValueOf(v)
	if from.Type().AssignableTo(to.Type()) {
		to.Set(from)
		return nil
	}
	fits := false
	switch {
	case to.CanInt() && from.CanInt():
		if fits = !to.OverflowInt(from.Int()); fits {
			to.SetInt(from.Int())
		}
	case to.CanInt() && from.CanUint():
		u := from.Uint()
		if fits = u <= 1<<63-1 && !to.OverflowInt(int64(u)); fits {
			to.SetInt(int64(u))
		}
	case to.CanUint() && from.CanUint():
		if fits = !to.OverflowUint(from.Uint()); fits {
			to.SetUint(from.Uint())
		}
	case to.CanUint() && from.CanInt():
		n := from.Int()
		if fits = n >= 0 && !to.OverflowUint(uint64(n)); fits {
			to.SetUint(uint64(n))
		}
	case to.CanFloat() && from.CanFloat():
		if fits = to.Kind() == reflect.Float64 || from.Kind() == reflect.Float32; fits {
			to.SetFloat(from.Float())
		}
	case to.Kind() == reflect.String && from.Kind() == reflect.String:
		fits = true
		to.SetString(from.String())
	}
	if !fits {
		return fmt.Errorf("%v does not fit into a %s", v, to.Type())
	}
	return nil
}

// value is a cell as a Go value: nil, bool, a sized integer or float, string,
// []byte, time.Time, a decimal's text, or for other types what encoding/json would read.
func value(a arrow.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		return a.Value(i)
	case *array.Int8:
		return a.Value(i)
	case *array.Int16:
		return a.Value(i)
	case *array.Int32:
		return a.Value(i)
	case *array.Int64:
		return a.Value(i)
	case *array.Uint8:
		return a.Value(i)
	case *array.Uint16:
		return a.Value(i)
	case *array.Uint32:
		return a.Value(i)
	case *array.Uint64:
		return a.Value(i)
	case *array.Float32:
		return a.Value(i)
	case *array.Float64:
		return a.Value(i)
	case array.StringLike:
		return a.Value(i)
	case *array.Binary:
		return bytes.Clone(a.Value(i))
	case *array.LargeBinary:
		return bytes.Clone(a.Value(i))
	case *array.FixedSizeBinary:
		return bytes.Clone(a.Value(i))
	case *array.Date32:
		return a.Value(i).ToTime()
	case *array.Timestamp:
		return a.Value(i).ToTime(a.DataType().(*arrow.TimestampType).Unit).In(time.UTC)
	case *array.Dictionary:
		return value(a.Dictionary(), a.GetValueIndex(i))
	case *array.Decimal128:
		return a.Value(i).ToString(a.DataType().(*arrow.Decimal128Type).Scale)
	}
	return a.GetOneForMarshal(i)
}

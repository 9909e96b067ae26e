package sdk

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
)

// column is an array of one row, from JSON.
func column(t *testing.T, typ arrow.DataType, json string) arrow.Array {
	t.Helper()
	a, _, err := array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader("["+json+"]"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Release)
	return a
}

func TestScanFitsOrSaysWhyNot(t *testing.T) {
	us := &arrow.TimestampType{Unit: arrow.Microsecond}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	five := int64(5)
	for _, tt := range []struct {
		name string
		typ  arrow.DataType
		json string
		dest any // a pointer to a zero value
		want any // nil is an error that says says
		says string
	}{
		{"a bigint into an int64", arrow.PrimitiveTypes.Int64, "5", new(int64), int64(5), ""},
		{"a bigint into an int", arrow.PrimitiveTypes.Int64, "5", new(int), 5, ""},
		{"a bigint into an int8 that holds it", arrow.PrimitiveTypes.Int64, "-5", new(int8), int8(-5), ""},
		{"a bigint into an int8 that does not", arrow.PrimitiveTypes.Int64, "500", new(int8), nil, "500 does not fit into a int8"},
		{"a negative number into a uint", arrow.PrimitiveTypes.Int64, "-1", new(uint64), nil, "does not fit"},
		{"the greatest ubigint into an int64", arrow.PrimitiveTypes.Uint64, "18446744073709551615", new(int64), nil, "does not fit"},
		{"the greatest ubigint into a uint64", arrow.PrimitiveTypes.Uint64, "18446744073709551615", new(uint64), uint64(math.MaxUint64), ""},
		{"a float into a float64", arrow.PrimitiveTypes.Float32, "1.5", new(float64), 1.5, ""},
		{"a double into a float32", arrow.PrimitiveTypes.Float64, "1.5", new(float32), nil, "does not fit"},
		{"a number into a string", arrow.PrimitiveTypes.Int64, "5", new(string), nil, "does not fit"},
		{"a text", arrow.BinaryTypes.String, `"x"`, new(string), "x", ""},
		{"a large text", arrow.BinaryTypes.LargeString, `"x"`, new(string), "x", ""},
		{"bytes", arrow.BinaryTypes.Binary, `"AQI="`, new([]byte), []byte{1, 2}, ""},
		{"a bool", arrow.FixedWidthTypes.Boolean, "true", new(bool), true, ""},
		{"a time", us, `"2026-01-02 03:04:05.000006"`, new(time.Time), at, ""},
		{"a date", arrow.FixedWidthTypes.Date32, `"2026-01-02"`, new(time.Time), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), ""},
		{"a null into a value", arrow.PrimitiveTypes.Int64, "null", new(int64), nil, "scan into a pointer"},
		{"a null into a pointer", arrow.PrimitiveTypes.Int64, "null", new(*int64), (*int64)(nil), ""},
		{"a value into a pointer", arrow.PrimitiveTypes.Int64, "5", new(*int64), &five, ""},
		{"anything into any", arrow.PrimitiveTypes.Int32, "5", new(any), int32(5), ""},
		{"a null into any", arrow.PrimitiveTypes.Int32, "null", new(any), nil, "<nil>"},
		{"a decimal into a string", &arrow.Decimal128Type{Precision: 5, Scale: 2}, `"1.50"`, new(string), "1.50", ""},
		{"not a pointer", arrow.PrimitiveTypes.Int64, "5", int64(0), nil, "not a pointer"},
	} {
		err := scan(column(t, tt.typ, tt.json), 0, tt.dest)
		switch {
		case tt.want == nil && tt.says == "<nil>":
			if err != nil || *tt.dest.(*any) != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		case tt.want == nil:
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s: %v, want it to say %q", tt.name, err, tt.says)
			}
		case err != nil:
			t.Errorf("%s: %v", tt.name, err)
		default:
			if diff := cmp.Diff(tt.want, deref(tt.dest)); diff != "" {
				t.Errorf("%s:\n%s", tt.name, diff)
			}
		}
	}
}

func deref(p any) any {
	switch p := p.(type) {
	case *int64:
		return *p
	case *int:
		return *p
	case *int8:
		return *p
	case *uint64:
		return *p
	case *float64:
		return *p
	case *string:
		return *p
	case *[]byte:
		return *p
	case *bool:
		return *p
	case *time.Time:
		return *p
	case **int64:
		return *p
	case *any:
		return *p
	}
	return p
}

package exec

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	duckdb "github.com/duckdb/duckdb-go-bindings"
)

// A check refuses values of a result column that Arrow cannot hold as the
// engine hands them over; nil if there are none.
type check func(arrow.Array) error

// checkOf returns the check for columns of a type, or refuses the type.
//
// The engine gives 128-bit integers as decimals of 38 digits without looking
// whether they fit, and some types as bytes that only it can read.
func checkOf(t duckdb.LogicalType, column string) (check, error) {
	switch duckdb.GetTypeId(t) {
	case duckdb.TypeHugeInt:
		return checkHugeint(column, true), nil
	case duckdb.TypeUHugeInt:
		return checkHugeint(column, false), nil
	case duckdb.TypeBit:
		return nil, refuseType(column, "BIT", "VARCHAR")
	case duckdb.TypeTimeTZ:
		return nil, refuseType(column, "TIME WITH TIME ZONE", "VARCHAR or TIME")
	case duckdb.TypeBigNum:
		return nil, refuseType(column, "BIGNUM", "VARCHAR or DOUBLE")
	case duckdb.TypeVariant:
		return nil, refuseType(column, "VARIANT", "JSON or VARCHAR")
	case duckdb.TypeUnion:
		return nil, refuseType(column, "UNION", "VARCHAR")
	case duckdb.TypeGeometry:
		return nil, refuseType(column, "GEOMETRY", "BLOB by st_aswkb")
	case duckdb.TypeList:
		return checkChildren(column, duckdb.ListTypeChildType(t))
	case duckdb.TypeArray:
		return checkChildren(column, duckdb.ArrayTypeChildType(t))
	case duckdb.TypeMap:
		return checkChildren(column, duckdb.MapTypeKeyType(t), duckdb.MapTypeValueType(t))
	case duckdb.TypeStruct:
		fields := make([]duckdb.LogicalType, duckdb.StructTypeChildCount(t))
		for i := range fields {
			fields[i] = duckdb.StructTypeChildType(t, duckdb.IdxT(i))
		}
		return checkChildren(column, fields...)
	}
	return nil, nil
}

func refuseType(column, name, remedy string) error {
	return &failure{
		Class: "Not implemented", Position: -1, Public: true,
		Message: fmt.Sprintf("result column %q is of type %s, which has no Arrow form; cast it to %s", column, name, remedy),
	}
}

// checkChildren checks the children of a nested array. It owns the types.
func checkChildren(column string, types ...duckdb.LogicalType) (check, error) {
	checks := make([]check, len(types))
	some := false
	var refused error
	for i := range types {
		c, err := checkOf(types[i], column)
		if err != nil && refused == nil {
			refused = err
		}
		checks[i], some = c, some || c != nil
		duckdb.DestroyLogicalType(&types[i])
	}
	if refused != nil || !some {
		return nil, refused
	}
	return func(a arrow.Array) error {
		for i, child := range childrenOf(a) {
			if i < len(checks) && checks[i] != nil {
				if err := checks[i](child); err != nil {
					return err
				}
			}
		}
		return nil
	}, nil
}

func childrenOf(a arrow.Array) []arrow.Array {
	switch a := a.(type) {
	case *array.Map:
		return []arrow.Array{a.Keys(), a.Items()}
	case array.ListLike:
		return []arrow.Array{a.ListValues()}
	case *array.Struct:
		fields := make([]arrow.Array, a.NumField())
		for i := range fields {
			fields[i] = a.Field(i)
		}
		return fields
	}
	return nil
}

// tenTo38 is the first integer of 39 digits.
var tenTo38 = decimal128.GetScaleMultiplier(38)

func checkHugeint(column string, signed bool) check {
	return func(a arrow.Array) error {
		d, ok := a.(*array.Decimal128)
		if !ok {
			return nil
		}
		for i, v := range d.Values() {
			if d.IsNull(i) {
				continue
			}
			// An unsigned value over the signed range reads as negative here.
			if v.Sign() < 0 && !signed || v.Abs().Cmp(tenTo38) >= 0 || v.Abs().Sign() < 0 {
				return &failure{
					Class: "Out of Range", Position: -1, Public: true,
					Message: fmt.Sprintf("a value of result column %q has more than 38 digits; cast the column to DOUBLE or VARCHAR", column),
				}
			}
		}
		return nil
	}
}

package exec

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	duckdb "github.com/duckdb/duckdb-go-bindings"
)

// A paramType makes values of one Arrow type the engine's. Values are handed
// over as values: no text of a caller's becomes part of a statement.
type paramType struct {
	logical func() duckdb.LogicalType
	value   func(a arrow.Array, i int) (duckdb.Value, error)
}

// paramTypeOf returns how values of an Arrow type are bound.
func paramTypeOf(t arrow.DataType) (paramType, bool) {
	switch t := t.(type) {
	case arrow.ExtensionType:
		return paramTypeOf(t.StorageType())
	case *arrow.DictionaryType:
		return paramTypeOf(t.ValueType)
	case arrow.DecimalType:
		return decimalParam(t)
	case *arrow.TimestampType:
		return timestampParam(t), true
	case *arrow.Time32Type:
		return timeParam(t.Unit), true
	case *arrow.Time64Type:
		return timeParam(t.Unit), true
	}
	p, ok := paramTypes()[t.ID()]
	return p, ok
}

// param is the paramType of arrays of type A.
func param[A arrow.Array](t duckdb.Type, value func(a A, i int) (duckdb.Value, error)) paramType {
	return paramType{
		logical: func() duckdb.LogicalType { return duckdb.CreateLogicalType(t) },
		value: func(a arrow.Array, i int) (duckdb.Value, error) {
			typed, ok := a.(A)
			if !ok {
				return duckdb.Value{}, badParams(fmt.Sprintf("%T of type %s", a, a.DataType()))
			}
			return value(typed, i)
		},
	}
}

// numberParam is the paramType of arrays of plain numbers.
func numberParam[N any, A interface {
	arrow.Array
	Value(int) N
}](t duckdb.Type, create func(N) duckdb.Value) paramType {
	return param(t, func(a A, i int) (duckdb.Value, error) { return create(a.Value(i)), nil })
}

func textParam[A interface {
	arrow.Array
	Value(int) string
}]() paramType {
	return param(duckdb.TypeVarchar, func(a A, i int) (duckdb.Value, error) {
		s := a.Value(i)
		if !utf8.ValidString(s) {
			return duckdb.Value{}, badParams("a text that is not UTF-8")
		}
		return duckdb.CreateVarcharLength(s, duckdb.IdxT(len(s))), nil
	})
}

// paramTypes are the types that a parameter can have. It is a function, since
// the types of a dictionary refer to it.
func paramTypes() map[arrow.Type]paramType {
	return map[arrow.Type]paramType{
		arrow.NULL:    {logical: func() duckdb.LogicalType { return duckdb.CreateLogicalType(duckdb.TypeSQLNull) }},
		arrow.BOOL:    numberParam[bool, *array.Boolean](duckdb.TypeBoolean, duckdb.CreateBool),
		arrow.INT8:    numberParam[int8, *array.Int8](duckdb.TypeTinyInt, duckdb.CreateInt8),
		arrow.INT16:   numberParam[int16, *array.Int16](duckdb.TypeSmallInt, duckdb.CreateInt16),
		arrow.INT32:   numberParam[int32, *array.Int32](duckdb.TypeInteger, duckdb.CreateInt32),
		arrow.INT64:   numberParam[int64, *array.Int64](duckdb.TypeBigInt, duckdb.CreateInt64),
		arrow.UINT8:   numberParam[uint8, *array.Uint8](duckdb.TypeUTinyInt, duckdb.CreateUInt8),
		arrow.UINT16:  numberParam[uint16, *array.Uint16](duckdb.TypeUSmallInt, duckdb.CreateUInt16),
		arrow.UINT32:  numberParam[uint32, *array.Uint32](duckdb.TypeUInteger, duckdb.CreateUInt32),
		arrow.UINT64:  numberParam[uint64, *array.Uint64](duckdb.TypeUBigInt, duckdb.CreateUInt64),
		arrow.FLOAT32: numberParam[float32, *array.Float32](duckdb.TypeFloat, duckdb.CreateFloat),
		arrow.FLOAT64: numberParam[float64, *array.Float64](duckdb.TypeDouble, duckdb.CreateDouble),
		arrow.FLOAT16: param(duckdb.TypeFloat, func(a *array.Float16, i int) (duckdb.Value, error) {
			return duckdb.CreateFloat(a.Value(i).Float32()), nil
		}),
		arrow.STRING:            textParam[*array.String](),
		arrow.LARGE_STRING:      textParam[*array.LargeString](),
		arrow.STRING_VIEW:       textParam[*array.StringView](),
		arrow.BINARY:            numberParam[[]byte, *array.Binary](duckdb.TypeBlob, duckdb.CreateBlob),
		arrow.LARGE_BINARY:      numberParam[[]byte, *array.LargeBinary](duckdb.TypeBlob, duckdb.CreateBlob),
		arrow.BINARY_VIEW:       numberParam[[]byte, *array.BinaryView](duckdb.TypeBlob, duckdb.CreateBlob),
		arrow.FIXED_SIZE_BINARY: numberParam[[]byte, *array.FixedSizeBinary](duckdb.TypeBlob, duckdb.CreateBlob),
		arrow.DATE32: param(duckdb.TypeDate, func(a *array.Date32, i int) (duckdb.Value, error) {
			return duckdb.CreateDate(duckdb.NewDate(int32(a.Value(i)))), nil
		}),
		arrow.DATE64: param(duckdb.TypeDate, func(a *array.Date64, i int) (duckdb.Value, error) {
			const dayMillis = 24 * 60 * 60 * 1000
			days := int64(a.Value(i)) / dayMillis
			if int64(a.Value(i))%dayMillis != 0 || days != int64(int32(days)) {
				return duckdb.Value{}, inexactParam(fmt.Sprint(int64(a.Value(i)), " ms"), "a whole day")
			}
			return duckdb.CreateDate(duckdb.NewDate(int32(days))), nil
		}),
	}
}

func inexactParam(value, want string) error {
	return &failure{Class: "Invalid Input", Position: -1, Public: true, Message: fmt.Sprintf("a parameter's value of %s is not %s, which the engine has no type for; round it, or bind another type", value, want)}
}

func decimalParam(t arrow.DecimalType) (paramType, bool) {
	width, scale := uint8(t.GetPrecision()), uint8(t.GetScale())
	if t.GetPrecision() > decimal128.MaxPrecision || t.GetScale() < 0 || t.GetScale() > t.GetPrecision() {
		return paramType{}, false
	}
	return paramType{
		logical: func() duckdb.LogicalType { return duckdb.CreateDecimalType(width, scale) },
		value: func(a arrow.Array, i int) (duckdb.Value, error) {
			v, ok := decimalValue(a, i)
			if !ok || !v.FitsInPrecision(int32(width)) {
				return duckdb.Value{}, badParams("a decimal of more digits than its type has")
			}
			return duckdb.CreateDecimal(duckdb.NewDecimal(width, scale, duckdb.NewHugeInt(v.LowBits(), v.HighBits()))), nil
		},
	}, true
}

// decimalValue is a decimal of any width as one of 128 bits, if it is one.
func decimalValue(a arrow.Array, i int) (decimal128.Num, bool) {
	switch a := a.(type) {
	case *array.Decimal32:
		return decimal128.FromI64(int64(a.Value(i))), true
	case *array.Decimal64:
		return decimal128.FromI64(int64(a.Value(i))), true
	case *array.Decimal128:
		return a.Value(i), true
	case *array.Decimal256:
		words := a.Value(i).Array() // the lowest first
		v := decimal128.New(int64(words[1]), words[0])
		sign := uint64(int64(words[1]) >> 63)
		return v, words[2] == sign && words[3] == sign
	}
	return decimal128.Num{}, false
}

func timestampParam(t *arrow.TimestampType) paramType {
	if t.TimeZone != "" {
		return param(duckdb.TypeTimestampTZ, func(a *array.Timestamp, i int) (duckdb.Value, error) {
			us, err := micros(int64(a.Value(i)), t.Unit)
			return duckdb.CreateTimestampTZ(duckdb.NewTimestamp(us)), err
		})
	}
	switch t.Unit {
	case arrow.Second:
		return param(duckdb.TypeTimestampS, func(a *array.Timestamp, i int) (duckdb.Value, error) {
			return duckdb.CreateTimestampS(duckdb.NewTimestampS(int64(a.Value(i)))), nil
		})
	case arrow.Millisecond:
		return param(duckdb.TypeTimestampMS, func(a *array.Timestamp, i int) (duckdb.Value, error) {
			return duckdb.CreateTimestampMS(duckdb.NewTimestampMS(int64(a.Value(i)))), nil
		})
	case arrow.Nanosecond:
		return param(duckdb.TypeTimestampNS, func(a *array.Timestamp, i int) (duckdb.Value, error) {
			return duckdb.CreateTimestampNS(duckdb.NewTimestampNS(int64(a.Value(i)))), nil
		})
	}
	return param(duckdb.TypeTimestamp, func(a *array.Timestamp, i int) (duckdb.Value, error) {
		return duckdb.CreateTimestamp(duckdb.NewTimestamp(int64(a.Value(i)))), nil
	})
}

// micros makes a count of a unit one of microseconds, if that is exact.
func micros(n int64, unit arrow.TimeUnit) (int64, error) {
	if unit == arrow.Nanosecond {
		if n%1000 != 0 {
			return 0, inexactParam(fmt.Sprint(n, " ns"), "a whole microsecond")
		}
		return n / 1000, nil
	}
	per := int64(unit.Multiplier() / arrow.Microsecond.Multiplier())
	if n > math.MaxInt64/per || n < math.MinInt64/per {
		return 0, inexactParam(fmt.Sprint(n, " ", unit), "within 64 bits of microseconds")
	}
	return n * per, nil
}

func timeParam(unit arrow.TimeUnit) paramType {
	const dayNanos = 24 * 60 * 60 * 1_000_000_000
	nanos := func(a arrow.Array, i int) (int64, error) {
		var n int64
		switch a := a.(type) {
		case *array.Time32:
			n = int64(a.Value(i))
		case *array.Time64:
			n = int64(a.Value(i))
		default:
			return 0, badParams(fmt.Sprintf("%T of type %s", a, a.DataType()))
		}
		per := int64(unit.Multiplier())
		if n < 0 || n > dayNanos/per {
			return 0, inexactParam(fmt.Sprint(n, " ", unit), "a time of a day")
		}
		return n * per, nil
	}
	if unit == arrow.Nanosecond {
		return param(duckdb.TypeTimeNS, func(a arrow.Array, i int) (duckdb.Value, error) {
			n, err := nanos(a, i)
			return duckdb.CreateTimeNS(duckdb.NewTimeNS(n)), err
		})
	}
	return param(duckdb.TypeTime, func(a arrow.Array, i int) (duckdb.Value, error) {
		n, err := nanos(a, i)
		return duckdb.CreateTime(duckdb.NewTime(n / 1000)), err
	})
}

// typedNull is NULL of a type: the first child of a list of that type whose
// elements are NULL.
func typedNull(t duckdb.LogicalType) duckdb.Value {
	null := duckdb.CreateNullValue()
	defer duckdb.DestroyValue(&null)
	l := duckdb.CreateListValue(t, []duckdb.Value{null})
	defer duckdb.DestroyValue(&l)
	return duckdb.GetListChild(l, 0)
}

// A binding is the values of a statement's parameters, by position.
type binding []duckdb.Value

func (b binding) close() {
	for i := range b {
		if b[i].Ptr != nil {
			duckdb.DestroyValue(&b[i])
		}
	}
}

// newBinding reads the values of parameters from a row: columns has the column
// of each. The caller closes it.
func newBinding(params []byte, columns []int) (b binding, err error) {
	row, err := paramRow(params)
	if err != nil {
		return nil, err
	}
	defer row.Release()
	defer func() {
		if p := recover(); p != nil {
			err = badParams(fmt.Sprint(p))
		}
		if err != nil {
			b.close()
			b = nil
		}
	}()
	b = make(binding, len(columns))
	for k, c := range columns {
		if c < 0 || c >= int(row.NumCols()) {
			return b, badParams("too few columns")
		}
		t, ok := paramTypeOf(row.Column(c).DataType())
		if !ok {
			return b, badParams("a type that is not bound")
		}
		a, i := valueOf(row.Column(c), 0)
		if i < 0 || t.value == nil {
			logical := t.logical()
			b[k] = typedNull(logical)
			duckdb.DestroyLogicalType(&logical)
			continue
		}
		if b[k], err = t.value(a, i); err != nil {
			return b, err
		}
	}
	return b, nil
}

// guess returns what the result of a query would be, of which the engine says
// nothing as long as no values are bound. NULLs stand in for them: of the types
// that the engine inferred, and of VARCHAR where there is none; or, as not
// every operator takes a VARCHAR, of no type.
func (c *conn) guess(s *stream, names []string, sql string) (*arrow.Schema, error) {
	var first error
	for _, unknown := range []duckdb.Type{duckdb.TypeVarchar, duckdb.TypeSQLNull} {
		b, err := s.standIns(names, unknown)
		if err != nil {
			return nil, err
		}
		result, err := c.resultOf(sql, names, b)
		b.close()
		if err == nil {
			return result, nil
		}
		if first == nil {
			first = err
		}
	}
	f, ok := errors.AsType[*failure](first)
	if !ok {
		return nil, first
	}
	g := *f
	g.Message += "\n(parameters of types that cannot be inferred were taken for VARCHAR; say the type in the statement, as in $1::BIGINT)"
	return nil, &g
}

// standIns are NULLs of the types that a statement's parameters have, or of
// unknown where that is not known. The caller closes them.
func (s *stream) standIns(names []string, unknown duckdb.Type) (binding, error) {
	b := make(binding, len(names))
	for i, name := range names {
		t, err := s.paramType(name, unknown)
		if err != nil {
			b.close()
			return nil, err
		}
		b[i] = typedNull(t)
		duckdb.DestroyLogicalType(&t)
	}
	return b, nil
}

// param returns the engine's position of a parameter.
func (s *stream) param(name string) (duckdb.IdxT, error) {
	var at duckdb.IdxT
	if duckdb.BindParameterIndex(s.stmt, &at, name) == duckdb.StateError {
		return 0, fmt.Errorf("%w: parameter %q is not in the statement", errProtocol, name)
	}
	return at, nil
}

// paramType returns the type of a parameter, or unknown if it is not known. The
// caller destroys it.
func (s *stream) paramType(name string, unknown duckdb.Type) (duckdb.LogicalType, error) {
	at, err := s.param(name)
	if err != nil {
		return duckdb.LogicalType{}, err
	}
	t := duckdb.ParamLogicalType(s.stmt, at)
	if t.Ptr == nil {
		return duckdb.CreateLogicalType(unknown), nil
	}
	switch duckdb.GetTypeId(t) {
	case duckdb.TypeInvalid, duckdb.TypeSQLNull, duckdb.TypeAny, duckdb.TypeStringLiteral:
		duckdb.DestroyLogicalType(&t)
		return duckdb.CreateLogicalType(unknown), nil
	case duckdb.TypeIntegerLiteral:
		duckdb.DestroyLogicalType(&t)
		return duckdb.CreateLogicalType(duckdb.TypeBigInt), nil
	}
	return t, nil
}

// params is the schema of the statement's parameters. One of a type that Arrow
// does not have is a text, which the engine casts.
func (s *stream) params(names []string) (*arrow.Schema, error) {
	fields := make([]arrow.Field, len(names))
	for i, name := range names {
		t, err := s.paramType(name, duckdb.TypeVarchar)
		if err != nil {
			return nil, err
		}
		fields[i] = arrow.Field{Name: paramPrefix + name, Type: arrow.BinaryTypes.String, Nullable: true}
		_, refused := checkOf(t, name)
		one, err := arrowSchema(s.options, []string{name}, []duckdb.LogicalType{t})
		if refused == nil && err == nil {
			if typ := inUTC(one.Field(0).Type); bindable(typ) {
				fields[i].Type = typ
			}
		}
		duckdb.DestroyLogicalType(&t)
	}
	return arrow.NewSchema(fields, nil), nil
}

func bindable(t arrow.DataType) bool { _, ok := paramTypeOf(t); return ok }

// bind sets the values of the statement's parameters.
func (s *stream) bind(names []string, b binding) error {
	if n := int(duckdb.NParams(s.stmt)); n != len(b) || n != len(names) {
		return fmt.Errorf("%w: %d values for %d parameters", errProtocol, len(b), n)
	}
	for i, v := range b {
		at, err := s.param(names[i])
		if err != nil {
			return err
		}
		if duckdb.BindValue(s.stmt, at, v) == duckdb.StateError {
			return parseFailure(duckdb.PrepareError(s.stmt))
		}
	}
	return nil
}

// resultOf returns what the result of a query would be with these values. The
// engine says that only of a statement that runs, so two run that read
// nothing: one that lists the columns' names, and one whose rows are known to
// be none. Both know the values while they are planned, as the query will.
func (c *conn) resultOf(sql string, params []string, b binding) (*arrow.Schema, error) {
	const before = "DESCRIBE ("
	names, err := c.firstColumn(before+sql+")", params, b)
	if err != nil {
		return nil, shifted(err, -len(before))
	}
	s, err := c.prepare("SELECT * FROM (" + sql + ") AS q WHERE false")
	if err != nil {
		return nil, elsewhere(err)
	}
	defer s.close()
	if err := s.begin(params, b); err != nil {
		return nil, elsewhere(err)
	}
	if s.schema == nil || s.schema.NumFields() != len(names) {
		return nil, fmt.Errorf("%w: %d names of other columns", errProtocol, len(names))
	}
	fields := s.schema.Fields()
	for i, n := range names {
		fields[i].Name = n
	}
	return arrow.NewSchema(fields, nil), nil
}

// shifted is a failure of a text that has the statement's at another place.
func shifted(err error, by int) error {
	if f, ok := errors.AsType[*failure](err); ok && f.Position >= -by {
		g := *f
		g.Position += by
		return &g
	}
	return elsewhere(err)
}

// begin binds values and starts the statement, after which its schema is known
// also where it depends on them.
func (s *stream) begin(params []string, b binding) error {
	if err := s.bind(params, b); err != nil {
		return err
	}
	if err := s.start(); err != nil {
		return err
	}
	return s.describeResult()
}

// firstColumn returns the texts in the first column of a statement of lake's
// own.
func (c *conn) firstColumn(sql string, params []string, b binding) ([]string, error) {
	s, err := c.prepare(sql)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if err := s.begin(params, b); err != nil {
		return nil, err
	}
	var names []string
	for {
		rows, err := s.next()
		if rows == nil || err != nil {
			return names, err
		}
		column, ok := rows.Column(0).(*array.String)
		for i := range int(rows.NumRows()) {
			if ok {
				names = append(names, strings.Clone(column.Value(i)))
			}
		}
		rows.Release()
	}
}

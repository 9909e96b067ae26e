package exec_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
)

// A bound is one value of a parameter.
type bound struct {
	name  string
	typ   arrow.DataType
	value any // as arrow-go's builders take it; nil is NULL
}

func b(t arrow.DataType, v any) bound { return bound{typ: t, value: v} }

// bind makes the row that a client binds.
func bind(t testing.TB, values ...bound) []byte {
	t.Helper()
	fields := make([]arrow.Field, len(values))
	columns := make([]arrow.Array, len(values))
	for i, v := range values {
		fields[i] = arrow.Field{Name: v.name, Type: v.typ, Nullable: true}
		columns[i] = oneValue(t, v)
		defer columns[i].Release()
	}
	schema := arrow.NewSchema(fields, nil)
	row := array.NewRecordBatch(schema, columns, 1)
	defer row.Release()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	if err := w.Write(row); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func oneValue(t testing.TB, v bound) arrow.Array {
	t.Helper()
	mem := memory.DefaultAllocator
	build := array.NewBuilder(mem, v.typ)
	defer build.Release()
	switch value := v.value.(type) {
	case nil:
		build.AppendNull()
	case float16.Num:
		build.(*array.Float16Builder).Append(value)
	case decimal128.Num:
		build.(*array.Decimal128Builder).Append(value)
	case decimal256.Num:
		build.(*array.Decimal256Builder).Append(value)
	case []byte:
		switch build := build.(type) {
		case *array.FixedSizeBinaryBuilder:
			build.Append(value)
		case *array.BinaryBuilder:
			build.Append(value)
		default:
			t.Fatalf("bytes for %T", build)
		}
	case string:
		switch build := build.(type) {
		case *array.StringBuilder:
			build.Append(value)
		case *array.LargeStringBuilder:
			build.Append(value)
		case array.DictionaryBuilder:
			if err := build.AppendValueFromString(value); err != nil {
				t.Fatal(err)
			}
		default:
			t.Fatalf("a text for %T", build)
		}
	case count:
		return fromCount(v.typ, int64(value))
	default:
		if err := build.AppendValueFromString(fmt.Sprint(value)); err != nil {
			t.Fatal(err)
		}
	}
	return build.NewArray()
}

// count is a date or time in its own unit.
type count int64

func fromCount(t arrow.DataType, n int64) arrow.Array {
	width := t.(arrow.FixedWidthDataType).Bytes()
	raw := make([]byte, width)
	for i := range raw {
		raw[i] = byte(n >> (8 * i))
	}
	d := array.NewData(t, 1, []*memory.Buffer{nil, memory.NewBufferBytes(raw)}, nil, 0, 0)
	defer d.Release()
	return array.MakeFromData(d)
}

// ask runs a statement with bound values; its description must be what it is.
func (l *lake) ask(t testing.TB, sql string, params []byte) (result, error) {
	t.Helper()
	q, err := l.query(t.Context(), sql)
	if err != nil {
		return result{}, err
	}
	q.Params = params
	r, err := l.pool.Query(t.Context(), q)
	if err != nil {
		return result{}, err
	}
	defer r.Close()
	res, err := collect(t.Context(), r)
	if err != nil {
		return res, err
	}
	d, err := l.pool.Describe(t.Context(), q)
	if err != nil || !d.Result.Equal(res.schema) {
		t.Errorf("%s\ndescribed as %v, %v\nbut is %v", sql, d.Result, err, res.schema)
	}
	return res, nil
}

var zone = "Europe/Paris"

// nines is the largest decimal.
var nines = decimal128.GetScaleMultiplier(38).Sub(decimal128.FromI64(1))

func TestParametersOfEveryType(t *testing.T) {
	l := openLake(t, nil)
	ts := func(u arrow.TimeUnit, zone string) arrow.DataType {
		return &arrow.TimestampType{Unit: u, TimeZone: zone}
	}
	for _, tt := range []struct {
		value  bound
		result arrow.DataType // of SELECT $1
		text   string         // of it
	}{
		{b(arrow.FixedWidthTypes.Boolean, true), arrow.FixedWidthTypes.Boolean, "true"},
		{b(arrow.PrimitiveTypes.Int8, int8(-128)), arrow.PrimitiveTypes.Int8, "-128"},
		{b(arrow.PrimitiveTypes.Int16, int16(-32768)), arrow.PrimitiveTypes.Int16, "-32768"},
		{b(arrow.PrimitiveTypes.Int32, int32(-5)), arrow.PrimitiveTypes.Int32, "-5"},
		{b(arrow.PrimitiveTypes.Int64, int64(-1<<63)), arrow.PrimitiveTypes.Int64, "-9223372036854775808"},
		{b(arrow.PrimitiveTypes.Uint8, uint8(255)), arrow.PrimitiveTypes.Uint8, "255"},
		{b(arrow.PrimitiveTypes.Uint16, uint16(65535)), arrow.PrimitiveTypes.Uint16, "65535"},
		{b(arrow.PrimitiveTypes.Uint32, uint32(1<<32-1)), arrow.PrimitiveTypes.Uint32, "4294967295"},
		{b(arrow.PrimitiveTypes.Uint64, uint64(1<<64-1)), arrow.PrimitiveTypes.Uint64, "18446744073709551615"},
		{b(arrow.FixedWidthTypes.Float16, float16.New(1.5)), arrow.PrimitiveTypes.Float32, "1.5"},
		{b(arrow.PrimitiveTypes.Float32, float32(0.25)), arrow.PrimitiveTypes.Float32, "0.25"},
		{b(arrow.PrimitiveTypes.Float64, 1e300), arrow.PrimitiveTypes.Float64, "1e+300"},
		{b(&arrow.Decimal128Type{Precision: 10, Scale: 2}, decimal128.FromI64(-1234)), &arrow.Decimal128Type{Precision: 10, Scale: 2}, "-12.34"},
		{b(&arrow.Decimal128Type{Precision: 38, Scale: 0}, nines), &arrow.Decimal128Type{Precision: 38, Scale: 0}, strings.Repeat("9", 38)},
		{b(&arrow.Decimal256Type{Precision: 20, Scale: 3}, decimal256.FromI64(-1)), &arrow.Decimal128Type{Precision: 20, Scale: 3}, "-0.001"},
		{b(arrow.BinaryTypes.String, "it's 日本"), arrow.BinaryTypes.String, "it's 日本"},
		{b(arrow.BinaryTypes.String, ""), arrow.BinaryTypes.String, ""},
		{b(arrow.BinaryTypes.LargeString, "large"), arrow.BinaryTypes.String, "large"},
		{b(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, "word"), arrow.BinaryTypes.String, "word"},
		{b(arrow.BinaryTypes.Binary, []byte{0, 255, '\''}), arrow.BinaryTypes.Binary, "AP8n"},
		{b(&arrow.FixedSizeBinaryType{ByteWidth: 2}, []byte{1, 2}), arrow.BinaryTypes.Binary, "AQI="},
		{bound{typ: arrow.FixedWidthTypes.Date32, value: count(-1)}, arrow.FixedWidthTypes.Date32, "1969-12-31"},
		{bound{typ: arrow.FixedWidthTypes.Date64, value: count(86400000)}, arrow.FixedWidthTypes.Date32, "1970-01-02"},
		{bound{typ: arrow.FixedWidthTypes.Time32s, value: count(3661)}, arrow.FixedWidthTypes.Time64us, "01:01:01.000000"},
		{bound{typ: arrow.FixedWidthTypes.Time32ms, value: count(1500)}, arrow.FixedWidthTypes.Time64us, "00:00:01.500000"},
		{bound{typ: arrow.FixedWidthTypes.Time64us, value: count(1)}, arrow.FixedWidthTypes.Time64us, "00:00:00.000001"},
		{bound{typ: arrow.FixedWidthTypes.Time64ns, value: count(1)}, arrow.FixedWidthTypes.Time64ns, "00:00:00.000000001"},
		{bound{typ: ts(arrow.Second, ""), value: count(-1)}, ts(arrow.Second, ""), "1969-12-31T23:59:59"},
		{bound{typ: ts(arrow.Millisecond, ""), value: count(1)}, ts(arrow.Millisecond, ""), "1970-01-01T00:00:00.001"},
		{bound{typ: ts(arrow.Microsecond, ""), value: count(1)}, ts(arrow.Microsecond, ""), "1970-01-01T00:00:00.000001"},
		{bound{typ: ts(arrow.Nanosecond, ""), value: count(1)}, ts(arrow.Nanosecond, ""), "1970-01-01T00:00:00.000000001"},
		{bound{typ: ts(arrow.Second, zone), value: count(3600)}, ts(arrow.Microsecond, "UTC"), "1970-01-01T01:00:00Z"},
		{bound{typ: ts(arrow.Millisecond, "UTC"), value: count(1)}, ts(arrow.Microsecond, "UTC"), "1970-01-01T00:00:00.001Z"},
		{bound{typ: ts(arrow.Microsecond, "UTC"), value: count(1)}, ts(arrow.Microsecond, "UTC"), "1970-01-01T00:00:00.000001Z"},
		{bound{typ: ts(arrow.Nanosecond, "UTC"), value: count(1000)}, ts(arrow.Microsecond, "UTC"), "1970-01-01T00:00:00.000001Z"},
	} {
		t.Run(tt.value.typ.String(), func(t *testing.T) {
			for _, null := range []bool{false, true} {
				want := tt.text
				v := tt.value
				if null {
					v.value, want = nil, "(null)"
				}
				res, err := l.ask(t, "SELECT $1", bind(t, v))
				if err != nil {
					t.Fatal(err)
				}
				if f := res.schema.Field(0); f.Name != "$1" || !arrow.TypeEqual(f.Type, tt.result) {
					t.Errorf("the result is %v, want %v", f, tt.result)
				}
				if got := res.column(t, 0).ValueStr(0); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			}
		})
	}
	res, err := l.ask(t, "SELECT $1 IS NULL, $1", bind(t, b(arrow.Null, nil)))
	if err != nil || res.column(t, 0).ValueStr(0) != "true" {
		t.Errorf("a value without a type: %v", err)
	}
}

func TestParametersTakeTheStatementsTypes(t *testing.T) {
	l := openLake(t, nil)
	l.add(t, "numbers", numberColumns, numbers(100))
	text, i32, i64 := arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64
	for _, tt := range []struct {
		name, sql string
		values    []bound
		want      string
	}{
		{"the column's own type", "SELECT name FROM numbers WHERE id = ?", []bound{b(i64, int64(7))}, "row 7"},
		{"a smaller one", "SELECT name FROM numbers WHERE id = ?", []bound{b(i32, int32(7))}, "row 7"},
		{"a text for a number", "SELECT name FROM numbers WHERE id = ?", []bound{b(text, "7")}, "row 7"},
		{"a number for a text", "SELECT lower($1::VARCHAR)", []bound{b(i64, int64(7))}, "7"},
		{"a cast", "SELECT $1::DATE", []bound{b(text, "2020-02-29")}, "2020-02-29"},
		{"a wider result", "SELECT id + $1 FROM numbers WHERE id = 1", []bound{b(arrow.PrimitiveTypes.Float64, 0.5)}, "1.5"},
		{"LIMIT and OFFSET", "SELECT id FROM numbers ORDER BY id LIMIT ? OFFSET ?", []bound{b(i64, int64(1)), b(i64, int64(5))}, "5"},
		{"an argument of a table function", "SELECT count(*) FROM range($1)", []bound{b(i64, int64(12))}, "12"},
		{"an argument that must be constant", "SELECT quantile_disc(id, $1) FROM numbers", []bound{b(arrow.PrimitiveTypes.Float64, 0.5)}, "49"},
		{"in a subquery, a lambda and a window", "SELECT (SELECT max(id) FROM numbers WHERE id < $1) + list_transform([1], lambda x: x + $1)[1] + sum($1) OVER ()", []bound{b(i64, int64(10))}, "30"},
		{"one that is used twice", "SELECT $1 || $1", []bound{b(text, "ab")}, "abab"},
		{"numbers out of order", "SELECT $2 || $1", []bound{b(text, "a"), b(text, "b")}, "ba"},
		{"by name, in another order", "SELECT $a || $b", []bound{{"b", text, "B"}, {"$a", text, "A"}}, "AB"},
		{"names by position", "SELECT $a || $b", []bound{b(text, "A"), b(text, "B")}, "AB"},
		{"where the text is put in another order", "FROM numbers SELECT id + $y WHERE id = $x", []bound{{"x", i64, int64(3)}, {"y", i64, int64(100)}}, "103"},
		{"positions where the text is put in another order", "FROM numbers SELECT id + $y WHERE id = $x", []bound{b(i64, int64(100)), b(i64, int64(3))}, "103"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, err := l.ask(t, tt.sql, bind(t, tt.values...))
			if err != nil {
				t.Fatal(err)
			}
			if res.rows != 1 || res.column(t, 0).ValueStr(0) != tt.want {
				t.Errorf("got %v, want %s", res.batches, tt.want)
			}
		})
	}
}

// A value is a value, whatever it reads like.
func TestParametersAreNeverSQL(t *testing.T) {
	l := openLake(t, nil)
	l.add(t, "numbers", numberColumns, numbers(3))
	for _, s := range []string{
		"' OR 1=1 --", "'; DROP TABLE numbers; --", "$1", "?", `\'`, `"`, "$$", "temp.main.__lake_0", "read_text('/etc/passwd')",
		"nul\x00byte", strings.Repeat("'", 30000), "\U0010FFFF", "/etc/passwd",
	} {
		res, err := l.ask(t, "SELECT $1, (SELECT count(*) FROM numbers WHERE name = $1)", bind(t, b(arrow.BinaryTypes.String, s)))
		if err != nil {
			t.Errorf("%.40q: %v", s, err)
			continue
		}
		if got := res.column(t, 0).ValueStr(0); got != s || res.column(t, 1).ValueStr(0) != "0" {
			t.Errorf("%.40q came back as %.40q", s, got)
		}
	}
}

func TestParametersThatDoNotFit(t *testing.T) {
	l := openLake(t, nil)
	l.add(t, "numbers", numberColumns, numbers(3))
	text, i64 := arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64
	list := arrow.ListOf(i64)
	for _, tt := range []struct {
		name, sql string
		params    []byte
		kind      fault.Kind
		says      string
	}{
		{"none", "SELECT $1", nil, fault.Invalid, "1 parameter ($1) and no values"},
		{"too few", "SELECT $1, $2", bind(t, b(i64, int64(1))), fault.Invalid, "2 parameters ($1, $2), but the bound row has 1"},
		{"too many", "SELECT ?", bind(t, b(i64, int64(1)), b(i64, int64(1))), fault.Invalid, "1 parameter ($1), but the bound row has 2"},
		{"where none are", "SELECT 1", bind(t, b(i64, int64(1))), fault.Invalid, "no parameters"},
		{"half of the names", "SELECT $a, $b", bind(t, bound{"a", i64, int64(1)}, bound{"c", i64, int64(1)}), fault.Invalid, "$b"},
		{"a type that is not bound", "SELECT $1, $2", bind(t, b(i64, int64(1)), b(list, nil)), fault.Unsupported, "$2"},
		{"a text that is no number", "SELECT id FROM numbers WHERE id = $1", bind(t, b(text, "x'y")), fault.Invalid, "x'y"},
		{"a function that does not take it", "SELECT lower($1)", bind(t, b(arrow.PrimitiveTypes.Float64, 1.5)), fault.Invalid, "lower"},
		{"a nanosecond with a zone", "SELECT $1", bind(t, bound{typ: &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}, value: count(1)}), fault.Invalid, "whole microsecond"},
		{"a time after the day's end", "SELECT $1", bind(t, bound{typ: arrow.FixedWidthTypes.Time32s, value: count(86401)}), fault.Invalid, "a time of a day"},
		{"half a day", "SELECT $1", bind(t, bound{typ: arrow.FixedWidthTypes.Date64, value: count(1)}), fault.Invalid, "whole day"},
		{"too large", "SELECT $1", bind(t, b(text, strings.Repeat("x", 64<<10))), fault.Exhausted, "65536 allowed"},
		{"no Arrow", "SELECT $1", []byte("garbage"), fault.Invalid, "no Arrow"},
		{"an Arrow stream without its row", "SELECT $1", bind(t, b(i64, int64(1)))[:200], fault.Invalid, "one row"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := l.ask(t, tt.sql, tt.params)
			if fault.KindOf(err) != tt.kind || err == nil || !strings.Contains(fault.Public(err), tt.says) {
				t.Errorf("got %v (%v), want %v with %q", err, fault.KindOf(err), tt.kind, tt.says)
			}
		})
	}
	if s := l.pool.Stats(); s.Deaths != 0 {
		t.Errorf("%d workers died", s.Deaths)
	}
}

func TestDescribeSaysTheParameters(t *testing.T) {
	l := openLake(t, nil)
	l.add(t, "numbers", numberColumns, numbers(3))
	for _, tt := range []struct{ sql, params, result string }{
		{"SELECT 1 AS a", "", "a int32"},
		{"SELECT id FROM numbers WHERE id = ? AND name = ?", "$1 int64, $2 utf8", "id int64"},
		{"SELECT id FROM numbers WHERE name = $who AND id < $most", "$who utf8, $most int64", "id int64"},
		{"FROM numbers SELECT $b::DATE AS d, $c AS e WHERE id = $a", "$b date32, $c utf8, $a int64", "d date32, e utf8"},
		{"SELECT $1", "$1 utf8", "$1 utf8"},
		{"SELECT ? AS x, id FROM numbers LIMIT ?", "$1 utf8, $2 int64", "x utf8, id int64"},
		{"SELECT * FROM range($1::BIGINT) AS r(i)", "$1 int64", "i int64"},
		{"SELECT $1 + 1 AS n", "$1 utf8", "n int32"},
		{"SELECT $1::HUGEINT AS h, $2::BIT::VARCHAR AS b", "$1 decimal(38, 0), $2 utf8", "h decimal(38, 0), b utf8"},
	} {
		q, err := l.query(t.Context(), tt.sql)
		if err != nil {
			t.Fatal(err)
		}
		d, err := l.pool.Describe(t.Context(), q)
		if err != nil {
			t.Errorf("%s: %v", tt.sql, err)
			continue
		}
		if got := fields(d.Params); got != tt.params {
			t.Errorf("%s: parameters %s, want %s", tt.sql, got, tt.params)
		}
		if got := fields(d.Result); got != tt.result {
			t.Errorf("%s: result %s, want %s", tt.sql, got, tt.result)
		}
	}
	q := engine.Query{SQL: "SELECT quantile_disc(i, $1) FROM range(3) t(i)"}
	if _, err := l.pool.Describe(t.Context(), q); fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), "$1::BIGINT") {
		t.Errorf("a type that cannot be inferred: %v", err)
	}
}

func fields(s *arrow.Schema) string {
	var out []string
	for _, f := range s.Fields() {
		out = append(out, f.Name+" "+f.Type.String())
	}
	return strings.Join(out, ", ")
}

// Planning with values must not run the statement.
func TestDescribeWithParametersRunsNothing(t *testing.T) {
	l := openLake(t, nil)
	q := engine.Query{SQL: "SELECT count(*), $1 FROM range(1000000000000) a, range(1000000000) b", Params: bind(t, b(arrow.PrimitiveTypes.Int64, int64(1)))}
	if _, err := l.pool.Describe(t.Context(), q); err != nil {
		t.Error(err)
	}
}

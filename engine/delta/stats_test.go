package delta

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/lakeward/lake/engine"
)

func text(s string) engine.Value   { return engine.Value{Kind: engine.TextValue, Text: s} }
func float(f float64) engine.Value { return engine.Value{Kind: engine.FloatValue, Float: f} }
func integer(n int64) engine.Value { return engine.Value{Kind: engine.IntValue, Int: n} }
func timestamp(us int64) engine.Value {
	return engine.Value{Kind: engine.TimestampValue, Int: us}
}

func TestTextBoundsAreCutTheSafeWay(t *testing.T) {
	long := strings.Repeat("a", textRunesMax)
	for _, tt := range []struct {
		name         string
		s            string
		lower, upper engine.Value
	}{
		{"short text is its own bound", "abc", text("abc"), text("abc")},
		{"empty text is its own bound", "", text(""), text("")},
		{"text of just the length is not cut", long, text(long), text(long)},
		{"a cut lower bound is a prefix, a cut upper one is raised", long + "x", text(long), text(long[1:] + "b")},
		{"characters are counted, not bytes", strings.Repeat("ä", textRunesMax), text(strings.Repeat("ä", textRunesMax)), text(strings.Repeat("ä", textRunesMax))},
		{"the last character that can be raised is", long[1:] + "\U0010FFFF" + "x", text(long[1:] + "\U0010FFFF"), text(long[2:] + "b")},
		{"raising steps over the surrogates", long[1:] + "\uD7FF" + "x", text(long[1:] + "\uD7FF"), text(long[1:] + "\uE000")},
		{"where nothing can be raised, there is no upper bound", strings.Repeat("\U0010FFFF", textRunesMax+1), text(strings.Repeat("\U0010FFFF", textRunesMax)), engine.Value{}},
		{"what is not UTF-8 has no bounds", "a\xff", engine.Value{}, engine.Value{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lower, upper := lowerText(tt.s), upperText(tt.s)
			if lower != tt.lower || upper != tt.upper {
				t.Errorf("bounds %+q and %+q, want %+q and %+q", lower.Text, upper.Text, tt.lower.Text, tt.upper.Text)
			}
			if lower.Kind != 0 && lower.Text > tt.s || upper.Kind != 0 && upper.Text < tt.s {
				t.Errorf("%+q lies outside of its bounds", tt.s)
			}
		})
	}
}

func TestFloatBounds(t *testing.T) {
	nan, inf, minus := math.NaN(), math.Inf(1), math.Copysign(0, -1)
	for _, tt := range []struct {
		name     string
		values   []float64
		min, max engine.Value
	}{
		{"plain numbers", []float64{2, -1, 3}, float(-1), float(3)},
		{"a NaN leaves the lower bound and takes the upper one", []float64{nan, 2, -1}, float(-1), engine.Value{}},
		{"a NaN in the middle too", []float64{2, nan, -1, nan}, float(-1), engine.Value{}},
		{"nothing but NaN has no bounds", []float64{nan, nan}, engine.Value{}, engine.Value{}},
		{"infinities are bounds", []float64{-inf, 1, inf}, float(-inf), float(inf)},
		{"no values", nil, engine.Value{}, engine.Value{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := array.NewFloat64Builder(memory.DefaultAllocator)
			a.AppendValues(tt.values, nil)
			a.AppendNull()
			def := make([]int16, len(tt.values)+1)
			for i := range tt.values {
				def[i] = 1
			}
			b := &bounds{leaf: leaf{[]string{"x"}, arrow.PrimitiveTypes.Float64}}
			b.add(a.NewArray(), def, 1)
			want := engine.ColumnStats{Path: []string{"x"}, Nulls: 1, Min: tt.min, Max: tt.max}
			if diff := cmp.Diff(want, b.stats()); diff != "" {
				t.Errorf("stats (-want +got):\n%s", diff)
			}
		})
	}
	// Readers that order the zeros find both of them between the bounds.
	for _, values := range [][]float64{{0, minus}, {minus, 0}} {
		b := &bounds{leaf: leaf{[]string{"x"}, arrow.PrimitiveTypes.Float64}}
		for _, v := range values { // as two row groups
			a := array.NewFloat64Builder(memory.DefaultAllocator)
			a.AppendValues([]float64{v, v}, nil)
			b.add(a.NewArray(), nil, 0)
		}
		if s := b.stats(); !math.Signbit(s.Min.Float) || math.Signbit(s.Max.Float) {
			t.Errorf("%v has bounds %v and %v", values, s.Min.Float, s.Max.Float)
		}
	}
}

// statsColumns has a column of each kind of statistics.
var statsColumns = []engine.Column{
	{Source: "b", Stored: arrow.FixedWidthTypes.Boolean},
	{Source: "i", Stored: arrow.PrimitiveTypes.Int64},
	{Source: "f", Stored: arrow.PrimitiveTypes.Float64},
	{Source: "s", Stored: arrow.BinaryTypes.String},
	{Source: "bin", Stored: arrow.BinaryTypes.Binary},
	{Source: "d", Stored: &arrow.Decimal128Type{Precision: 38, Scale: 2}},
	{Source: "day", Stored: arrow.FixedWidthTypes.Date32},
	{Source: "ts", Stored: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: utc}},
	{Source: "ntz", Stored: &arrow.TimestampType{Unit: arrow.Microsecond}},
	{Source: "o", Stored: arrow.StructOf(arrow.Field{Name: "x.y", Type: arrow.PrimitiveTypes.Int32}, arrow.Field{Name: "deep", Type: arrow.StructOf(arrow.Field{Name: "z", Type: arrow.PrimitiveTypes.Int8})})},
	{Source: "l", Stored: arrow.ListOf(arrow.PrimitiveTypes.Int32)},
}

func TestStatsComeBack(t *testing.T) {
	decimal := func(s string) engine.Value { return engine.Value{Kind: engine.DecimalValue, Text: s} }
	in := engine.File{Rows: 7, Stats: []engine.ColumnStats{
		{Path: []string{"b"}, Nulls: 1, Min: engine.Value{Kind: engine.BoolValue}, Max: engine.Value{Kind: engine.BoolValue, Int: 1}},
		{Path: []string{"i"}, Nulls: 0, Min: integer(math.MinInt64), Max: integer(math.MaxInt64)},
		{Path: []string{"f"}, Nulls: 2, Min: float(math.Copysign(0, -1)), Max: float(1.7976931348623157e308)},
		{Path: []string{"s"}, Min: text("\u2028<&>\x00"), Max: text("\"\\\n€")},
		{Path: []string{"bin"}, Nulls: 3},
		{Path: []string{"d"}, Min: decimal("-999999999999999999999999999999999999.99"), Max: decimal("0.05")},
		{Path: []string{"day"}, Min: engine.Value{Kind: engine.DateValue, Int: -719162}, Max: engine.Value{Kind: engine.DateValue, Int: 2932896}},
		{Path: []string{"ts"}, Min: timestamp(-62135596800000000), Max: timestamp(253402300799999999)},
		{Path: []string{"ntz"}, Min: timestamp(-1), Max: timestamp(1)},
		{Path: []string{"o", "x.y"}, Nulls: 4, Min: integer(-1), Max: integer(1)},
		{Path: []string{"o", "deep", "z"}, Nulls: 5},
	}}
	rows, got := parseStats(encodeStats(in, leaves(statsColumns)), leaves(statsColumns))
	if rows != in.Rows {
		t.Errorf("%d rows", rows)
	}
	if diff := cmp.Diff(in.Stats, got); diff != "" {
		t.Errorf("stats (-written +read):\n%s", diff)
	}
	if f := got[2].Min.Float; !math.Signbit(f) {
		t.Error("the lower bound -0.0 came back as 0.0")
	}
}

func TestBoundsWithoutAFormAreLeftOut(t *testing.T) {
	in := engine.File{Rows: 1, Stats: []engine.ColumnStats{
		{Path: []string{"f"}, Min: float(math.Inf(-1)), Max: float(math.Inf(1))},
		{Path: []string{"day"}, Min: engine.Value{Kind: engine.DateValue, Int: -800_000}, Max: engine.Value{Kind: engine.DateValue, Int: math.MaxInt32}},
		{Path: []string{"ts"}, Min: timestamp(math.MinInt64), Max: timestamp(math.MaxInt64)},
		{Path: []string{"d"}, Min: engine.Value{Kind: engine.DecimalValue, Text: `1,"x":2`}, Max: engine.Value{Kind: engine.DecimalValue, Text: "1e5"}},
		{Path: []string{"none"}, Min: integer(1)},
	}}
	encoded := encodeStats(in, leaves(statsColumns))
	if want := `{"numRecords":1,"nullCount":{"d":0,"day":0,"f":0,"ts":0}}`; encoded != want {
		t.Errorf("stats %s, want %s", encoded, want)
	}
}

func TestStatsOfManyColumnsStopAtTheFirst(t *testing.T) {
	var columns []engine.Column
	f := engine.File{Rows: 1}
	for i := range 40 {
		name := fmt.Sprintf("c%02d", i)
		columns = append(columns, engine.Column{Source: name, Stored: arrow.PrimitiveTypes.Int64})
		f.Stats = append(f.Stats, engine.ColumnStats{Path: []string{name}, Min: integer(1), Max: integer(2)})
	}
	var s statsText
	if err := json.Unmarshal([]byte(encodeStats(f, leaves(columns))), &s); err != nil {
		t.Fatal(err)
	}
	if len(s.MinValues) != 32 || len(s.MaxValues) != 32 || len(s.NullCount) != 32 || s.MinValues["c31"] == nil {
		t.Errorf("stats of %d, %d, %d columns", len(s.MinValues), len(s.MaxValues), len(s.NullCount))
	}
}

func TestStatsOfOtherWriters(t *testing.T) {
	for _, tt := range []struct {
		name, stats string
		rows        int64
		want        []engine.ColumnStats
	}{
		{"none", ``, -1, nil},
		{"broken", `{"numRecords":`, -1, nil},
		{"of another shape", `{"numRecords":3,"minValues":7}`, -1, nil},
		{"only a count", `{"numRecords":3}`, 3, nil},
		{"without null counts nothing is known", `{"numRecords":3,"minValues":{"i":1}}`, 3, nil},
		{
			"values of another type are not known", `{"numRecords":3,"minValues":{"i":"x","s":1,"f":true},"maxValues":{"i":1.5},"nullCount":{"i":0,"s":0,"f":0}}`, 3,
			[]engine.ColumnStats{{Path: []string{"i"}}, {Path: []string{"f"}}, {Path: []string{"s"}}},
		},
		{
			"an upper timestamp of milliseconds is raised by what was cut off",
			`{"numRecords":1,"minValues":{"ts":"2024-01-01T00:00:00.001Z","ntz":"2024-01-01T00:00:00.001"},"maxValues":{"ts":"2024-01-01T00:00:00.001Z","ntz":"2024-01-01 00:00:00"},"nullCount":{"ts":0,"ntz":0}}`, 1,
			[]engine.ColumnStats{
				{Path: []string{"ts"}, Min: timestamp(1704067200001000), Max: timestamp(1704067200001999)},
				{Path: []string{"ntz"}, Min: timestamp(1704067200001000), Max: timestamp(1704067200000999)},
			},
		},
		{
			"a timestamp may have an offset, or nanoseconds",
			`{"numRecords":1,"minValues":{"ts":"2024-01-01T01:00:00.000001+01:00"},"maxValues":{"ts":"2024-01-01T00:00:00.000001001Z"},"nullCount":{"ts":0}}`, 1,
			[]engine.ColumnStats{{Path: []string{"ts"}, Min: timestamp(1704067200000001), Max: timestamp(1704067200000002)}},
		},
		{
			"a decimal gets its column's scale", `{"numRecords":1,"minValues":{"d":-1},"maxValues":{"d":1.5},"nullCount":{"d":0}}`, 1,
			[]engine.ColumnStats{{Path: []string{"d"}, Min: engine.Value{Kind: engine.DecimalValue, Text: "-1.00"}, Max: engine.Value{Kind: engine.DecimalValue, Text: "1.50"}}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rows, got := parseStats(tt.stats, leaves(statsColumns))
			if rows != tt.rows {
				t.Errorf("%d rows, want %d", rows, tt.rows)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("stats (-want +got):\n%s", diff)
			}
		})
	}
}

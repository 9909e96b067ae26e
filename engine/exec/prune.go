package exec

import (
	"encoding/json"
	"math/big"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/ident"
)

// A filter says of a file, by its statistics, whether it may hold a row for
// which a condition is true. It errs by saying yes.
type filter func(fileStats) bool

// anything is the filter of a condition that is not understood.
func anything(fileStats) bool { return true }

// fileStats are the statistics of one file's top-level columns.
type fileStats struct {
	rows    int64 // -1 if unknown
	own     bool  // lake wrote the file, and so its statistics
	columns map[string]engine.ColumnStats
}

func statsOf(f engine.DataFile) fileStats {
	s := fileStats{rows: f.Rows, own: f.SHA256 != (ident.Digest{}), columns: make(map[string]engine.ColumnStats, len(f.Stats))}
	for _, c := range f.Stats {
		if len(c.Path) == 1 {
			s.columns[c.Path[0]] = c
		}
	}
	return s
}

// prune returns the files that may hold rows for which the condition is true.
func prune(files []engine.DataFile, may filter) []engine.DataFile {
	kept := make([]engine.DataFile, 0, len(files))
	for _, f := range files {
		if may(statsOf(f)) {
			kept = append(kept, f)
		}
	}
	return kept
}

// A pruner makes filters of conditions on the one table of a FROM clause.
type pruner struct {
	scope   *scope
	columns []engine.Column
}

// pruneBy remembers the condition of a SELECT over nothing but one table. A
// table that stands in the statement once is read for these rows only.
func (r *resolver) pruneBy(node map[string]any, s *scope) {
	ref := object(node["from_table"])
	if !r.rename || ref["type"] != "BASE_TABLE" || ref["sample"] != nil || node["sample"] != nil || node["where_clause"] == nil || len(s.relations) != 1 {
		return
	}
	rel := s.relations[0]
	if !rel.known || len(rel.columns) == 0 || rel.columns[0].table < 0 {
		return
	}
	t := &r.tables[rel.columns[0].table]
	if text(ref["table_name"]) != t.view { // it is a CTE
		return
	}
	p := pruner{scope: s, columns: t.scan.Columns}
	t.may = p.filter(node["where_clause"])
}

func (p pruner) filter(v any) filter {
	m := object(v)
	switch text(m["type"]) {
	case "CONJUNCTION_AND":
		all := p.filters(m["children"])
		return func(f fileStats) bool {
			for _, may := range all {
				if !may(f) {
					return false
				}
			}
			return true
		}
	case "CONJUNCTION_OR":
		all := p.filters(m["children"])
		return func(f fileStats) bool {
			for _, may := range all {
				if may(f) {
					return true
				}
			}
			return len(all) == 0
		}
	case "COMPARE_BETWEEN":
		return p.between(m)
	case "COMPARE_IN":
		return p.in(list(m["children"]))
	case "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL":
		return p.null(m)
	}
	if op, ok := comparisons[text(m["type"])]; ok {
		if c, ok := p.column(m["left"]); ok {
			return c.compare(op, m["right"])
		}
		if c, ok := p.column(m["right"]); ok {
			return c.compare(op.flipped(), m["left"])
		}
	}
	return anything
}

func (p pruner) filters(v any) []filter {
	var all []filter
	for _, c := range list(v) {
		all = append(all, p.filter(c))
	}
	return all
}

// A comparison is a set of the orders that it holds for.
type comparison uint8

const (
	less comparison = 1 << iota
	equal
	greater
)

var comparisons = map[string]comparison{
	"COMPARE_EQUAL": equal, "COMPARE_LESSTHAN": less, "COMPARE_GREATERTHAN": greater,
	"COMPARE_LESSTHANOREQUALTO": less | equal, "COMPARE_GREATERTHANOREQUALTO": greater | equal,
}

func (c comparison) flipped() comparison {
	f := c & equal
	if c&less != 0 {
		f |= greater
	}
	if c&greater != 0 {
		f |= less
	}
	return f
}

func (p pruner) between(m map[string]any) filter {
	c, ok := p.column(m["input"])
	if !ok || !alike(m["lower"], m["upper"]) {
		return anything
	}
	lower, upper := c.compare(greater|equal, m["lower"]), c.compare(less|equal, m["upper"])
	return func(f fileStats) bool { return lower(f) && upper(f) }
}

// alike reports whether operands are constants of one type. The engine brings
// all operands of a BETWEEN or an IN to one type and collation before it
// compares: one that differs changes what the others mean.
func alike(operands ...any) bool {
	kind := func(v any) (string, bool) {
		literal, as := atLiteral(v)
		id := text(constantType(v)["id"])
		if as != "" {
			id = ""
		}
		if id == "BIGINT" {
			id = "INTEGER" // both are compared as integers
		}
		return as + "/" + id, literal != nil
	}
	first, ok := kind(operands[0])
	for _, v := range operands[1:] {
		other, constant := kind(v)
		ok = ok && constant && other == first
	}
	return ok
}

func (p pruner) in(children []any) filter {
	if len(children) < 2 {
		return anything
	}
	c, ok := p.column(children[0])
	if !ok || !alike(children[1:]...) {
		return anything
	}
	var each []filter
	for _, v := range children[1:] {
		each = append(each, c.compare(equal, v))
	}
	return func(f fileStats) bool {
		for _, may := range each {
			if may(f) {
				return true
			}
		}
		return false
	}
}

func (p pruner) null(m map[string]any) filter {
	children := list(m["children"])
	if len(children) != 1 {
		return anything
	}
	c, ok := p.column(children[0])
	if !ok {
		return anything
	}
	isNull := m["type"] == "OPERATOR_IS_NULL"
	return func(f fileStats) bool {
		s, ok := f.columns[c.source]
		switch {
		case !ok:
			return true
		case isNull:
			return s.Nulls > 0
		}
		return f.rows < 0 || s.Nulls < f.rows
	}
}

// A prunedColumn is a column by which files may be told apart.
type prunedColumn struct {
	source string // in the files
	class  columnClass
}

// A columnClass says how values of a column compare with constants.
type columnClass uint8

const (
	otherClass columnClass = iota
	integerClass
	decimalClass
	floatClass
	textClass
	dateClass
	timestampClass // microseconds in the statistics
	nanosClass     // timestamps that are counted in nanoseconds
)

func classOf(c engine.Column) columnClass {
	t := storage(c.Exact.Type)
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = storage(d.ValueType)
	}
	stored := storage(c.Stored)
	switch t := t.(type) {
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type, *arrow.Uint8Type, *arrow.Uint16Type, *arrow.Uint32Type, *arrow.Uint64Type:
		return integerClass
	case *arrow.Decimal128Type:
		return decimalClass
	case *arrow.Float32Type, *arrow.Float64Type:
		return floatClass
	case *arrow.StringType, *arrow.LargeStringType:
		return textClass
	case *arrow.Date32Type:
		return dateClass
	case *arrow.TimestampType:
		switch {
		case stored.ID() == arrow.TIMESTAMP && t.Unit == arrow.Microsecond:
			return timestampClass
		case stored.ID() == arrow.INT64 && t.Unit == arrow.Nanosecond:
			return nanosClass
		}
	}
	return otherClass
}

// column returns the column that an expression is, if it is nothing else.
func (p pruner) column(v any) (prunedColumn, bool) {
	m := object(v)
	names := list(m["column_names"])
	if m["class"] != "COLUMN_REF" || len(names) != 1 && len(names) != 2 {
		return prunedColumn{}, false
	}
	if len(names) == 2 { // a field of a struct, if a column is called as the table
		for _, c := range p.scope.relations[0].columns {
			if strings.EqualFold(c.name, text(names[0])) {
				return prunedColumn{}, false
			}
		}
	}
	c := p.scope.column(names)
	if c.table < 0 {
		return prunedColumn{}, false
	}
	column := p.columns[c.source]
	return prunedColumn{source: column.Source, class: classOf(column)}, true
}

// compare is the filter of a comparison of the column with a constant. The
// engine compares numbers in a type that may hold neither exactly, so that a
// constant stands for all that lies around it but where both are integers.
func (c prunedColumn) compare(op comparison, constant any) filter {
	if c.class == textClass {
		return c.compareText(op, constant)
	}
	k, ok := c.span(constant)
	if !ok {
		return anything
	}
	return func(f fileStats) bool {
		s, ok := f.columns[c.source]
		if !ok {
			return true
		}
		if f.rows >= 0 && s.Nulls >= f.rows {
			return false // all are NULL, of which no comparison is true
		}
		least, ok1 := c.bound(s.Min)
		most, ok2 := c.bound(s.Max)
		if c.class == floatClass && !f.own {
			ok2 = false // others may not count NaN, which is above all numbers here
		}
		switch {
		case op&greater == 0 && ok1 && !k.reaches(least, op, -1):
			return false
		case op&less == 0 && ok2 && !k.reaches(most, op, 1):
			return false
		}
		return true
	}
}

// A span is what a constant may be taken for.
type span struct {
	low, high *big.Rat
	exact     bool
}

// reaches reports whether a bound of the column's values, the least (side -1)
// or the most (side 1), leaves room for a value that compares as op says.
func (k span) reaches(bound *big.Rat, op comparison, side int) bool {
	order := bound.Cmp(k.high)
	if side > 0 {
		order = -bound.Cmp(k.low)
	}
	return order < 0 || order == 0 && (op&equal != 0 || !k.exact)
}

// bound is a statistic as a number.
func (c prunedColumn) bound(v engine.Value) (*big.Rat, bool) {
	switch {
	case v.Kind == engine.IntValue && (c.class == integerClass || c.class == nanosClass):
		return new(big.Rat).SetInt64(v.Int), true
	case v.Kind == engine.DecimalValue && (c.class == decimalClass || c.class == integerClass):
		return new(big.Rat).SetString(v.Text)
	case v.Kind == engine.FloatValue && c.class == floatClass:
		r := new(big.Rat).SetFloat64(v.Float)
		return r, r != nil
	case v.Kind == engine.DateValue && c.class == dateClass:
		return new(big.Rat).SetInt(new(big.Int).Mul(big.NewInt(v.Int), big.NewInt(int64(24*time.Hour/time.Microsecond)))), true
	case v.Kind == engine.TimestampValue && c.class == timestampClass:
		return new(big.Rat).SetInt64(v.Int), true
	}
	return nil, false
}

// span is what a constant may be in comparisons with the column.
func (c prunedColumn) span(v any) (span, bool) {
	literal, as := atLiteral(v)
	switch c.class {
	case integerClass, decimalClass, floatClass:
		n, ok := literal.(json.Number)
		if !ok || as != "" {
			return span{}, false
		}
		return c.numbers(constantType(v), n)
	case dateClass, timestampClass, nanosClass:
		s, ok := literal.(string)
		if !ok || !prunedTimes[as] {
			return span{}, false
		}
		return c.times(s, as)
	}
	return span{}, false
}

// prunedTimes are the types that a text may be cast to, or is by itself.
var prunedTimes = set("", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")

// constantType is the type of a constant, and its scale if it has one.
func constantType(v any) map[string]any { return object(object(object(v)["value"])["type"]) }

func (c prunedColumn) numbers(t map[string]any, n json.Number) (span, bool) {
	if len(n) > 40 { // nothing that the engine writes for a number
		return span{}, false
	}
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return span{}, false
	}
	switch text(t["id"]) {
	case "INTEGER", "BIGINT":
		if c.class == integerClass {
			return span{r, r, true}, true
		}
	case "DOUBLE":
	case "DECIMAL": // the number is that of its digits
		digits, _ := object(t["type_info"])["scale"].(json.Number)
		scale, err := digits.Int64()
		if err != nil || scale < 0 || scale > 38 {
			return span{}, false
		}
		r.Quo(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(scale), nil)))
	default:
		return span{}, false
	}
	// Floats of 32 bits have 24 of them for digits.
	slack := new(big.Rat).Mul(new(big.Rat).Abs(r), big.NewRat(1, 1<<20))
	slack.Add(slack, big.NewRat(1, 1<<40))
	return span{new(big.Rat).Sub(r, slack), new(big.Rat).Add(r, slack), false}, true
}

func (c prunedColumn) times(s, as string) (span, bool) {
	t, ok := parseTime(s)
	const yearMin, yearMax = 1700, 2200 // within 64 bits of nanoseconds
	if !ok || t.Year() < yearMin || t.Year() > yearMax {
		return span{}, false
	}
	if as != "TIMESTAMP WITH TIME ZONE" && strings.ContainsAny(s[len("2006-01-02"):], "+-ZU") {
		return span{}, false // an offset, which types without a zone may drop
	}
	if (as == "DATE" || c.class == dateClass && as == "") && !t.Equal(t.Truncate(24*time.Hour)) {
		return span{}, false // cut or refused by the engine
	}
	low, high := big.NewRat(t.UnixMicro()-1, 1), big.NewRat(t.UnixMicro()+1, 1)
	if c.class == nanosClass {
		thousand := big.NewRat(1000, 1)
		low.Mul(low, thousand)
		high.Mul(high, thousand)
	}
	return span{low, high, false}, true
}

// compareText is compare for texts, which the engine orders by their bytes.
// Bounds of other writers may be cut or ordered in other ways.
func (c prunedColumn) compareText(op comparison, constant any) filter {
	literal, as := atLiteral(constant)
	k, ok := literal.(string)
	if !ok || as != "" || constantType(constant)["id"] != "VARCHAR" {
		return anything
	}
	return func(f fileStats) bool {
		s, ok := f.columns[c.source]
		switch {
		case !ok || !f.own:
			return true
		case f.rows >= 0 && s.Nulls >= f.rows:
			return false
		case op&greater == 0 && s.Min.Kind == engine.TextValue && s.Min.Text > k:
			return false
		case op&less == 0 && s.Max.Kind == engine.TextValue && s.Max.Text < k:
			return false
		}
		return true
	}
}

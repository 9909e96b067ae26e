package exec_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// tpchTables are TPC-H's tables with some dozens of rows, always the same ones,
// of values that its queries ask for.
func tpchTables() []sharedTable {
	r := rand.New(rand.NewPCG(22, 1))
	i64, text, date := arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String, arrow.FixedWidthTypes.Date32
	money := &arrow.Decimal128Type{Precision: 15, Scale: 2}
	cents := func(most int) string { return fmt.Sprintf("%d.%02d", r.IntN(most), r.IntN(100)) }
	day := func(y int) string {
		return fmt.Sprintf("%d-%02d-%02d", y+r.IntN(5), 1+r.IntN(12), 1+r.IntN(28))
	}
	const suppliers, customers, parts, orders, lines = 8, 20, 16, 40, 120
	rows := func(name string, n int, row func(i int) []any, fields ...arrow.Field) sharedTable {
		t := sharedTable{name: "tpch." + name, fields: fields}
		var all []string
		for i := range n {
			var cells []string
			for c, v := range row(i) {
				if s, ok := v.(string); ok {
					v = fmt.Sprintf("%q", s)
				}
				cells = append(cells, fmt.Sprintf("%q: %v", fields[c].Name, v))
			}
			all = append(all, "{"+strings.Join(cells, ", ")+"}")
		}
		t.files = [][]string{all[:n/2], all[n/2:]}
		return t
	}
	nations := []string{"FRANCE", "GERMANY", "CHINA", "KENYA"}
	return []sharedTable{
		rows("region", 3, func(i int) []any { return []any{i, []string{"EUROPE", "ASIA", "AFRICA"}[i]} },
			field("r_regionkey", i64), field("r_name", text)),
		rows("nation", 4, func(i int) []any { return []any{i, nations[i], max(0, i-1)} },
			field("n_nationkey", i64), field("n_name", text), field("n_regionkey", i64)),
		rows("supplier", suppliers, func(i int) []any {
			return []any{i, fmt.Sprint("Supplier#", i), fmt.Sprint("street ", i), r.IntN(4), fmt.Sprint("1", i, "-555"), cents(9000), pick(r, "quiet", "Customer many Complaints", "")}
		}, field("s_suppkey", i64), field("s_name", text), field("s_address", text), field("s_nationkey", i64), field("s_phone", text), field("s_acctbal", money), field("s_comment", text)),
		rows("customer", customers, func(i int) []any {
			return []any{i, fmt.Sprint("Customer#", i), fmt.Sprint("lane ", i), r.IntN(4), pick(r, "13-1", "31-2", "99-3", "17-4"), cents(9000), pick(r, "BUILDING", "MACHINERY")}
		}, field("c_custkey", i64), field("c_name", text), field("c_address", text), field("c_nationkey", i64), field("c_phone", text), field("c_acctbal", money), field("c_mktsegment", text)),
		rows("part", parts, func(i int) []any {
			return []any{i, pick(r, "forest green", "pale green", "forest red"), "Maker#1", pick(r, "Brand#12", "Brand#23", "Brand#45"), pick(r, "PROMO BRASS", "MEDIUM POLISHED TIN", "SMALL BRASS"), []int{49, 14, 3, 9}[r.IntN(4)]}
		}, field("p_partkey", i64), field("p_name", text), field("p_mfgr", text), field("p_brand", text), field("p_type", text), field("p_size", arrow.PrimitiveTypes.Int32)),
		rows("partsupp", parts*2, func(i int) []any { return []any{i / 2, (i*3 + i/2) % suppliers, 1 + r.IntN(500), cents(100)} },
			field("ps_partkey", i64), field("ps_suppkey", i64), field("ps_availqty", arrow.PrimitiveTypes.Int32), field("ps_supplycost", money)),
		rows("orders", orders, func(i int) []any {
			return []any{i, r.IntN(customers), pick(r, "F", "O"), cents(90000), day(1993), pick(r, "1-URGENT", "2-HIGH", "5-LOW"), 0, pick(r, "special kind requests", "none")}
		}, field("o_orderkey", i64), field("o_custkey", i64), field("o_orderstatus", text), field("o_totalprice", money), field("o_orderdate", date), field("o_orderpriority", text), field("o_shippriority", arrow.PrimitiveTypes.Int32), field("o_comment", text)),
		rows("lineitem", lines, func(i int) []any {
			ps := r.IntN(parts * 2)
			return []any{i % orders, ps / 2, (ps*3 + ps/2) % suppliers, i / orders, fmt.Sprint(1+r.IntN(50), ".00"), cents(9000), fmt.Sprintf("0.0%d", r.IntN(9)), "0.04", pick(r, "R", "A", "N"), pick(r, "O", "F"), day(1993), day(1993), day(1993), pick(r, "MAIL", "SHIP", "AIR")}
		}, field("l_orderkey", i64), field("l_partkey", i64), field("l_suppkey", i64), field("l_linenumber", arrow.PrimitiveTypes.Int32), field("l_quantity", money), field("l_extendedprice", money), field("l_discount", money), field("l_tax", money),
			field("l_returnflag", text), field("l_linestatus", text), field("l_shipdate", date), field("l_commitdate", date), field("l_receiptdate", date), field("l_shipmode", text)),
	}
}

package exec_test

import (
	"testing"
)

// Each file of a table is a version of it here.
func TestVersionsOfOneTableInOneStatement(t *testing.T) {
	l := openLake(t, nil)
	l.add(t, "ns.numbers", numberColumns, numbers(3), numbers(5), numbers(7))
	for sql, want := range map[string]string{
		"SELECT count(*) FROM ns.numbers":                                                                                                                 "15",
		"SELECT count(*) FROM ns.numbers AT (VERSION => 0)":                                                                                               "0",
		"SELECT count(ns.numbers.id) FROM ns.numbers AT (VERSION => 1)":                                                                                   "3",
		"SELECT count(x.a) FROM ns.numbers AS x(a, b) AT (VERSION => 2)":                                                                                  "8",
		"FROM ns.numbers AT (VERSION => 1) SELECT max(name)":                                                                                              "row 2",
		"SELECT max(id) FROM (FROM ns.numbers AT (VERSION => 1) LIMIT 100)":                                                                               "2",
		"SELECT count(*) FROM ns.numbers AS new LEFT JOIN ns.numbers AS old AT (VERSION => 1) USING (id) WHERE old.id IS NULL":                            "6",
		"SELECT (SELECT count(*) FROM ns.numbers AT (VERSION => 1)) * 100 + (SELECT count(*) FROM ns.numbers AT (VERSION => 2))":                          "308",
		"SELECT count(*) FROM (FROM ns.numbers AT (VERSION => 3) EXCEPT ALL FROM ns.numbers AT (VERSION => 2))":                                           "7",
		"WITH old AS (FROM ns.numbers AT (VERSION => 1)) SELECT count(*) FROM old, old AS again":                                                          "9",
		"SELECT a.n - b.n FROM (SELECT count(*) AS n FROM ns.numbers AT (VERSION => 2)) a, (SELECT count(*) AS n FROM ns.numbers AT (VERSION => 1)) AS b": "5",
	} {
		res, err := l.run(t.Context(), sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		} else if got := res.column(t, 0).ValueStr(0); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}

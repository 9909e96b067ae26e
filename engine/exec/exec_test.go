package exec_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
)

func TestAQueryReadsATable(t *testing.T) {
	l := openLake(t, nil)
	l.add(t, "ns.numbers", numberColumns, numbers(3000), numbers(10))
	res, err := l.run(t.Context(), "SELECT count(*) AS n, max(id) AS most FROM lake.ns.Numbers WHERE ns.numbers.name LIKE 'row%'")
	if err != nil {
		t.Fatal(err)
	}
	if res.rows != 1 || res.column(t, 0).(*array.Int64).Value(0) != 3010 || res.column(t, 1).(*array.Int64).Value(0) != 2999 {
		t.Errorf("got %v", res.batches)
	}
	t.Log(l.pool.Stats())
}

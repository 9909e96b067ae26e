package sqlapi_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func (l *lake) rows(t *testing.T, sql string) int64 {
	t.Helper()
	n, err := l.get(t, l.info(t, sql).GetEndpoint()[0].GetTicket())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAStatementReadsTheVersionsThatItAsksFor(t *testing.T) {
	l := open(t)
	table := l.create(t, "demo.flights")
	made := time.Now() // version n is of n minutes later, more or less
	for _, n := range []int64{1, 10, 100} {
		l.now.Add(int64(time.Minute))
		l.append(t, table, n)
	}
	for sql, want := range map[string]int64{
		"SELECT FROM demo.flights":                                                                         111,
		"SELECT FROM demo.flights AT (VERSION => 3)":                                                       111,
		"SELECT FROM demo.flights AT (VERSION => 2)":                                                       11,
		"SELECT FROM demo.flights AT (VERSION => 0)":                                                       0,
		"SELECT FROM demo.flights FROM demo.flights AT (VERSION => 1)":                                     112,
		"SELECT FROM demo.flights AT (TIMESTAMP => '9999-01-01T00:00:00Z')":                                111,
		"SELECT FROM demo.flights AT (TIMESTAMP => '" + at(made, 30*time.Second) + "')":                    0,
		"SELECT FROM demo.flights AT (TIMESTAMP => '" + at(made, 90*time.Second) + "')":                    1,
		"SELECT FROM demo.flights AT (TIMESTAMP => '" + at(made, 150*time.Second) + "') FROM demo.flights": 122,
	} {
		if n := l.rows(t, sql); n != want {
			t.Errorf("%s: %d rows, want %d", sql, n, want)
		}
	}
	info := l.info(t, "SELECT FROM demo.flights AT (TIMESTAMP => '9999-01-01T00:00:00Z')")
	l.append(t, table, 1000)
	if n, err := l.get(t, info.GetEndpoint()[0].GetTicket()); n != 111 || err != nil {
		t.Errorf("the old ticket counts %d rows (%v), want 111", n, err)
	}
}

func at(t time.Time, later time.Duration) string { return t.Add(later).UTC().Format(time.RFC3339Nano) }

func TestVersionsThatAreNotThereAreNotFound(t *testing.T) {
	l := open(t)
	l.append(t, l.create(t, "demo.flights"), 10)
	for sql, says := range map[string]string{
		"SELECT FROM demo.flights AT (VERSION => 2)":                        "its newest is 1",
		"SELECT FROM demo.flights AT (VERSION => 99999999999)":              "its newest is 1",
		"SELECT FROM demo.flights AT (TIMESTAMP => '1999-01-01T00:00:00Z')": "first version is of",
	} {
		_, err := l.sql.Execute(t.Context(), sql)
		if s := status.Convert(err); s.Code() != codes.NotFound || !strings.Contains(s.Message(), says) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// A listing is that of the moment at which the statement was planned, or none.
func TestInformationSchemaIsOfOneGeneration(t *testing.T) {
	l := open(t)
	l.append(t, l.create(t, "demo.flights"), 10)
	const sql = "SELECT FROM information_schema.tables FROM information_schema.columns FROM demo.flights"
	info := l.info(t, sql)
	for range 2 {
		if n, err := l.get(t, info.GetEndpoint()[0].GetTicket()); n != 11 || err != nil {
			t.Errorf("one table of 10 rows: %d (%v)", n, err)
		}
	}
	l.create(t, "demo.more")
	if _, err := l.get(t, info.GetEndpoint()[0].GetTicket()); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "since the statement was planned") {
		t.Errorf("after another table was made: %v", err)
	}
	if n, err := l.get(t, l.info(t, sql).GetEndpoint()[0].GetTicket()); n != 12 || err != nil {
		t.Errorf("planned anew: %d (%v)", n, err)
	}
}

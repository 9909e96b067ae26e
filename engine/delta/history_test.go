package delta_test

import (
	"strings"
	"testing"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/objects/mem"
)

func TestHistory(t *testing.T) {
	s := mem.New()
	table := newTable(t, s, 2)
	foreign(t, s, 3, `{"commitInfo":{"timestamp":"soon","operation":7}}`, `{"add":{"path":"a.parquet","partitionValues":{},"size":1,"modificationTime":0,"dataChange":true}}`)
	foreign(t, s, 4, `{"commitInfo":{"operation":"`+strings.Repeat("ö", 200)+`"}}`)
	h := table.(engine.Historian)
	all, err := h.History(t.Context(), 4, 10)
	if err != nil || len(all) != 5 {
		t.Fatalf("%+v (%v)", all, err)
	}
	for i, c := range all {
		ours := c.Version < 3
		if c.Version != ident.Version(4-i) || (c.Op != ident.OperationID{}) != ours || c.Time.IsZero() == ours {
			t.Errorf("%+v", c)
		}
	}
	if n := len([]rune(all[0].Operation)); n != 100 {
		t.Errorf("an operation of %d letters", n)
	}
	if c := all[1]; c.Operation != "" || c.Rows != -1 {
		t.Errorf("of a writer that says little: %+v", c)
	}
	if c := all[2]; c.Operation != "WRITE" || c.Rows <= 0 {
		t.Errorf("an append: %+v", c)
	}
	if c := all[4]; c.Operation != "CREATE TABLE" || c.Rows != 0 {
		t.Errorf("the create: %+v", c)
	}
	if some, err := h.History(t.Context(), 2, 1); err != nil || len(some) != 1 || some[0].Version != 2 {
		t.Errorf("one from version 2: %+v (%v)", some, err)
	}
	for _, v := range []ident.Version{5, -1} {
		if _, err := h.History(t.Context(), v, 1); fault.KindOf(err) != fault.NotFound {
			t.Errorf("version %d: %v", v, err)
		}
	}
}

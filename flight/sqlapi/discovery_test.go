package sqlapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/flight/wire/wirepb"
)

// fetch redeems an info and returns its rows, each as text with | between
// columns, and the sizes of the batches.
func (l *lake) fetch(t *testing.T, info *arrowflight.FlightInfo, want *arrow.Schema) (rows []string, batches []int64) {
	t.Helper()
	told, err := arrowflight.DeserializeSchema(info.GetSchema(), memory.DefaultAllocator)
	if err != nil || !told.Equal(want) {
		t.Errorf("FlightInfo has the schema %v (%v), want %v", told, err, want)
	}
	r, err := l.sql.DoGet(t.Context(), info.GetEndpoint()[0].GetTicket())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if !r.Schema().Equal(want) {
		t.Errorf("rows have the schema %v, want %v", r.Schema(), want)
	}
	for r.Next() {
		b := r.RecordBatch()
		batches = append(batches, b.NumRows())
		for i := range int(b.NumRows()) {
			var cells []string
			for _, c := range b.Columns() {
				if _, ok := c.(*array.Binary); !ok {
					cells = append(cells, c.ValueStr(i))
				}
			}
			rows = append(rows, strings.Join(cells, "|"))
		}
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return rows, batches
}

func text(s string) *string { return &s }

func TestToolsFindTables(t *testing.T) {
	l := open(t)
	for _, name := range []string{"demo.flights", "demo.fl_ghts", "robots.runs"} {
		l.create(t, name)
	}
	ctx := t.Context()
	infos := func(info *arrowflight.FlightInfo, err error) *arrowflight.FlightInfo {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	rows := func(info *arrowflight.FlightInfo, schema *arrow.Schema) string {
		t.Helper()
		rows, _ := l.fetch(t, info, schema)
		return strings.Join(rows, " ")
	}
	tables := func(o *flightsql.GetTablesOpts) string {
		t.Helper()
		schema := schema_ref.Tables
		if o.IncludeSchema {
			schema = schema_ref.TablesWithIncludedSchema
		}
		return rows(infos(l.sql.GetTables(ctx, o)), schema)
	}
	schemas := func(o *flightsql.GetDBSchemasOpts) string {
		t.Helper()
		return rows(infos(l.sql.GetDBSchemas(ctx, o)), schema_ref.DBSchemas)
	}
	for _, tt := range []struct{ what, got, want string }{
		{"catalogs", rows(infos(l.sql.GetCatalogs(ctx)), schema_ref.Catalogs), "lake"},
		{"table types", rows(infos(l.sql.GetTableTypes(ctx)), schema_ref.TableTypes), "TABLE"},
		{"schemas", schemas(&flightsql.GetDBSchemasOpts{}), "lake|demo lake|main lake|robots"},
		{"schemas by pattern", schemas(&flightsql.GetDBSchemasOpts{DbSchemaFilterPattern: text("r%")}), "lake|robots"},
		{"schemas of another catalog", schemas(&flightsql.GetDBSchemasOpts{Catalog: text("other")}), ""},
		{"tables", tables(&flightsql.GetTablesOpts{}), "lake|demo|fl_ghts|TABLE lake|demo|flights|TABLE lake|robots|runs|TABLE"},
		{"tables of a schema", tables(&flightsql.GetTablesOpts{Catalog: text("lake"), DbSchemaFilterPattern: text("robots")}), "lake|robots|runs|TABLE"},
		{"tables by a pattern", tables(&flightsql.GetTablesOpts{TableNameFilterPattern: text("fl_ghts")}), "lake|demo|fl_ghts|TABLE lake|demo|flights|TABLE"},
		{"tables by an escaped pattern", tables(&flightsql.GetTablesOpts{TableNameFilterPattern: text(`fl\_ghts`)}), "lake|demo|fl_ghts|TABLE"},
		{"tables of a type", tables(&flightsql.GetTablesOpts{TableTypes: []string{"VIEW", "TABLE"}, TableNameFilterPattern: text("runs")}), "lake|robots|runs|TABLE"},
		{"tables of a type that there is not", tables(&flightsql.GetTablesOpts{TableTypes: []string{"VIEW"}}), ""},
		{"tables without a catalog", tables(&flightsql.GetTablesOpts{Catalog: text("")}), ""},
		{"primary keys", rows(infos(l.sql.GetPrimaryKeys(ctx, flightsql.TableRef{Table: "runs"})), schema_ref.PrimaryKeys), ""},
		{"imported keys", rows(infos(l.sql.GetImportedKeys(ctx, flightsql.TableRef{Table: "runs"})), schema_ref.ImportedKeys), ""},
		{"exported keys", rows(infos(l.sql.GetExportedKeys(ctx, flightsql.TableRef{Table: "runs"})), schema_ref.ExportedKeys), ""},
		{"a cross reference", rows(infos(l.sql.GetCrossReference(ctx, flightsql.TableRef{Table: "a"}, flightsql.TableRef{Table: "b"})), schema_ref.CrossReference), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.what, tt.got, tt.want)
		}
	}

	// A table that this replica acknowledged is in its next answer.
	l.create(t, "demo.later")
	if got := tables(&flightsql.GetTablesOpts{TableNameFilterPattern: text("later")}); got != "lake|demo|later|TABLE" {
		t.Errorf("right after its create: %q", got)
	}
}

func TestTablesComeWithTheirSchema(t *testing.T) {
	l := open(t)
	l.create(t, "demo.flights")
	info, err := l.sql.GetTables(t.Context(), &flightsql.GetTablesOpts{IncludeSchema: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.sql.DoGet(t.Context(), info.GetEndpoint()[0].GetTicket())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if !r.Next() {
		t.Fatal(r.Err())
	}
	s, err := arrowflight.DeserializeSchema(r.RecordBatch().Column(4).(*array.Binary).Value(0), memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	f := s.Field(0)
	m := flightsql.ColumnMetadata{Data: &f.Metadata}
	typ, _ := m.TypeName()
	table, _ := m.TableName()
	precision, _ := m.Precision()
	if f.Name != "id" || !arrow.TypeEqual(f.Type, arrow.PrimitiveTypes.Int64) || typ != "BIGINT" || table != "flights" || precision != 19 {
		t.Errorf("%v: type %q of table %q, precision %d", f, typ, table, precision)
	}
	if _, ok := f.Metadata.GetValue("PARQUET:field_id"); ok {
		t.Error("the metadata of data files is shown")
	}
}

func TestDiscoveryIsBatchedAndBounded(t *testing.T) {
	l := open(t)
	const tables = 600
	for i := range tables {
		l.create(t, fmt.Sprintf("demo.t%d", i))
	}
	info, err := l.sql.GetTables(t.Context(), &flightsql.GetTablesOpts{})
	if err != nil {
		t.Fatal(err)
	}
	rows, batches := l.fetch(t, info, schema_ref.Tables)
	if len(rows) != tables || len(batches) != 3 || batches[0] != 256 {
		t.Errorf("%d tables in batches of %v", len(rows), batches)
	}
}

func TestServerSaysWhatItIs(t *testing.T) {
	l := open(t)
	read := func(ids ...flightsql.SqlInfo) map[uint32]string {
		t.Helper()
		info, err := l.sql.GetSqlInfo(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		r, err := l.sql.DoGet(t.Context(), info.GetEndpoint()[0].GetTicket())
		if err != nil {
			t.Fatal(err)
		}
		defer r.Release()
		out := map[uint32]string{}
		for r.Next() {
			b := r.RecordBatch()
			for i := range int(b.NumRows()) {
				out[b.Column(0).(*array.Uint32).Value(i)] = b.Column(1).ValueStr(i)
			}
		}
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
		return out
	}
	got := read(flightsql.SqlInfoFlightSqlServerName, flightsql.SqlInfoFlightSqlServerVersion, 999_999)
	if len(got) != 2 || !strings.Contains(got[0], "lake") || !strings.Contains(got[1], "1.2.3") {
		t.Errorf("name, version and something unknown: %v", got)
	}
	if got := read(999_999); len(got) != 0 {
		t.Errorf("something unknown alone: %v", got)
	}
	if got := read(); len(got) < 80 {
		t.Errorf("everything: %d answers", len(got))
	}
}

func TestTypesAreDescribed(t *testing.T) {
	l := open(t)
	info, err := l.sql.GetXdbcTypeInfo(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := l.fetch(t, info, schema_ref.XdbcTypeInfo)
	if all := strings.Join(rows, "\n"); !strings.Contains(all, "BIGINT|-5|19") || !strings.Contains(all, `DECIMAL|3|38|(null)|(null)|["precision","scale"]`) {
		t.Errorf("types:\n%s", all)
	}
	code := int32(93)
	if info, err = l.sql.GetXdbcTypeInfo(t.Context(), &code); err != nil {
		t.Fatal(err)
	}
	if rows, _ = l.fetch(t, info, schema_ref.XdbcTypeInfo); len(rows) != 2 {
		t.Errorf("timestamps: %v", rows)
	}
}

func TestGarbageForDiscoveryIsRefused(t *testing.T) {
	l := open(t)
	for _, b := range [][]byte{nil, {0xff}, []byte("x")} {
		r, err := l.sql.DoGet(t.Context(), &arrowflight.Ticket{Ticket: b})
		if err == nil {
			r.Release()
		}
		if status.Code(err) != codes.Unauthenticated {
			t.Errorf("%q: %v", b, err)
		}
	}
	var page wirepb.TablePage
	if err := l.action(t, wire.ListTables, &wirepb.ListTables{}, &page); err != nil {
		t.Error(err)
	}
}

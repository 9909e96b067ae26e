package exec

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
)

// listingBytesMax bounds the rows of one table of information_schema, which
// travel with the statement.
const listingBytesMax = 4 << 20

// A listing is a table of what tables there are: its columns, with the engine's
// types, and its rows, without the columns that are NULL.
type listing struct {
	columns []string // name and type
	rows    func([]engine.Listed) []map[string]any
}

// Listings that SHOW means.
const (
	showTables    = "show_tables"
	showAllTables = "show_all_tables"
)

// listings are the tables of engine.InformationSchema. Their columns are those
// that the engine itself has, so that tools which know it find them.
var listings = map[string]listing{
	"schemata": {
		[]string{"catalog_name VARCHAR", "schema_name VARCHAR", "schema_owner VARCHAR", "default_character_set_catalog VARCHAR", "default_character_set_schema VARCHAR", "default_character_set_name VARCHAR", "sql_path VARCHAR"},
		schemataRows,
	},
	"tables": {
		[]string{
			"table_catalog VARCHAR", "table_schema VARCHAR", "table_name VARCHAR", "table_type VARCHAR", "self_referencing_column_name VARCHAR", "reference_generation VARCHAR",
			"user_defined_type_catalog VARCHAR", "user_defined_type_schema VARCHAR", "user_defined_type_name VARCHAR", "is_insertable_into VARCHAR", "is_typed VARCHAR", "commit_action VARCHAR", "TABLE_COMMENT VARCHAR",
		},
		tablesRows,
	},
	"columns": {
		[]string{
			"table_catalog VARCHAR", "table_schema VARCHAR", "table_name VARCHAR", "column_name VARCHAR", "ordinal_position INTEGER", "column_default VARCHAR", "is_nullable VARCHAR", "data_type VARCHAR",
			"character_maximum_length INTEGER", "character_octet_length INTEGER", "numeric_precision INTEGER", "numeric_precision_radix INTEGER", "numeric_scale INTEGER", "datetime_precision INTEGER",
			"interval_type VARCHAR", "interval_precision INTEGER", "character_set_catalog VARCHAR", "character_set_schema VARCHAR", "character_set_name VARCHAR", "collation_catalog VARCHAR", "collation_schema VARCHAR",
			"collation_name VARCHAR", "domain_catalog VARCHAR", "domain_schema VARCHAR", "domain_name VARCHAR", "udt_catalog VARCHAR", "udt_schema VARCHAR", "udt_name VARCHAR", "scope_catalog VARCHAR", "scope_schema VARCHAR",
			"scope_name VARCHAR", "maximum_cardinality BIGINT", "dtd_identifier VARCHAR", "is_self_referencing BOOLEAN", "is_identity BOOLEAN", "identity_generation VARCHAR", "identity_start VARCHAR", "identity_increment VARCHAR",
			"identity_maximum VARCHAR", "identity_minimum VARCHAR", "identity_cycle BOOLEAN", "is_generated VARCHAR", "generation_expression VARCHAR", "is_updatable BOOLEAN", "COLUMN_COMMENT VARCHAR",
		},
		columnsRows,
	},
	showTables:    {[]string{"name VARCHAR"}, showTablesRows},
	showAllTables: {[]string{"database VARCHAR", "schema VARCHAR", "name VARCHAR", "column_names VARCHAR[]", "column_types VARCHAR[]", "temporary BOOLEAN"}, showAllTablesRows},
}

// sql is the query that a listing stands for: its rows are one text of JSON,
// which the engine takes apart.
func (l listing) sql(directory []engine.Listed) (string, error) {
	rows := l.rows(directory)
	if rows == nil {
		rows = []map[string]any{} // JSON's null would be one row
	}
	b, err := json.Marshal(rows)
	if err != nil {
		return "", err
	}
	if len(b) > listingBytesMax {
		return "", fault.Newf(fault.Exhausted, "information_schema would take %d bytes here, more than the %d that travel with a statement; ask by your driver's metadata calls, with a filter", len(b), listingBytesMax)
	}
	var shape strings.Builder
	for i, c := range l.columns {
		name, typ, _ := strings.Cut(c, " ")
		if i > 0 {
			shape.WriteByte(',')
		}
		if element, list := strings.CutSuffix(typ, "[]"); list {
			typ = `["` + element + `"]`
		} else {
			typ = `"` + typ + `"`
		}
		shape.WriteString(`"` + name + `":` + typ)
	}
	return "SELECT unnest(from_json(" + quoteText(string(b)) + ", " + quoteText("[{"+shape.String()+"}]") + "), max_depth := 2)", nil
}

// listingOf finds the listing that a table's name in a statement means.
func listingOf(catalog, schema, name string) (string, bool) {
	if catalog != "" && !strings.EqualFold(catalog, ident.Catalog) || !strings.EqualFold(schema, string(engine.InformationSchema)) {
		return "", false
	}
	name = strings.ToLower(name)
	_, ok := listings[name]
	return name, ok && name != showTables && name != showAllTables
}

// shown is the listing that a SHOW without a query means.
func shown(ref map[string]any) (string, error) {
	const tables, expanded = `"tables"`, "__show_tables_expanded" // as the parser has them
	if text(ref["show_type"]) == "SHOW_UNQUALIFIED" {
		switch text(ref["table_name"]) {
		case tables:
			return showTables, nil
		case expanded:
			return showAllTables, nil
		}
	}
	return "", fault.New(fault.Unsupported, "SHOW knows only TABLES and ALL TABLES here; select from information_schema.schemata, tables or columns for the rest")
}

func schemataRows(directory []engine.Listed) (rows []map[string]any) {
	names := []string{string(ident.DefaultNamespace)}
	for _, t := range directory {
		names = append(names, string(t.Table.Namespace))
	}
	slices.Sort(names)
	for _, n := range slices.Compact(names) {
		rows = append(rows, map[string]any{"catalog_name": ident.Catalog, "schema_name": n})
	}
	return rows
}

func tablesRows(directory []engine.Listed) (rows []map[string]any) {
	for _, t := range directory {
		rows = append(rows, map[string]any{
			"table_catalog": ident.Catalog, "table_schema": t.Table.Namespace, "table_name": t.Table.Name,
			"table_type": "BASE TABLE", "is_insertable_into": "YES", "is_typed": "NO",
		})
	}
	return rows
}

func columnsRows(directory []engine.Listed) (rows []map[string]any) {
	for _, t := range directory {
		for i, f := range t.Schema.Fields() {
			nullable := "NO"
			if f.Nullable {
				nullable = "YES"
			}
			r := map[string]any{
				"table_catalog": ident.Catalog, "table_schema": t.Table.Namespace, "table_name": t.Table.Name,
				"column_name": f.Name, "ordinal_position": i + 1, "is_nullable": nullable, "data_type": typeNameOf(f.Type),
			}
			if digits, radix, scale, ok := precision(f.Type); ok {
				r["numeric_precision"], r["numeric_precision_radix"], r["numeric_scale"] = digits, radix, scale
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// precision is what information_schema says of numbers.
func precision(t arrow.DataType) (digits, radix, scale int, ok bool) {
	switch t := storage(t).(type) {
	case arrow.DecimalType:
		return int(t.GetPrecision()), 10, int(t.GetScale()), true
	case *arrow.Float16Type, *arrow.Float32Type:
		return 24, 2, 0, true
	case *arrow.Float64Type:
		return 53, 2, 0, true
	case arrow.FixedWidthDataType:
		return t.BitWidth(), 2, 0, arrow.IsInteger(t.ID())
	}
	return 0, 0, 0, false
}

// showTablesRows names tables as a statement would.
func showTablesRows(directory []engine.Listed) (rows []map[string]any) {
	for _, t := range directory {
		rows = append(rows, map[string]any{"name": planTable{Reference: engine.Reference{Table: t.Table}}.String()})
	}
	return rows
}

func showAllTablesRows(directory []engine.Listed) (rows []map[string]any) {
	for _, t := range directory {
		names, types := []string{}, []string{}
		for _, f := range t.Schema.Fields() {
			names, types = append(names, f.Name), append(types, typeNameOf(f.Type))
		}
		rows = append(rows, map[string]any{
			"database": ident.Catalog, "schema": t.Table.Namespace, "name": t.Table.Name,
			"column_names": names, "column_types": types, "temporary": false,
		})
	}
	return rows
}

// typeNameOf is the engine's name for what statements see of a column.
func typeNameOf(t arrow.DataType) string {
	t = storage(t)
	switch typ := t.(type) {
	case *arrow.TimestampType:
		if typ.Unit == arrow.Nanosecond {
			return "TIMESTAMP_NS"
		}
	case *arrow.Time64Type:
		if typ.Unit == arrow.Nanosecond {
			return "TIME_NS"
		}
	case *arrow.DurationType:
		return "BIGINT"
	}
	name, _, ok := sqlType(t, t)
	if !ok {
		return "UNKNOWN"
	}
	return name
}

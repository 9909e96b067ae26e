package sqlapi

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta/catalog"
	"github.com/lakeward/lake/meta/registry"
)

// Bounds on discovery: rows of a batch and of an answer.
const (
	discoveryBatchRows = 256
	discoveryRowsMax   = 10_000
)

// tableType is the one type of tables there is.
const tableType = "TABLE"

var errDiscovery = fault.Newf(fault.Exhausted, "the answer has more than %d rows; filter by schema or table name", discoveryRowsMax)

// directory is what discovery needs from the catalog.
type directory interface {
	Directory(ctx context.Context) (*catalog.Directory, error)
}

// discovery answers what tools ask before they show a table: arrow-go's server
// takes the commands apart, this says what there is. An answer is of one
// generation of the directory.
type discovery struct {
	flightsql.BaseServer
	catalog directory
}

// about is the FlightInfo of a discovery command, which is its own ticket.
func about(desc *arrowflight.FlightDescriptor, schema *arrow.Schema) (*arrowflight.FlightInfo, error) {
	return &arrowflight.FlightInfo{
		Schema:           arrowflight.SerializeSchema(schema, memory.DefaultAllocator),
		FlightDescriptor: desc,
		Endpoint:         []*arrowflight.FlightEndpoint{{Ticket: &arrowflight.Ticket{Ticket: desc.GetCmd()}}},
		TotalRecords:     -1,
		TotalBytes:       -1,
	}, nil
}

// answer streams rows in batches: fill appends the row i to the builder.
func answer(ctx context.Context, schema *arrow.Schema, rows int, fill func(b *array.RecordBuilder, i int)) (*arrow.Schema, <-chan arrowflight.StreamChunk, error) {
	if rows > discoveryRowsMax {
		return nil, nil, errDiscovery
	}
	out := make(chan arrowflight.StreamChunk)
	go func() {
		defer close(out)
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		defer b.Release()
		for from := 0; from < rows; from += discoveryBatchRows {
			for i := from; i < min(from+discoveryBatchRows, rows); i++ {
				fill(b, i)
			}
			batch := b.NewRecordBatch()
			select {
			case out <- arrowflight.StreamChunk{Data: batch}:
			case <-ctx.Done():
				batch.Release()
				return
			}
		}
	}()
	return schema, out, nil
}

func text(b *array.RecordBuilder, column int, value string) {
	b.Field(column).(*array.StringBuilder).Append(value)
}

// isOurs reports whether a catalog filter lets our one catalog pass. An empty
// name asks for tables without a catalog, which there are none of.
func isOurs(catalog *string) bool { return catalog == nil || *catalog == ident.Catalog }

func (d *discovery) GetFlightInfoCatalogs(_ context.Context, desc *arrowflight.FlightDescriptor) (*arrowflight.FlightInfo, error) {
	return about(desc, schema_ref.Catalogs)
}

func (d *discovery) DoGetCatalogs(ctx context.Context) (*arrow.Schema, <-chan arrowflight.StreamChunk, error) {
	return answer(ctx, schema_ref.Catalogs, 1, func(b *array.RecordBuilder, _ int) { text(b, 0, ident.Catalog) })
}

func (d *discovery) GetFlightInfoSchemas(_ context.Context, _ flightsql.GetDBSchemas, desc *arrowflight.FlightDescriptor) (*arrowflight.FlightInfo, error) {
	return about(desc, schema_ref.DBSchemas)
}

// DoGetDBSchemas lists the namespaces that hold a table, and the default one.
func (d *discovery) DoGetDBSchemas(ctx context.Context, cmd flightsql.GetDBSchemas) (*arrow.Schema, <-chan arrowflight.StreamChunk, error) {
	all, err := d.catalog.Directory(ctx)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	if isOurs(cmd.GetCatalog()) {
		names = append(names, string(ident.DefaultNamespace))
		for _, r := range all.Tables {
			names = append(names, string(r.Table.Namespace))
		}
		slices.Sort(names)
		names = slices.DeleteFunc(slices.Compact(names), func(n string) bool { return !like(cmd.GetDBSchemaFilterPattern(), n) })
	}
	return answer(ctx, schema_ref.DBSchemas, len(names), func(b *array.RecordBuilder, i int) {
		text(b, 0, ident.Catalog)
		text(b, 1, names[i])
	})
}

func (d *discovery) GetFlightInfoTables(_ context.Context, cmd flightsql.GetTables, desc *arrowflight.FlightDescriptor) (*arrowflight.FlightInfo, error) {
	if cmd.GetIncludeSchema() {
		return about(desc, schema_ref.TablesWithIncludedSchema)
	}
	return about(desc, schema_ref.Tables)
}

func (d *discovery) DoGetTables(ctx context.Context, cmd flightsql.GetTables) (*arrow.Schema, <-chan arrowflight.StreamChunk, error) {
	all, err := d.catalog.Directory(ctx)
	if err != nil {
		return nil, nil, err
	}
	var found []registry.Registration
	wanted := isOurs(cmd.GetCatalog()) && (len(cmd.GetTableTypes()) == 0 || slices.Contains(cmd.GetTableTypes(), tableType))
	for _, r := range all.Tables {
		if wanted && like(cmd.GetDBSchemaFilterPattern(), string(r.Table.Namespace)) && like(cmd.GetTableNameFilterPattern(), r.Table.Name) {
			found = append(found, r)
		}
	}
	schema := schema_ref.Tables
	if cmd.GetIncludeSchema() {
		schema = schema_ref.TablesWithIncludedSchema
	}
	return answer(ctx, schema, len(found), func(b *array.RecordBuilder, i int) {
		r := found[i]
		text(b, 0, ident.Catalog)
		text(b, 1, string(r.Table.Namespace))
		text(b, 2, r.Table.Name)
		text(b, 3, tableType)
		if cmd.GetIncludeSchema() {
			b.Field(4).(*array.BinaryBuilder).Append(tableSchema(r))
		}
	})
}

// tableSchema is a table's exact schema, with what tools show of its columns.
// One that does not decode is an empty schema: the listing goes on without it.
func tableSchema(r registry.Registration) []byte {
	exact, err := engine.DecodeSchema(r.Schema)
	if err != nil {
		exact = arrow.NewSchema(nil, nil)
	}
	fields := make([]arrow.Field, exact.NumFields())
	for i, f := range exact.Fields() {
		f = engine.WithoutParquetKeys(f)
		m := flightsql.NewColumnMetadataBuilder()
		m.CatalogName(ident.Catalog).SchemaName(string(r.Table.Namespace)).TableName(r.Table.Name)
		m.IsAutoIncrement(false).IsCaseSensitive(true).IsReadOnly(true).IsSearchable(true)
		describeType(m, f.Type)
		own := m.Metadata()
		f.Metadata = arrow.NewMetadata(append(slices.Clone(f.Metadata.Keys()), own.Keys()...), append(slices.Clone(f.Metadata.Values()), own.Values()...))
		fields[i] = f
	}
	return arrowflight.SerializeSchema(arrow.NewSchema(fields, nil), memory.DefaultAllocator)
}

func (d *discovery) GetFlightInfoTableTypes(_ context.Context, desc *arrowflight.FlightDescriptor) (*arrowflight.FlightInfo, error) {
	return about(desc, schema_ref.TableTypes)
}

func (d *discovery) DoGetTableTypes(ctx context.Context) (*arrow.Schema, <-chan arrowflight.StreamChunk, error) {
	return answer(ctx, schema_ref.TableTypes, 1, func(b *array.RecordBuilder, _ int) { text(b, 0, tableType) })
}

// Tables have no keys: the answers are empty, with the columns that tools
// expect.

func (d *discovery) GetFlightInfoPrimaryKeys(_ context.Context, _ flightsql.TableRef, desc *arrowflight.FlightDescriptor) (*arrowflight.FlightInfo, error) {
	return about(desc, schema_ref.PrimaryKeys)
}

func (d *discovery) DoGetPrimaryKeys(ctx context.Context, _ flightsql.TableRef) (*arrow.Schema, <-chan arrowflight.StreamChunk, error) {
	return answer(ctx, schema_ref.PrimaryKeys, 0, nil)
}

func (d *discovery) GetFlightInfoExportedKeys(_ context.Context, _ flightsql.TableRef, desc *arrowflight.FlightDescriptor) (*arrowflight.FlightInfo, error) {
	return about(desc, schema_ref.ExportedKeys)
}

func (d *discovery) DoGetExportedKeys(ctx context.Context, _ flightsql.TableRef) (*arrow.Schema, <-chan arrowflight.StreamChunk, error) {
	return answer(ctx, schema_ref.ExportedKeys, 0, nil)
}

func (d *discovery) GetFlightInfoImportedKeys(_ context.Context, _ flightsql.TableRef, desc *arrowflight.FlightDescriptor) (*arrowflight.FlightInfo, error) {
	return about(desc, schema_ref.ImportedKeys)
}

func (d *discovery) DoGetImportedKeys(ctx context.Context, _ flightsql.TableRef) (*arrow.Schema, <-chan arrowflight.StreamChunk, error) {
	return answer(ctx, schema_ref.ImportedKeys, 0, nil)
}

func (d *discovery) GetFlightInfoCrossReference(_ context.Context, _ flightsql.CrossTableRef, desc *arrowflight.FlightDescriptor) (*arrowflight.FlightInfo, error) {
	return about(desc, schema_ref.CrossReference)
}

func (d *discovery) DoGetCrossReference(ctx context.Context, _ flightsql.CrossTableRef) (*arrow.Schema, <-chan arrowflight.StreamChunk, error) {
	return answer(ctx, schema_ref.CrossReference, 0, nil)
}

// like is SQL's LIKE: % is any text, _ any one character, and \ makes the next
// character stand for itself. No pattern lets everything pass. Names of lake
// are lower case, so that case does not matter to it.
func like(pattern *string, name string) bool {
	if pattern == nil {
		return true
	}
	type token struct {
		r        rune
		any, one bool
	}
	var tokens []token
	escaped := false
	for _, r := range *pattern {
		switch {
		case escaped:
			tokens, escaped = append(tokens, token{r: lower(r)}), false
		case r == '\\':
			escaped = true
		case r == '%':
			tokens = append(tokens, token{any: true})
		case r == '_':
			tokens = append(tokens, token{one: true})
		default:
			tokens = append(tokens, token{r: lower(r)})
		}
	}
	// Greedy, going back to the last % on a mismatch: linear in practice and
	// never more than the product of the lengths.
	text := []rune(name)
	p, star, mark := 0, -1, 0
	for i := 0; i < len(text); {
		switch {
		case p < len(tokens) && tokens[p].any:
			star, mark, p = p, i, p+1
		case p < len(tokens) && (tokens[p].one || tokens[p].r == text[i]):
			p, i = p+1, i+1
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	for p < len(tokens) && tokens[p].any {
		p++
	}
	return p == len(tokens)
}

func lower(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

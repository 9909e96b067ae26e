package sqlapi

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"

	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/ident"
)

// The values that SqlInfo has for enumerations (FlightSql.proto).
const (
	caseInsensitive    = int32(1) // SQL_CASE_SENSITIVITY_CASE_INSENSITIVE
	nullsSortedAtEnd   = int32(3) // SQL_NULLS_SORTED_AT_END
	transactionNone    = int32(0) // SQL_SUPPORTED_TRANSACTION_NONE
	isolationNone      = int32(0) // SQL_TRANSACTION_NONE
	groupByAnything    = int32(3) // SQL_GROUP_BY_UNRELATED | SQL_GROUP_BY_BEYOND_SELECT
	grammarAll         = int32(7) // minimum, core and extended
	subqueriesAll      = int32(15)
	unionsAll          = int32(3)
	outerJoinsFull     = int32(2)
	resultsForwardOnly = int32(2) // 1 << SQL_RESULT_SET_TYPE_FORWARD_ONLY
	readOnlyCursor     = int32(2) // 1 << SQL_RESULT_SET_CONCURRENCY_READ_ONLY
	noActions          = int32(0)
)

// arrowFormat is the version of the Arrow columnar format that is spoken.
const arrowFormat = "1.5"

// sqlInfo is what the server says of itself. A limit of 0 is none.
func sqlInfo(version string) map[flightsql.SqlInfo]any {
	return map[flightsql.SqlInfo]any{
		flightsql.SqlInfoFlightSqlServerName:                        "lake",
		flightsql.SqlInfoFlightSqlServerVersion:                     version,
		flightsql.SqlInfoFlightSqlServerArrowVersion:                arrowFormat,
		flightsql.SqlInfoFlightSqlServerReadOnly:                    true,
		flightsql.SqlInfoFlightSqlServerSql:                         true,
		flightsql.SqlInfoFlightSqlServerSubstrait:                   false,
		flightsql.SqlInfoFlightSqlServerTransaction:                 transactionNone,
		flightsql.SqlInfoFlightSqlServerCancel:                      true,
		flightsql.SqlInfoFlightSqlServerStatementTimeout:            int32(0),
		flightsql.SqlInfoFlightSqlServerTransactionTimeout:          int32(0),
		flightsql.SqlInfoFlightSqlServerBulkIngestion:               true,
		flightsql.SqlInfoFlightSqlServerIngestTransactionsSupported: false,

		flightsql.SqlInfoDDLCatalog:           false,
		flightsql.SqlInfoDDLSchema:            false,
		flightsql.SqlInfoDDLTable:             false,
		flightsql.SqlInfoIdentifierCase:       caseInsensitive,
		flightsql.SqlInfoIdentifierQuoteChar:  `"`,
		flightsql.SqlInfoQuotedIdentifierCase: caseInsensitive,

		flightsql.SqlInfoAllTablesAreASelectable: true,
		flightsql.SqlInfoNullOrdering:            nullsSortedAtEnd,
		flightsql.SqlInfoKeywords:                []string{"ASOF", "DESCRIBE", "EXCLUDE", "LATERAL", "PIVOT", "POSITIONAL", "QUALIFY", "SUMMARIZE", "UNPIVOT"},
		flightsql.SqlInfoNumericFunctions:        []string{"abs", "acos", "asin", "atan", "atan2", "ceiling", "cos", "cot", "degrees", "exp", "floor", "log", "log10", "mod", "pi", "power", "radians", "round", "sign", "sin", "sqrt", "tan", "trunc"},
		flightsql.SqlInfoStringFunctions:         []string{"ascii", "chr", "concat", "left", "length", "lower", "ltrim", "repeat", "replace", "right", "rtrim", "substring", "upper"},
		flightsql.SqlInfoSystemFunctions:         []string{"coalesce", "ifnull", "nullif"},
		flightsql.SqlInfoDateTimeFunctions:       []string{"date_diff", "date_part", "date_trunc", "dayname", "dayofmonth", "dayofweek", "dayofyear", "hour", "minute", "month", "monthname", "quarter", "second", "week", "year"},
		flightsql.SqlInfoSearchStringEscape:      `\`,
		flightsql.SqlInfoExtraNameChars:          "",

		flightsql.SqlInfoSupportsColumnAliasing:                 true,
		flightsql.SqlInfoNullPlusNullIsNull:                     true,
		flightsql.SqlInfoSupportsConvert:                        map[int32][]int32{},
		flightsql.SqlInfoSupportsTableCorrelationNames:          true,
		flightsql.SqlInfoSupportsDifferentTableCorrelationNames: false,
		flightsql.SqlInfoSupportsExpressionsInOrderBy:           true,
		flightsql.SqlInfoSupportsOrderByUnrelated:               true,
		flightsql.SqlInfoSupportedGroupBy:                       groupByAnything,
		flightsql.SqlInfoSupportsLikeEscapeClause:               true,
		flightsql.SqlInfoSupportsNonNullableColumns:             true,
		flightsql.SqlInfoSupportedGrammar:                       grammarAll,
		flightsql.SqlInfoANSI92SupportedLevel:                   grammarAll,
		flightsql.SqlInfoSupportsIntegrityEnhancementFacility:   false,
		flightsql.SqlInfoOuterJoinsSupportLevel:                 outerJoinsFull,

		flightsql.SqlInfoSchemaTerm:               "namespace",
		flightsql.SqlInfoProcedureTerm:            "procedure",
		flightsql.SqlInfoCatalogTerm:              "catalog",
		flightsql.SqlInfoCatalogAtStart:           true,
		flightsql.SqlInfoSchemasSupportedActions:  noActions,
		flightsql.SqlInfoCatalogsSupportedActions: noActions,

		flightsql.SqlInfoSupportedPositionedCommands:                         noActions,
		flightsql.SqlInfoSelectForUpdateSupported:                            false,
		flightsql.SqlInfoStoredProceduresSupported:                           false,
		flightsql.SqlInfoSupportedSubqueries:                                 subqueriesAll,
		flightsql.SqlInfoCorrelatedSubqueriesSupported:                       true,
		flightsql.SqlInfoSupportedUnions:                                     unionsAll,
		flightsql.SqlInfoMaxBinaryLiteralLen:                                 int64(0),
		flightsql.SqlInfoMaxCharLiteralLen:                                   int64(0),
		flightsql.SqlInfoMaxColumnNameLen:                                    int64(columnNameMax),
		flightsql.SqlInfoMaxColumnsInGroupBy:                                 int64(0),
		flightsql.SqlInfoMaxColumnsInIndex:                                   int64(0),
		flightsql.SqlInfoMaxColumnsInOrderBy:                                 int64(0),
		flightsql.SqlInfoMaxColumnsInSelect:                                  int64(0),
		flightsql.SqlInfoMaxColumnsInTable:                                   int64(0),
		flightsql.SqlInfoMaxConnections:                                      int64(0),
		flightsql.SqlInfoMaxCursorNameLen:                                    int64(0),
		flightsql.SqlInfoMaxIndexLen:                                         int64(0),
		flightsql.SqlInfoDBSchemaNameLen:                                     int64(ident.NameBytesMax),
		flightsql.SqlInfoMaxProcedureNameLen:                                 int64(0),
		flightsql.SqlInfoMaxCatalogNameLen:                                   int64(len(ident.Catalog)),
		flightsql.SqlInfoMaxRowSize:                                          int64(wire.RowBytesMax),
		flightsql.SqlInfoMaxRowSizeIncludesBlobs:                             true,
		flightsql.SqlInfoMaxStatementLen:                                     int64(statementBytesMax),
		flightsql.SqlInfoMaxStatements:                                       int64(0),
		flightsql.SqlInfoMaxTableNameLen:                                     int64(ident.NameBytesMax),
		flightsql.SqlInfoMaxTablesInSelect:                                   int64(TablesMax),
		flightsql.SqlInfoMaxUsernameLen:                                      int64(0),
		flightsql.SqlInfoDefaultTransactionIsolation:                         int64(isolationNone),
		flightsql.SqlInfoTransactionsSupported:                               false,
		flightsql.SqlInfoSupportedTransactionsIsolationlevels:                noActions,
		flightsql.SqlInfoDataDefinitionCausesTransactionCommit:               false,
		flightsql.SqlInfoDataDefinitionsInTransactionsIgnored:                false,
		flightsql.SqlInfoSupportedResultSetTypes:                             resultsForwardOnly,
		flightsql.SqlInfoSupportedConcurrenciesForResultSetUnspecified:       noActions,
		flightsql.SqlInfoSupportedConcurrenciesForResultSetForwardOnly:       readOnlyCursor,
		flightsql.SqlInfoSupportedConcurrenciesForResultSetScrollSensitive:   noActions,
		flightsql.SqlInfoSupportedConcurrenciesForResultSetScrollInsensitive: noActions,
		flightsql.SqlInfoBatchUpdatesSupported:                               false,
		flightsql.SqlInfoSavePointsSupported:                                 false,
		flightsql.SqlInfoNamedParametersSupported:                            false,
		flightsql.SqlInfoLocatorsUpdateCopy:                                  false,
		flightsql.SqlInfoStoredFunctionsUsingCallSyntaxSupported:             false,
	}
}

// Bounds that SqlInfo names: bytes of a column's name, and of a statement.
const (
	columnNameMax     = 255
	statementBytesMax = 64 << 10
)

// newDiscovery returns what tools ask for, over a catalog.
func newDiscovery(c directory, version string) (*discovery, error) {
	d := &discovery{catalog: c}
	for id, v := range sqlInfo(version) {
		if err := d.RegisterSqlInfo(id, v); err != nil {
			return nil, fmt.Errorf("SqlInfo: %w", err)
		}
	}
	return d, nil
}

// known narrows a question to what there is an answer for: a tool of later
// times asks for more, and gets what it can.
type known struct{ ids []uint32 }

func (k known) GetInfo() []uint32 { return k.ids }

func (d *discovery) DoGetSqlInfo(ctx context.Context, cmd flightsql.GetSqlInfo) (*arrow.Schema, <-chan arrowflight.StreamChunk, error) {
	all := sqlInfo("")
	var k known
	for _, id := range cmd.GetInfo() {
		if _, ok := all[flightsql.SqlInfo(id)]; ok {
			k.ids = append(k.ids, id)
		}
	}
	if len(k.ids) == 0 && len(cmd.GetInfo()) > 0 {
		return answer(ctx, schema_ref.SqlInfo, 0, nil)
	}
	return d.BaseServer.DoGetSqlInfo(ctx, k)
}

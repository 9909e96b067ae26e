package exec

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	duckdb "github.com/duckdb/duckdb-go-bindings"
)

// engineVersion is the engine that the gate's lists were reviewed for.
const engineVersion = "v1.5.6"

// instancesOpened counts engine instances of this process. Only a worker has
// any; a test of the pool's side holds it to that.
var instancesOpened atomic.Int64

// An instance is one locked DuckDB: it reads below in, spills below spill, and
// no statement can change that.
type instance struct {
	db duckdb.Database

	// What reads and writes texts of statements, on a connection of its own
	// that never binds one.
	scribe     *conn
	parse      *stream // text to tree
	regenerate *stream // tree to text, and to the tree of that text
}

// openInstance opens and locks an instance and proves that it is locked.
func openInstance(h hello) (*instance, error) {
	if v := duckdb.LibraryVersion(); v != engineVersion {
		return nil, fmt.Errorf("the engine is %s, the gate is for %s", v, engineVersion)
	}
	instancesOpened.Add(1)
	var cfg duckdb.Config
	if duckdb.CreateConfig(&cfg) == duckdb.StateError {
		return nil, &failure{Class: "Internal", Message: "no configuration", Position: -1}
	}
	defer duckdb.DestroyConfig(&cfg)
	for _, s := range [][2]string{
		{"threads", strconv.Itoa(h.Threads)},
		{"memory_limit", strconv.FormatInt(h.MemoryBytes, 10) + "B"},
		{"temp_directory", h.Spill},
		{"max_temp_directory_size", strconv.FormatInt(h.SpillBytes, 10) + "B"},
		{"autoinstall_known_extensions", "false"},
		{"autoload_known_extensions", "false"},
		{"allow_community_extensions", "false"},
		{"allow_unsigned_extensions", "false"},
		{"allow_persistent_secrets", "false"},
		{"secret_directory", h.Spill},
		{"extension_directory", h.Spill},
	} {
		if duckdb.SetConfig(cfg, s[0], s[1]) == duckdb.StateError {
			return nil, fmt.Errorf("the engine refused its setting %s", s[0])
		}
	}
	i := &instance{}
	var msg string
	if duckdb.OpenExt(":memory:", &i.db, cfg, &msg) == duckdb.StateError {
		return nil, fmt.Errorf("open the engine: %s", msg)
	}
	if err := errors.Join(i.lock(h), i.prepareScribe()); err != nil {
		i.close()
		return nil, err
	}
	return i, nil
}

func (i *instance) prepareScribe() (err error) {
	if i.scribe, err = i.connect(); err != nil {
		return err
	}
	if i.parse, err = i.scribe.prepare("SELECT json_serialize_sql(?::VARCHAR)"); err != nil {
		return err
	}
	i.regenerate, err = i.scribe.prepare("SELECT s, json_serialize_sql(s) FROM (SELECT json_deserialize_sql(?::JSON) AS s)")
	return err
}

func (i *instance) close() {
	for _, s := range []*stream{i.parse, i.regenerate} {
		if s != nil {
			s.close()
		}
	}
	if i.scribe != nil {
		i.scribe.close()
	}
	duckdb.Close(&i.db)
}

// lock makes the settings that only SQL can make. Their order matters: paths
// first, then no other paths, and at last no more settings.
func (i *instance) lock(h hello) error {
	c, err := i.connect()
	if err != nil {
		return err
	}
	defer c.close()
	for _, s := range []string{
		"SET GLOBAL TimeZone = 'UTC'",
		"SET GLOBAL errors_as_json = true",
		"SET GLOBAL enable_external_file_cache = false",
		"SET GLOBAL allowed_directories = [" + quoteText(h.In+"/") + ", " + quoteText(h.Spill+"/") + "]",
		"SET GLOBAL enable_external_access = false",
		"SET GLOBAL allowed_configs = ['memory_limit', 'threads', 'max_temp_directory_size']",
		"SET GLOBAL lock_configuration = true",
	} {
		if err := c.run(s); err != nil {
			return fmt.Errorf("lock the engine: %w", err)
		}
	}
	return c.selfTest()
}

// selfTest proves the lock from inside: each of these must be refused.
func (c *conn) selfTest() error {
	for _, s := range []string{
		"SET GLOBAL lock_configuration = false",
		"SET GLOBAL enable_external_access = true",
		"SET TimeZone = 'Europe/Paris'",
		"SELECT * FROM read_text('/proc/self/status')",
		"SELECT * FROM glob('/*')",
		"COPY (SELECT 1) TO '/tmp/lake-self-test.csv'",
		"INSTALL httpfs",
	} {
		if c.run(s) == nil {
			return fmt.Errorf("the engine is not locked: it ran %q", s)
		}
	}
	return nil
}

// A conn is one session of an instance. It is used by one goroutine, but for
// interrupt.
type conn struct{ c duckdb.Connection }

func (i *instance) connect() (*conn, error) {
	c := &conn{}
	if duckdb.Connect(i.db, &c.c) == duckdb.StateError {
		return nil, &failure{Class: "Internal", Message: "no connection", Position: -1}
	}
	return c, nil
}

func (c *conn) close()     { duckdb.Disconnect(&c.c) }
func (c *conn) interrupt() { duckdb.Interrupt(c.c) }

// run executes a statement of lake's own and drops its result.
func (c *conn) run(sql string) error {
	var r duckdb.Result
	defer duckdb.DestroyResult(&r)
	if duckdb.Query(c.c, sql, &r) == duckdb.StateError {
		return parseFailure(duckdb.ResultError(&r))
	}
	return nil
}

// A stream is a statement and, once started, its rows.
type stream struct {
	stmt    duckdb.PreparedStatement
	options duckdb.ArrowOptions
	schema  *arrow.Schema // nil if it depends on values that are not bound yet
	checks  []check       // one for each column
	result  duckdb.Result
	done    bool
}

// prepare binds a statement and finds its schema. Nothing runs.
func (c *conn) prepare(sql string) (*stream, error) {
	s := &stream{}
	if duckdb.Prepare(c.c, sql, &s.stmt) == duckdb.StateError {
		err := parseFailure(duckdb.PrepareError(s.stmt))
		s.close()
		return nil, err
	}
	duckdb.ConnectionGetArrowOptions(c.c, &s.options)
	if err := s.describe(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// describe finds the schema of a prepared statement.
func (s *stream) describe() error {
	n := int(duckdb.PreparedStatementColumnCount(s.stmt))
	return s.columns(n, func(i int) (string, duckdb.LogicalType) {
		return duckdb.PreparedStatementColumnName(s.stmt, duckdb.IdxT(i)), duckdb.PreparedStatementColumnLogicalType(s.stmt, duckdb.IdxT(i))
	})
}

// describeResult finds the schema of a started statement.
func (s *stream) describeResult() error {
	return s.columns(int(duckdb.ColumnCount(&s.result)), func(i int) (string, duckdb.LogicalType) {
		return duckdb.ColumnName(&s.result, duckdb.IdxT(i)), duckdb.ColumnLogicalType(&s.result, duckdb.IdxT(i))
	})
}

func (s *stream) columns(n int, column func(i int) (string, duckdb.LogicalType)) error {
	names := make([]string, n)
	types := make([]duckdb.LogicalType, n)
	defer func() {
		for i := range types {
			duckdb.DestroyLogicalType(&types[i])
		}
	}()
	s.schema, s.checks = nil, make([]check, n)
	for i := range n {
		names[i], types[i] = column(i)
		if duckdb.GetTypeId(types[i]) == duckdb.TypeInvalid {
			return nil // as the engine says of a statement that it cannot bind without values
		}
		var err error
		if s.checks[i], err = checkOf(types[i], names[i]); err != nil {
			return err
		}
	}
	var err error
	s.schema, err = arrowSchema(s.options, names, types)
	return err
}

// isSelect reports whether the statement is a query as the engine counts them.
func (s *stream) isSelect() bool {
	return duckdb.PreparedStatementType(s.stmt) == duckdb.StatementTypeSelect
}

// start begins to run the statement, which yields rows as they are asked for.
func (s *stream) start() error {
	var p duckdb.PendingResult
	defer func() { duckdb.DestroyPending(&p) }()
	if duckdb.PendingPreparedStreaming(s.stmt, &p) == duckdb.StateError {
		return parseFailure(duckdb.PendingError(p))
	}
	if duckdb.ExecutePending(p, &s.result) == duckdb.StateError {
		return parseFailure(duckdb.ResultError(&s.result))
	}
	return nil
}

// texts runs a statement of lake's own once more, with one text bound as its
// parameter, and returns the one row of texts that it yields.
func (s *stream) texts(parameter string) ([]string, error) {
	defer func() {
		duckdb.DestroyResult(&s.result)
		s.done = false
	}()
	if duckdb.BindVarcharLength(s.stmt, 1, parameter, duckdb.IdxT(len(parameter))) == duckdb.StateError {
		return nil, parseFailure(duckdb.PrepareError(s.stmt))
	}
	if err := s.start(); err != nil {
		return nil, err
	}
	b, err := s.next()
	if err != nil {
		return nil, err
	}
	if b == nil {
		return nil, &failure{Class: "Internal", Message: "no row", Position: -1}
	}
	defer b.Release()
	row := make([]string, b.NumCols())
	for i := range row {
		col, ok := b.Column(i).(*array.String)
		if !ok || col.Len() != 1 || col.IsNull(0) {
			return nil, &failure{Class: "Internal", Message: "not one text", Position: -1}
		}
		row[i] = strings.Clone(col.Value(0))
	}
	return row, nil
}

// next returns the next rows, about 2048, or nil after the last ones. The
// caller releases them.
func (s *stream) next() (arrow.RecordBatch, error) {
	if s.done { // another fetch would be an error
		return nil, nil
	}
	chunk := duckdb.FetchChunk(s.result)
	if chunk.Ptr == nil {
		s.done = true
		// A failing scan also ends in no chunk.
		if m := duckdb.ResultError(&s.result); m != "" {
			return nil, parseFailure(m)
		}
		return nil, nil
	}
	defer duckdb.DestroyDataChunk(&chunk)
	b, err := arrowBatch(s.options, s.schema, chunk)
	if err != nil {
		return nil, err
	}
	for i, check := range s.checks {
		if check == nil {
			continue
		}
		if err := check(b.Column(i)); err != nil {
			b.Release()
			return nil, err
		}
	}
	return b, nil
}

func (s *stream) close() {
	duckdb.DestroyResult(&s.result)
	duckdb.DestroyArrowOptions(&s.options)
	duckdb.DestroyPrepare(&s.stmt)
}

// parseFailure reads an error of an engine that writes them in JSON. Errors
// that come another way are "Class Error: text".
func parseFailure(s string) *failure {
	f := &failure{Class: "Internal", Message: s, Position: -1}
	text := s
	if i := strings.IndexByte(s, '{'); i > 0 && strings.HasSuffix(s[:i], " Error: ") {
		text = s[i:]
	}
	var e struct {
		Type     string `json:"exception_type"`
		Message  string `json:"exception_message"`
		Subtype  string `json:"error_subtype"`
		Position string `json:"position"`
	}
	if json.Unmarshal([]byte(text), &e) == nil && e.Type != "" {
		f.Class, f.Message, f.Subtype = e.Type, e.Message, e.Subtype
		if p, err := strconv.Atoi(e.Position); err == nil {
			f.Position = p
		}
		return f
	}
	const classBytesMax = 40
	if class, message, ok := strings.Cut(s, " Error: "); ok && len(class) <= classBytesMax {
		f.Class, f.Message = class, message
	}
	return f
}

// quoteText returns s as a text of SQL.
func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// quoteName returns s as an identifier of SQL.
func quoteName(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

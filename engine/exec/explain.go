package exec

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	duckdb "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakeward/lake/fault"
)

// An explain is a statement that asks for the plan of another one.
type explain struct {
	Analyze bool // run it, and say what that took
}

// explainSchema is that of the engine's own EXPLAIN.
var explainSchema = arrow.NewSchema([]arrow.Field{
	{Name: "explain_key", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "explain_value", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

// cutExplain takes EXPLAIN [ANALYZE] off the front of a text: the engine's
// parser gives trees of queries only. Blanks take its place, so that positions
// stay. Whatever is left goes through the parser and the gate like any text.
func cutExplain(sql string) (string, *explain, error) {
	at := skipBlanks(sql, 0)
	end := wordEnd(sql, at)
	if !strings.EqualFold(sql[at:end], "EXPLAIN") {
		return sql, nil, nil
	}
	e := &explain{}
	at = skipBlanks(sql, end)
	switch next := wordEnd(sql, at); {
	case strings.EqualFold(sql[at:next], "ANALYZE"):
		e.Analyze, end = true, next
	case strings.HasPrefix(sql[at:], "("):
		return "", nil, fault.New(fault.Unsupported, "EXPLAIN takes no options here; write EXPLAIN SELECT ... or EXPLAIN ANALYZE SELECT ...")
	}
	return strings.Repeat(" ", end) + sql[end:], e, nil
}

// skipBlanks returns where the first word after blanks and comments is.
func skipBlanks(sql string, at int) int {
	for {
		rest := strings.TrimLeftFunc(sql[at:], unicode.IsSpace)
		at = len(sql) - len(rest)
		end, skip := "", 0
		switch {
		case strings.HasPrefix(rest, "--"):
			end = "\n"
		case strings.HasPrefix(rest, "/*"):
			end, skip = "*/", len("/*")
		default:
			return at
		}
		i := strings.Index(rest[skip:], end)
		if i < 0 {
			return len(sql)
		}
		at += skip + i + len(end)
	}
}

func wordEnd(sql string, at int) int {
	for i, r := range sql[at:] {
		if r != '_' && !unicode.IsLetter(r) {
			return at + i
		}
	}
	return len(sql)
}

// explain answers with the plan of a statement, as one row of texts. The
// engine's drawing of it would break paths and names over lines, where nobody
// finds them; the tree that it is drawn from is written here instead.
func (w *worker) explain(r request, c *conn, st statement, sql string, values binding) (fin, error) {
	prefix := "EXPLAIN (FORMAT json) "
	if st.Explain.Analyze {
		prefix = "EXPLAIN (ANALYZE, FORMAT json) "
	}
	s, err := c.prepare(prefix + sql)
	if err != nil {
		return fin{}, shifted(err, -len(prefix))
	}
	defer s.close()
	if duckdb.PreparedStatementType(s.stmt) != duckdb.StatementTypeExplain {
		return fin{}, fmt.Errorf("%w: the statement is not an EXPLAIN", errProtocol)
	}
	if err := s.begin(st.ParamNames, values); err != nil {
		return fin{}, shifted(err, -len(prefix))
	}
	key, value, err := s.planText(scrubber{dirs: []string{w.hello.In, w.hello.Spill}, names: st.Spelling.Aliases})
	if err != nil {
		return fin{}, err
	}
	columns, err := newConverter(explainSchema, statement{})
	if err != nil {
		return fin{}, err
	}
	e, err := newEncoder(w.wire, r.id, columns)
	if err != nil {
		return fin{}, err
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, explainSchema)
	defer b.Release()
	b.Field(0).(*array.StringBuilder).Append(key)
	b.Field(1).(*array.StringBuilder).Append(value)
	row := b.NewRecordBatch()
	defer row.Release()
	if err := e.send(row); err != nil {
		return fin{}, err
	}
	return fin{Rows: e.rows, Batches: e.batches}, e.ipc.Close()
}

// planText reads the engine's answer.
func (s *stream) planText(clean scrubber) (key, value string, err error) {
	b, err := s.next()
	if err != nil {
		return "", "", err
	}
	if b == nil {
		return "", "", fmt.Errorf("%w: an EXPLAIN without a plan", errProtocol)
	}
	defer b.Release()
	keys, ok1 := b.Column(0).(*array.String)
	values, ok2 := b.Column(1).(*array.String)
	if !ok1 || !ok2 || b.NumRows() != 1 {
		return "", "", fmt.Errorf("%w: a plan that is no text", errProtocol)
	}
	var plan any
	if err := json.Unmarshal([]byte(values.Value(0)), &plan); err != nil {
		return "", "", fmt.Errorf("%w: a plan that is no JSON: %w", errProtocol, err)
	}
	var out strings.Builder
	roots, ok := plan.([]any)
	if !ok {
		roots = []any{plan}
	}
	for _, root := range roots {
		writePlan(&out, clean, object(root), 0)
	}
	return strings.Clone(keys.Value(0)), out.String(), nil
}

// planBytesMax bounds the text of a plan.
const planBytesMax = 1 << 20

// writePlan writes an operator, what is said of it, and what it reads from.
func writePlan(out *strings.Builder, clean scrubber, node map[string]any, depth int) {
	if out.Len() > planBytesMax {
		return
	}
	indent := strings.Repeat("  ", depth)
	name := text(node["name"])
	if name == "" {
		name = text(node["operator_name"])
	}
	switch {
	case name == "" && node["latency"] != nil: // the whole of an ANALYZE
		fmt.Fprintf(out, "total: %.6f s\n", number(node["latency"]))
		depth--
	case name == "EXPLAIN_ANALYZE":
		depth--
	default:
		out.WriteString(indent + strings.TrimSpace(name))
		if node["operator_timing"] != nil {
			fmt.Fprintf(out, ": %.0f rows, %.6f s", number(node["operator_cardinality"]), number(node["operator_timing"]))
		}
		out.WriteByte('\n')
		info := object(node["extra_info"])
		for _, k := range slices.Sorted(maps.Keys(info)) {
			if line, ok := clean.line(info[k]); ok {
				out.WriteString(indent + "    " + k + ": " + line + "\n")
			}
		}
	}
	for _, child := range list(node["children"]) {
		writePlan(out, clean, object(child), depth+1)
	}
}

func number(v any) float64 { n, _ := v.(float64); return n }

// A scrubber takes from a plan what is not the caller's.
type scrubber struct {
	dirs  []string          // lines that name something in these go
	names map[string]string // of views and aliases, to what the caller calls the tables
}

var viewName = regexp.MustCompile(`(?:"?temp"?\.)?(?:"?main"?\.)?"?(` + viewPrefix + `(?:as_)?[0-9]+)"?`)

func (c scrubber) line(v any) (string, bool) {
	var parts []string
	switch v := v.(type) {
	case string:
		parts = append(parts, v)
	case []any:
		for _, p := range v {
			parts = append(parts, fmt.Sprint(p))
		}
	default:
		parts = append(parts, fmt.Sprint(v))
	}
	line := strings.Join(parts, ", ")
	for _, d := range c.dirs {
		if strings.Contains(line, d) {
			return "", false
		}
	}
	line = viewName.ReplaceAllStringFunc(line, func(s string) string {
		made := viewName.FindStringSubmatch(s)[1]
		if name, ok := c.names[made]; ok {
			return name
		}
		return "a table"
	})
	return strings.Join(strings.Fields(line), " "), true
}

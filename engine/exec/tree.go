package exec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/lakeward/lake/fault"
)

// A tree is a statement as the engine's parser wrote it in JSON: objects,
// lists, texts, json.Numbers, booleans and nils.
type tree struct {
	sql  string
	root map[string]any // what the parser reads back
	node map[string]any // the statement's query node

	params  []string // names of the parameters, by position
	explain *explain // nil unless the plan of the query is asked for
}

// readTree reads the parser's answer for a text, an error of the text or one
// statement, and puts the statement through the gate.
func readTree(sql string, b []byte) (*tree, error) {
	t, err := decodeTree(sql, b)
	if err != nil {
		return nil, err
	}
	g := gate{functions: allowedFunctions()}
	if err := g.query(t.node); err != nil {
		return nil, err
	}
	return t, nil
}

func decodeTree(sql string, b []byte) (*tree, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber() // positions and 128-bit values do not fit a float
	t := &tree{sql: sql}
	if err := d.Decode(&t.root); err != nil {
		if bytes.Contains(b, []byte(`"value":Infinity`)) || bytes.Contains(b, []byte(`"value":-Infinity`)) {
			return nil, fault.New(fault.Invalid, "the statement holds a number beyond the range of DOUBLE; write 'Infinity'::DOUBLE if you mean that")
		}
		return nil, fmt.Errorf("%w: the parser's tree: %w", errProtocol, err)
	}
	if t.root["error"] != false {
		return nil, refusedByParser(sql, t.root)
	}
	statements, _ := t.root["statements"].([]any)
	switch len(statements) {
	case 1:
	case 0:
		return nil, fault.New(fault.Invalid, "the statement is empty; write a query, such as SELECT 1")
	default:
		return nil, fault.Newf(fault.Invalid, "the text holds %d statements; send them one by one", len(statements))
	}
	s, _ := statements[0].(map[string]any)
	var err error
	if t.params, err = parameterNames(s["named_param_map"]); err != nil {
		return nil, err
	}
	node, ok := s["node"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%w: a statement without a node", errProtocol)
	}
	t.node = node
	return t, nil
}

// refusedByParser is the error of a text that is no query.
func refusedByParser(sql string, answer map[string]any) error {
	text := func(k string) string { s, _ := answer[k].(string); return s }
	if text("error_type") == "not implemented" {
		return notAQuery(sql)
	}
	at := -1
	if p, err := strconv.Atoi(text("position")); err == nil {
		at = p
	}
	return fault.Newf(fault.Invalid, "Parser Error: %s%s", text("error_message"), caret(sql, at))
}

// errPivot is that of a PIVOT whose columns depend on the table's rows: it is
// two statements, the first of which makes a type of the values.
var errPivot = fault.New(fault.Unsupported, "PIVOT needs its values in the statement, so that its columns are known before it runs; list them: PIVOT t ON k IN ('a', 'b') USING sum(x)")

// notAQuery says what to do with a statement that the parser takes for
// something else than a query.
func notAQuery(sql string) error {
	switch word := firstWord(sql); word {
	case "PIVOT", "PIVOT_WIDER":
		return errPivot
	case "EXPLAIN":
		return fault.New(fault.Invalid, "EXPLAIN explains a query; write EXPLAIN once, before SELECT, FROM, VALUES or WITH")
	case "INSERT", "UPDATE", "DELETE", "MERGE", "CREATE", "DROP", "ALTER", "TRUNCATE", "COPY":
		return fault.Newf(fault.Invalid, "%s does not run as a query, which has no effects; use lake table create, lake load or an ingest", word)
	case "", "SELECT", "FROM", "VALUES", "WITH", "TABLE":
		if strings.Contains(strings.ToUpper(sql), "PIVOT") {
			return errPivot
		}
		return fault.New(fault.Invalid, "the text holds more than a query; send one SELECT, FROM, VALUES or WITH, and changes as updates")
	default:
		return fault.Newf(fault.Invalid, "%.20s statements do not run here; write a query: SELECT, FROM, VALUES or WITH", word)
	}
}

// firstWord is the first word of a text in upper case, comments skipped.
func firstWord(sql string) string {
	for {
		sql = strings.TrimLeftFunc(sql, func(r rune) bool { return unicode.IsSpace(r) || r == '(' })
		switch {
		case strings.HasPrefix(sql, "--"):
			_, sql, _ = strings.Cut(sql, "\n")
		case strings.HasPrefix(sql, "/*"):
			_, sql, _ = strings.Cut(sql, "*/")
		default:
			if i := strings.IndexFunc(sql, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) }); i >= 0 {
				sql = sql[:i]
			}
			return strings.ToUpper(sql)
		}
	}
}

// caret shows the line of the text that holds byte at, and where in it, in the
// engine's way. It is empty if at lies outside.
func caret(sql string, at int) string {
	if at < 0 || at > len(sql) {
		return ""
	}
	start := strings.LastIndexByte(sql[:at], '\n') + 1
	end := len(sql)
	if i := strings.IndexByte(sql[at:], '\n'); i >= 0 {
		end = at + i
	}
	line, before := []rune(sql[start:end]), len([]rune(sql[start:at]))
	const contextMax = 60 // runes on each side
	lead := ""
	if before > contextMax {
		line, before, lead = line[before-contextMax:], contextMax, "..."
	}
	tail := ""
	if len(line) > before+contextMax {
		line, tail = line[:before+contextMax], "..."
	}
	label := fmt.Sprintf("LINE %d: ", 1+strings.Count(sql[:start], "\n"))
	shown := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, string(line))
	return "\n\n" + label + lead + shown + tail + "\n" + strings.Repeat(" ", len(label)+len(lead)+before) + "^"
}

package exec

import (
	"encoding/json"
	"regexp"
	"strings"
)

// A spelling says where the regenerated text differs from the caller's in ways
// that show in the names of columns without alias, which are the text of their
// expression.
type spelling struct {
	Doubles   bool // constants were respelled
	Lambdas   bool // all lambdas were written with the keyword, or as comprehensions
	Intervals bool
	Aliases   map[string]string `json:",omitempty"` // made up, of tables and of views, to what the caller calls the table
}

// respell changes constants that the engine would write in a way that reads
// back as another type: 1000.0 of 1e3 would be a decimal, 5 of 5. an integer.
func respell(sql string, tree any, aliases map[string]string) spelling {
	s := spelling{Lambdas: true, Aliases: aliases}
	s.walk(sql, tree)
	return s
}

func (s *spelling) walk(sql string, v any) {
	switch v := v.(type) {
	case []any:
		for _, v := range v {
			s.walk(sql, v)
		}
	case map[string]any:
		switch v["class"] {
		case "CONSTANT":
			s.constant(v)
			return
		case "LAMBDA":
			s.lambda(sql, v)
		case "FUNCTION":
			s.Intervals = s.Intervals || strings.HasPrefix(text(v["function_name"]), "to_")
		}
		for _, v := range v {
			s.walk(sql, v)
		}
	}
}

func (s *spelling) constant(node map[string]any) {
	value := object(node["value"])
	t := object(value["type"])
	number, ok := value["value"].(json.Number)
	if !ok {
		return
	}
	inner := map[string]any{"class": "CONSTANT", "type": "VALUE_CONSTANT", "alias": "", locationKey: node[locationKey]}
	switch t["id"] {
	case "DOUBLE":
		// The blank tells this text from one of the caller's.
		s.Doubles = true
		inner["value"] = map[string]any{"type": map[string]any{"id": "VARCHAR", "type_info": nil}, "is_null": false, "value": " " + signedExponent.ReplaceAllString(number.String(), "e+$1")}
	case "DECIMAL":
		if object(t["type_info"])["scale"] != json.Number("0") {
			return
		}
		inner["value"] = value
	default:
		return
	}
	delete(node, "value")
	node["class"], node["type"], node["try_cast"], node["cast_type"], node["child"] = "CAST", "OPERATOR_CAST", false, t, inner
}

// lambda looks whether a lambda was written with an arrow, whose position it
// then has.
func (s *spelling) lambda(sql string, node map[string]any) {
	number, _ := node[locationKey].(json.Number)
	at, err := number.Int64()
	if err == nil && at >= 0 && at < int64(len(sql)) && strings.HasPrefix(sql[at:], "->") {
		s.Lambdas = false
	}
}

var (
	signedExponent = regexp.MustCompile(`e([0-9])`) // as the engine writes it
	doubleName     = regexp.MustCompile(`CAST\(' ([-+0-9.e]+)' AS "DOUBLE"\)`)
	lambdaName     = regexp.MustCompile(`\(("[^"]*"|[A-Za-z0-9_]+) -> `)
	lambdaNames    = regexp.MustCompile(`\("row"\(([^()]*)\) -> `)
	intervalName   = regexp.MustCompile(`(to_[a-z]+\(CAST\(trunc\(CAST\([^()]* AS )"DOUBLE"(\)\) AS )`)
)

// name returns the name that a result column has in the caller's spelling.
func (s spelling) name(n string) string {
	if s.Doubles {
		n = doubleName.ReplaceAllString(n, "$1")
	}
	if s.Lambdas {
		n = lambdaName.ReplaceAllString(n, "(lambda $1: ")
		n = lambdaNames.ReplaceAllString(n, "(lambda $1: ")
	}
	if s.Intervals {
		n = intervalName.ReplaceAllString(n, "${1}DOUBLE${2}")
	}
	if len(s.Aliases) > 0 {
		n = generatedName.ReplaceAllStringFunc(n, func(made string) string {
			last := made[strings.LastIndexByte(made, '.')+1:]
			if name, ok := s.Aliases[strings.Trim(last, `"`)]; ok {
				return name
			}
			return made
		})
	}
	return n
}

package exec

import (
	"fmt"

	"github.com/lakeward/lake/fault"
)

// errGate is the class of what the gate refuses because it does not know it.
// That is either new in the engine or made by something else than its parser.
var errGate = fault.New(fault.Unsupported, "the statement uses a construct that this server does not know")

// A part says what a value in the tree may be.
type part uint8

const (
	scalar        part = iota + 1 // a text, number, boolean or nil
	scalars                       // lists of scalars, to any depth
	nothing                       // nil, false or an empty text, list or object
	expression                    // or nil
	expressions                   // a list
	expressionss                  // a list of lists
	cases                         // WHEN ... THEN ...
	keyed                         // a list of {key, value: expression}
	renames                       // a list of {key: {scalars}, value}
	qualified                     // a list of {scalars}
	orders                        // a list of {type, null_order, expression}
	orderModifier                 // {type, orders}
	modifiers                     // a list
	statementNode                 // {node: query, named_param_map}
	queryNode
	optionalQuery // or nil
	ctes          // {map: [{key, value}]}
	tableRef      // an item of FROM
	sample        // TABLESAMPLE, or nil
	atClause      // what readAt has read
	showType      // of DESCRIBE, SUMMARIZE or SHOW
	pivots        // what PIVOT and UNPIVOT make of what
	entries       // a list of values of a pivot
	function      // a name of a function
	tableCall     // the expression of a table function
	typeName      // a logical type
	value         // a constant
	values        // a list
)

// shapes lists, for each kind of object of the parser, all that it may hold.
// What is not here does not pass.
type shapes map[string]map[string]part

var expressionShapes = shapes{
	"BETWEEN":    {"input": expression, "lower": expression, "upper": expression},
	"CASE":       {"case_checks": cases, "else_expr": expression},
	"CAST":       {"child": expression, "cast_type": typeName, "try_cast": scalar},
	"COLLATE":    {"child": expression, "collation": scalar},
	"COLUMN_REF": {"column_names": scalars},
	"COMPARISON": {"left": expression, "right": expression},
	"CONJUNCTION": {
		"children": expressions,
	},
	"CONSTANT": {"value": value},
	"FUNCTION": {
		"function_name": function, "schema": scalar, "catalog": scalar, "children": expressions, "filter": expression,
		"order_bys": orderModifier, "distinct": scalar, "is_operator": scalar, "export_state": nothing,
	},
	"LAMBDA":               {"lhs": expression, "expr": expression},
	"OPERATOR":             {"children": expressions},
	"PARAMETER":            {"identifier": scalar},
	"POSITIONAL_REFERENCE": {"index": scalar},
	"STAR": {
		"relation_name": scalar, "exclude_list": scalars, "replace_list": keyed, "columns": scalar, "expr": expression,
		"qualified_exclude_list": qualified, "rename_list": renames,
	},
	"SUBQUERY": {"subquery_type": scalar, "subquery": statementNode, "child": expression, "comparison_type": scalar},
	"WINDOW": {
		"function_name": function, "schema": scalar, "catalog": scalar, "children": expressions,
		"partitions": expressions, "orders": orders, "arg_orders": orders, "start": scalar, "end": scalar,
		"start_expr": expression, "end_expr": expression, "offset_expr": expression, "default_expr": expression,
		"ignore_nulls": scalar, "filter_expr": expression, "exclude_clause": scalar, "distinct": scalar,
	},
}

// expressionTypes lists the types of expressions beside those whose type is
// their class.
var expressionTypes = set(
	"COMPARE_BETWEEN", "COMPARE_NOT_BETWEEN", "CASE_EXPR", "OPERATOR_CAST", "VALUE_CONSTANT", "VALUE_PARAMETER",
	"COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_LESSTHAN", "COMPARE_GREATERTHAN", "COMPARE_LESSTHANOREQUALTO",
	"COMPARE_GREATERTHANOREQUALTO", "COMPARE_DISTINCT_FROM", "COMPARE_NOT_DISTINCT_FROM",
	"CONJUNCTION_AND", "CONJUNCTION_OR", "COMPARE_IN", "COMPARE_NOT_IN",
	"OPERATOR_NOT", "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL", "OPERATOR_COALESCE", "OPERATOR_NULLIF", "OPERATOR_TRY", "OPERATOR_UNPACK",
	"ARRAY_CONSTRUCTOR", "ARRAY_EXTRACT", "ARRAY_SLICE", "STRUCT_EXTRACT", "GROUPING_FUNCTION",
	"WINDOW_AGGREGATE", "WINDOW_ROW_NUMBER", "WINDOW_RANK", "WINDOW_RANK_DENSE", "WINDOW_PERCENT_RANK", "WINDOW_CUME_DIST",
	"WINDOW_NTILE", "WINDOW_LEAD", "WINDOW_LAG", "WINDOW_FIRST_VALUE", "WINDOW_LAST_VALUE", "WINDOW_NTH_VALUE", "WINDOW_FILL",
)

var queryShapes = shapes{
	"SELECT_NODE": {
		"modifiers": modifiers, "cte_map": ctes, "select_list": expressions, "from_table": tableRef, "where_clause": expression,
		"group_expressions": expressions, "group_sets": scalars, "aggregate_handling": scalar, "having": expression,
		"sample": sample, "qualify": expression,
	},
	"SET_OPERATION_NODE": {
		"modifiers": modifiers, "cte_map": ctes, "setop_type": scalar, "setop_all": scalar, "left": queryNode, "right": queryNode,
	},
	"RECURSIVE_CTE_NODE": {
		"modifiers": modifiers, "cte_map": ctes, "cte_name": scalar, "union_all": scalar, "left": queryNode, "right": queryNode,
		"aliases": scalars, "key_targets": expressions,
	},
}

var modifierShapes = shapes{
	"ORDER_MODIFIER":         {"orders": orders},
	"LIMIT_MODIFIER":         {"limit": expression, "offset": expression},
	"LIMIT_PERCENT_MODIFIER": {"limit": expression, "offset": expression},
	"DISTINCT_MODIFIER":      {"distinct_on_targets": expressions},
}

var tableShapes = shapes{
	"EMPTY": {},
	"BASE_TABLE": {
		"schema_name": scalar, "catalog_name": scalar, "table_name": scalar, "column_name_alias": scalars, "at_clause": atClause,
	},
	"SUBQUERY": {"subquery": statementNode, "column_name_alias": scalars},
	"JOIN": {
		"left": tableRef, "right": tableRef, "condition": expression, "join_type": scalar, "ref_type": scalar,
		"using_columns": scalars, "delim_flipped": nothing, "duplicate_eliminated_columns": nothing,
	},
	"SHOW_REF": {"table_name": scalar, "query": optionalQuery, "show_type": showType, "catalog_name": nothing, "schema_name": nothing},
	"PIVOT": {
		"source": tableRef, "aggregates": expressions, "unpivot_names": scalars, "pivots": pivots, "groups": scalars,
		"column_name_alias": scalars, "include_nulls": scalar,
	},
	"TABLE_FUNCTION":  {"function": tableCall, "column_name_alias": scalars, "with_ordinality": scalar},
	"EXPRESSION_LIST": {"expected_names": scalars, "expected_types": nothing, "values": expressionss},
}

// typeIDs lists the types that a statement may name.
var typeIDs = set(
	"NULL", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
	"FLOAT", "DOUBLE", "DECIMAL", "BIGNUM", "VARCHAR", "CHAR", "BLOB", "BIT", "UUID", "DATE", "TIME", "TIME_NS", "TIME WITH TIME ZONE",
	"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE", "INTERVAL",
	"LIST", "ARRAY", "STRUCT", "MAP", "UNION", "ENUM", "UNBOUND", "STRING_LITERAL", "INTEGER_LITERAL", "GEOMETRY", "VARIANT",
)

var typeShapes = shapes{
	"LIST_TYPE_INFO":    {"child_type": typeName},
	"ARRAY_TYPE_INFO":   {"child_type": typeName, "size": scalar},
	"DECIMAL_TYPE_INFO": {"width": scalar, "scale": scalar},
	"STRING_TYPE_INFO":  {"collation": scalar},
	"UNBOUND_TYPE_INFO": {"name": scalar, "catalog": nothing, "schema": nothing, "user_type_modifiers": values},
}

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// A gate walks a tree and lets nothing through that it does not know.
type gate struct {
	functions functionList
	depth     int
}

// depthMax bounds nesting; the parser's own bound is 1000 expressions.
const depthMax = 5000

func unknown(what string, name any) error {
	return fault.Detail(errGate, "the statement uses %s %.60q, which this server does not know; write it another way", what, fmt.Sprint(name))
}

// object checks that v is an object of one of the shapes. kind is the key that
// names the shape, common what every shape may hold beside.
func (g *gate) object(v any, what, kind string, known shapes, common map[string]part) error {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > depthMax {
		return fault.New(fault.Exhausted, "the statement is nested too deeply; write it flatter")
	}
	m, ok := v.(map[string]any)
	if !ok {
		return unknown("a "+what+" that is no object", "")
	}
	name, _ := m[kind].(string)
	shape, ok := known[name]
	if !ok {
		return unknown(what, name)
	}
	for k, v := range m {
		p, ok := shape[k]
		if !ok {
			p, ok = common[k]
		}
		if !ok {
			return unknown("in "+name, k)
		}
		if err := g.part(p, k, v); err != nil {
			return err
		}
	}
	return nil
}

var (
	commonExpression = map[string]part{"class": scalar, "type": scalar, "alias": scalar, "query_location": scalar}
	commonNode       = map[string]part{"type": scalar}
	commonTable      = map[string]part{"type": scalar, "alias": scalar, "sample": sample, "query_location": scalar}
	commonType       = map[string]part{"type": scalar, "alias": nothing, "extension_info": nothing}
)

func (g *gate) query(v any) error {
	return g.object(v, "query", "type", queryShapes, commonNode)
}

func (g *gate) expression(v any) error {
	if err := g.object(v, "expression", "class", expressionShapes, commonExpression); err != nil {
		return err
	}
	m := v.(map[string]any)
	if t := m["type"]; t != m["class"] && !expressionTypes[fmt.Sprint(t)] {
		return unknown("expression", t)
	}
	return nil
}

func (g *gate) table(v any) error {
	m, _ := v.(map[string]any)
	if _, err := readAt(m["at_clause"]); err != nil {
		return err
	}
	if m["type"] == "SHOW_REF" && m["query"] == nil {
		if _, err := shown(m); err != nil {
			return err
		}
	}
	return g.object(v, "table", "type", tableShapes, commonTable)
}

func (g *gate) part(p part, key string, v any) error {
	switch p {
	case scalar:
		switch v.(type) {
		case map[string]any, []any:
			return unknown("a value of", key)
		}
		return nil
	case nothing:
		if m, ok := v.(map[string]any); ok && len(m) == 0 {
			return nil
		}
		if l, ok := v.([]any); ok && len(l) == 0 {
			return nil
		}
		if v != nil && v != false && v != "" {
			return unknown("a value of", key)
		}
		return nil
	case scalars:
		return g.scalars(key, v)
	case expression:
		if v == nil {
			return nil
		}
		return g.expression(v)
	case expressions:
		return each(key, v, g.expression)
	case expressionss:
		return each(key, v, func(v any) error { return each(key, v, g.expression) })
	case cases:
		return each(key, v, func(v any) error {
			return g.fields(key, v, map[string]part{"when_expr": expression, "then_expr": expression})
		})
	case keyed:
		return each(key, v, func(v any) error { return g.fields(key, v, map[string]part{"key": scalar, "value": expression}) })
	case renames:
		return each(key, v, func(v any) error {
			m, _ := v.(map[string]any)
			if err := g.flat(key, m["key"]); err != nil {
				return err
			}
			return g.part(scalar, key, m["value"])
		})
	case qualified:
		return each(key, v, func(v any) error { return g.flat(key, v) })
	case orders:
		return each(key, v, func(v any) error {
			return g.fields(key, v, map[string]part{"type": scalar, "null_order": scalar, "expression": expression})
		})
	case orderModifier:
		return g.fields(key, v, map[string]part{"type": scalar, "orders": orders})
	case modifiers:
		return each(key, v, func(v any) error { return g.object(v, "modifier", "type", modifierShapes, commonNode) })
	case statementNode:
		return g.fields(key, v, map[string]part{"node": queryNode, "named_param_map": nothing})
	case queryNode:
		return g.query(v)
	case optionalQuery:
		if v == nil {
			return nil
		}
		return g.query(v)
	case showType:
		if v != "DESCRIBE" && v != "SUMMARY" && v != "SHOW_UNQUALIFIED" {
			return unknown("SHOW of type", v)
		}
		return nil
	case pivots:
		return each(key, v, func(v any) error {
			return g.fields(key, v, map[string]part{"pivot_expressions": expressions, "unpivot_names": scalars, "entries": entries, "pivot_enum": nothing})
		})
	case entries:
		return each(key, v, func(v any) error {
			return g.fields(key, v, map[string]part{"values": values, "star_expr": expression, "alias": scalar})
		})
	case ctes:
		return g.ctes(v)
	case tableRef:
		return g.table(v)
	case sample:
		if v == nil {
			return nil
		}
		return g.fields(key, v, map[string]part{"sample_size": value, "is_percentage": scalar, "method": scalar, "seed": scalar, "repeatable": scalar})
	case atClause:
		return nil
	case function:
		return g.functions.check(fmt.Sprint(v))
	case tableCall:
		return g.tableFunction(v)
	case typeName:
		return g.typeName(v)
	case value:
		return g.value(v)
	case values:
		return each(key, v, g.value)
	}
	return unknown("part", key)
}

func each(key string, v any, check func(any) error) error {
	l, ok := v.([]any)
	if !ok {
		return unknown("a value of", key)
	}
	for _, v := range l {
		if err := check(v); err != nil {
			return err
		}
	}
	return nil
}

// fields checks an object that has no kind.
func (g *gate) fields(key string, v any, known map[string]part) error {
	m, ok := v.(map[string]any)
	if !ok {
		return unknown("a value of", key)
	}
	for k, v := range m {
		p, ok := known[k]
		if !ok {
			return unknown("in "+key, k)
		}
		if err := g.part(p, k, v); err != nil {
			return err
		}
	}
	return nil
}

// flat checks an object of scalars.
func (g *gate) flat(key string, v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return unknown("a value of", key)
	}
	for k, v := range m {
		if err := g.part(scalar, k, v); err != nil {
			return err
		}
	}
	return nil
}

func (g *gate) scalars(key string, v any) error {
	if l, ok := v.([]any); ok {
		for _, v := range l {
			if err := g.scalars(key, v); err != nil {
				return err
			}
		}
		return nil
	}
	return g.part(scalar, key, v)
}

func (g *gate) ctes(v any) error {
	m, _ := v.(map[string]any)
	return each("cte_map", m["map"], func(v any) error {
		e, _ := v.(map[string]any)
		if _, ok := e["key"].(string); !ok {
			return unknown("a CTE without a name", "")
		}
		return g.fields("cte_map", e["value"], map[string]part{
			"aliases": scalars, "query": statementNode, "materialized": scalar, "key_targets": expressions,
		})
	})
}

// tableFunction checks a call in FROM. Its name is held against another list
// than that of functions in expressions.
func (g *gate) tableFunction(v any) error {
	m, _ := v.(map[string]any)
	name, _ := m["function_name"].(string)
	if m["class"] != "FUNCTION" {
		return unknown("a table function of class", m["class"])
	}
	if err := g.functions.checkTable(name); err != nil {
		return err
	}
	for k, v := range m {
		if k == "function_name" {
			continue
		}
		p, ok := expressionShapes["FUNCTION"][k]
		if !ok {
			p, ok = commonExpression[k]
		}
		if !ok {
			return unknown("in a table function", k)
		}
		if err := g.part(p, k, v); err != nil {
			return err
		}
	}
	return nil
}

func (g *gate) typeName(v any) error {
	m, _ := v.(map[string]any)
	if id := fmt.Sprint(m["id"]); !typeIDs[id] {
		return unknown("type", id)
	}
	for k := range m {
		if k != "id" && k != "type_info" {
			return unknown("in a type", k)
		}
	}
	info, ok := m["type_info"].(map[string]any)
	if !ok {
		return g.part(nothing, "type_info", m["type_info"])
	}
	if info["type"] == "STRUCT_TYPE_INFO" {
		return each("child_types", info["child_types"], func(v any) error {
			return g.fields("child_types", v, map[string]part{"first": scalar, "second": typeName})
		})
	}
	return g.object(info, "type", "type", typeShapes, commonType)
}

// pieces checks what a constant is made of: a scalar, scalar pieces as in a
// 128-bit integer or an interval, or other constants.
func (g *gate) pieces(v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return g.part(scalar, "value", v)
	}
	if children, ok := m["children"]; ok && len(m) == 1 {
		return each("children", children, g.value)
	}
	return g.flat("value", m)
}

// value checks a constant.
func (g *gate) value(v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return unknown("a constant that is no object", "")
	}
	for k, v := range m {
		var err error
		switch k {
		case "type":
			err = g.typeName(v)
		case "is_null":
			err = g.part(scalar, k, v)
		case "value":
			err = g.pieces(v)
		default:
			err = unknown("in a constant", k)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

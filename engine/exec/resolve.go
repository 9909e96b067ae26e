package exec

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
)

// tablesMax bounds the tables of a statement.
const tablesMax = 64

// viewPrefix begins the names under which a worker knows tables. Views are
// named with their schema, so that no CTE can take their place.
const viewPrefix = "__lake_"

// Where temporary views live.
const (
	viewCatalog = "temp"
	viewSchema  = "main"
)

// A plan is a tree whose tables are named as the worker's views.
type plan struct {
	tree    map[string]any
	tables  []planTable
	aliases map[string]string // generated aliases, and the tables that have them
	output  relation

	spelling spelling
}

// A planTable is one table of a statement.
type planTable struct {
	engine.Reference
	pos   int64 // where the text has it
	view  string
	list  string // of listings, instead of scan
	scan  engine.Scan
	uses  int      // how often it stands in the statement
	may   filter   // which of its files are read, if it stands there once; nil is all
	paths []string // of its files, once placed
}

// tables returns the tables that the statement reads.
func (t *tree) tables() ([]engine.Reference, error) {
	r := resolver{index: map[engine.Reference]int{}}
	if _, err := r.query(t.node, nil, &scope{}); err != nil {
		return nil, err
	}
	slices.SortStableFunc(r.tables, func(a, b planTable) int { return cmp.Compare(a.pos, b.pos) })
	names := make([]engine.Reference, len(r.tables))
	for i, t := range r.tables {
		names[i] = t.Reference
	}
	return names, nil
}

// resolve renames the tree's tables and follows columns to them. The tree
// belongs to the plan afterwards.
func (t *tree) resolve(bindings []engine.Binding) (*plan, error) {
	r := resolver{index: map[engine.Reference]int{}, bindings: map[engine.Reference]engine.Scan{}, aliases: map[string]string{}, shown: map[string]string{}, crowded: crowdedNames(t.node), rename: true}
	for _, b := range bindings {
		r.bindings[engine.Reference{Table: b.Table, At: b.At}] = b.Scan
	}
	out, err := r.query(t.node, nil, &scope{})
	if err != nil {
		return nil, err
	}
	for _, t := range r.tables {
		r.shown[t.view] = t.String()
	}
	return &plan{tree: t.root, tables: r.tables, aliases: r.aliases, output: out, spelling: respell(t.sql, t.node, r.shown)}, nil
}

// A resolver finds out what the names in a gated tree mean.
type resolver struct {
	rename   bool // tables become views
	bindings map[engine.Reference]engine.Scan
	tables   []planTable
	index    map[engine.Reference]int // into tables
	aliases  map[string]string        // see plan
	shown    map[string]string        // of the aliases: what the statement calls the table
	crowded  map[string]bool          // see crowdedNames
	views    map[string]bool          // instead of tables: only these, by their names
	followed int                      // columns, see follow
}

// A relation is a named set of columns.
type relation struct {
	alias   string
	shown   string      // what the statement calls it
	table   ident.Table // of a table that has no alias of its own
	columns []column
	known   bool // columns are all there are
}

// A column has the position of the table column that it is, or table -1.
type column struct {
	name          string
	table, source int
}

// A cteScope is a list of the common table expressions in scope, the innermost first.
type cteScope struct {
	outer *cteScope
	name  string // lower case
	rel   relation
	self  bool // of the recursive part itself, which may say recurring.name
}

func (c *cteScope) find(name string) *cteScope {
	for ; c != nil; c = c.outer {
		if c.name == strings.ToLower(name) {
			return c
		}
	}
	return nil
}

// A scope holds what column names can refer to.
type scope struct {
	outer     *scope
	relations []relation
	merged    bool     // a join makes one column of two, or hides some
	lambda    []string // parameters; a scope of a lambda has nothing else
}

// object and list read gated nodes.
func object(v any) map[string]any { m, _ := v.(map[string]any); return m }
func list(v any) []any            { l, _ := v.([]any); return l }
func text(v any) string           { s, _ := v.(string); return s }

func (r *resolver) query(node map[string]any, outer *cteScope, around *scope) (relation, error) {
	in := outer
	for _, e := range list(object(node["cte_map"])["map"]) {
		cte := object(object(e)["value"])
		rel, err := r.query(object(object(cte["query"])["node"]), in, around)
		if err != nil {
			return relation{}, err
		}
		if err := r.expressions(cte["key_targets"], in, &scope{}); err != nil {
			return relation{}, err
		}
		rel.rename(list(cte["aliases"]))
		in = &cteScope{outer: in, name: strings.ToLower(text(object(e)["key"])), rel: rel}
	}
	switch text(node["type"]) {
	case "SELECT_NODE":
		return r.selectNode(node, in, around)
	case "SET_OPERATION_NODE":
		return r.setOperation(node, in, around)
	case "RECURSIVE_CTE_NODE":
		return r.recursive(node, in, around)
	}
	return relation{}, unknown("query", node["type"])
}

func (r *resolver) setOperation(node map[string]any, in *cteScope, around *scope) (relation, error) {
	left, err := r.query(object(node["left"]), in, around)
	if err != nil {
		return relation{}, err
	}
	if _, err = r.query(object(node["right"]), in, around); err != nil {
		return relation{}, err
	}
	out := left.withoutOrigins()
	out.known = out.known && !strings.Contains(text(node["setop_type"]), "BY_NAME")
	return out, r.expressions(node["modifiers"], in, around)
}

func (r *resolver) recursive(node map[string]any, in *cteScope, around *scope) (relation, error) {
	left, err := r.query(object(node["left"]), in, around)
	if err != nil {
		return relation{}, err
	}
	out := left.withoutOrigins()
	out.rename(list(node["aliases"]))
	self := &cteScope{outer: in, name: strings.ToLower(text(node["cte_name"])), rel: out, self: true}
	if _, err := r.query(object(node["right"]), self, around); err != nil {
		return relation{}, err
	}
	if err := r.expressions(node["key_targets"], in, &scope{}); err != nil {
		return relation{}, err
	}
	return out, r.expressions(node["modifiers"], in, around)
}

func (r *resolver) selectNode(node map[string]any, in *cteScope, around *scope) (relation, error) {
	s := &scope{outer: around}
	if err := r.from(object(node["from_table"]), in, s); err != nil {
		return relation{}, err
	}
	for _, k := range []string{"select_list", "where_clause", "group_expressions", "having", "qualify", "modifiers"} {
		if err := r.expressions(node[k], in, s); err != nil {
			return relation{}, err
		}
	}
	r.pruneBy(node, s)
	return r.output(list(node["select_list"]), s), nil
}

// from adds the relations of a FROM item to s.
func (r *resolver) from(ref map[string]any, in *cteScope, s *scope) error {
	switch text(ref["type"]) {
	case "EMPTY":
		return nil
	case "BASE_TABLE":
		rel, err := r.base(ref, in, s)
		if err != nil {
			return err
		}
		rel.rename(list(ref["column_name_alias"]))
		s.relations = append(s.relations, rel)
		return nil
	case "SUBQUERY":
		rel, err := r.query(object(object(ref["subquery"])["node"]), in, s)
		if err != nil {
			return err
		}
		rel.alias, rel.shown, rel.table = text(ref["alias"]), text(ref["alias"]), ident.Table{}
		rel.rename(list(ref["column_name_alias"]))
		s.relations = append(s.relations, rel)
		return nil
	case "JOIN":
		return r.join(ref, in, s)
	case "SHOW_REF":
		return r.show(ref, in, s)
	case "PIVOT":
		return r.pivot(ref, in, s)
	case "TABLE_FUNCTION":
		s.relations = append(s.relations, relation{alias: text(ref["alias"]), shown: text(ref["alias"])})
		return r.expressions(object(ref["function"])["children"], in, s)
	case "EXPRESSION_LIST":
		s.relations = append(s.relations, relation{alias: text(ref["alias"]), shown: text(ref["alias"])})
		return r.expressions(ref["values"], in, s)
	}
	return unknown("table", ref["type"])
}

// show resolves DESCRIBE and SUMMARIZE of a query, and makes any other SHOW the
// table that lists what it shows.
func (r *resolver) show(ref map[string]any, in *cteScope, s *scope) error {
	s.relations = append(s.relations, relation{alias: text(ref["alias"]), shown: text(ref["alias"])})
	if query := object(ref["query"]); query != nil {
		_, err := r.query(query, in, &scope{})
		return err
	}
	name, err := shown(ref)
	if err != nil {
		return err
	}
	if r.views != nil {
		return unknown("table", name)
	}
	pos, _ := ref[locationKey].(json.Number)
	i, err := r.listing(name, pos)
	if err != nil || !r.rename {
		return err
	}
	for _, k := range []string{"query", "show_type"} {
		delete(ref, k)
	}
	ref["type"], ref["at_clause"], ref["column_name_alias"] = "BASE_TABLE", nil, []any{}
	ref["catalog_name"], ref["schema_name"], ref["table_name"] = viewCatalog, viewSchema, r.tables[i].view
	return nil
}

// pivot resolves PIVOT and UNPIVOT of a table. Their columns depend on values.
func (r *resolver) pivot(ref map[string]any, in *cteScope, s *scope) error {
	inner := &scope{outer: s.outer}
	if err := r.from(object(ref["source"]), in, inner); err != nil {
		return err
	}
	for _, k := range []string{"aggregates", "pivots"} {
		if err := r.expressions(ref[k], in, inner); err != nil {
			return err
		}
	}
	s.relations = append(s.relations, relation{alias: text(ref["alias"]), shown: text(ref["alias"])})
	return nil
}

// listing returns the position of a listing in the statement's tables.
func (r *resolver) listing(name string, pos json.Number) (int, error) {
	return r.table(engine.Reference{Table: ident.Table{Namespace: engine.InformationSchema, Name: name}}, pos)
}

func (r *resolver) join(ref map[string]any, in *cteScope, s *scope) error {
	for _, side := range []string{"left", "right"} {
		if err := r.from(object(ref[side]), in, s); err != nil {
			return err
		}
	}
	switch text(ref["join_type"]) {
	case "INNER", "LEFT", "RIGHT", "OUTER":
	default:
		s.merged = true // semi and anti joins hide a side
	}
	switch text(ref["ref_type"]) {
	case "REGULAR", "CROSS", "POSITIONAL", "ASOF":
	default:
		s.merged = true
	}
	s.merged = s.merged || len(list(ref["using_columns"])) > 0
	return r.expressions(ref["condition"], in, s)
}

// base resolves a table or a CTE that stands in FROM.
func (r *resolver) base(ref map[string]any, in *cteScope, s *scope) (relation, error) {
	catalog, schema, name := text(ref["catalog_name"]), text(ref["schema_name"]), text(ref["table_name"])
	alias := text(ref["alias"])
	version, err := readAt(ref["at_clause"])
	if err != nil {
		return relation{}, err
	}
	if catalog == "" && (schema == "" || strings.EqualFold(schema, "recurring")) {
		if cte := in.find(name); cte != nil && (schema == "" || cte.self) {
			if version != "" {
				return relation{}, fault.Newf(fault.Invalid, "AT is for tables, and %.80q is a common table expression; write AT where the expression reads its table", name)
			}
			rel := cte.rel
			if r.follow(len(rel.columns)) {
				rel = rel.clone()
			} else {
				rel.columns, rel.known = nil, false
			}
			rel.table = ident.Table{}
			if rel.alias = alias; alias == "" {
				rel.alias = name
			}
			rel.shown = rel.alias
			return rel, nil
		}
	}
	if r.views != nil {
		if catalog != viewCatalog || schema != viewSchema || version != "" || !r.views[name] {
			return relation{}, unknown("table", name)
		}
		return relation{}, nil
	}
	if list, ok := listingOf(catalog, schema, name); ok {
		return r.listed(ref, list, version)
	}
	t, err := tableName(catalog, schema, name)
	if err != nil {
		return relation{}, err
	}
	pos, _ := ref[locationKey].(json.Number)
	i, err := r.table(engine.Reference{Table: t, At: version}, pos)
	if err != nil {
		return relation{}, err
	}
	rel := relation{alias: alias, shown: alias}
	if alias == "" {
		rel.shown = name
		rel.table, rel.alias = t, name
		if r.crowded[t.Name] {
			rel.alias = r.newAlias(t, name)
		}
	}
	if !r.rename {
		return rel, nil
	}
	if columns := r.tables[i].scan.Columns; r.follow(len(columns)) {
		rel.known = true
		for k, c := range columns {
			rel.columns = append(rel.columns, column{c.Exact.Name, i, k})
		}
	}
	ref["at_clause"] = nil
	ref["catalog_name"], ref["schema_name"], ref["table_name"], ref["alias"] = viewCatalog, viewSchema, r.tables[i].view, rel.alias
	return rel, nil
}

// listed resolves a table of information_schema.
func (r *resolver) listed(ref map[string]any, list string, version engine.At) (relation, error) {
	if version != "" {
		return relation{}, fault.New(fault.Invalid, "information_schema lists the tables that there are now; leave AT out")
	}
	pos, _ := ref[locationKey].(json.Number)
	i, err := r.listing(list, pos)
	if err != nil {
		return relation{}, err
	}
	rel := relation{alias: text(ref["alias"]), shown: text(ref["alias"])}
	if rel.alias == "" {
		rel.alias, rel.shown, rel.table = list, list, r.tables[i].Table
		if r.crowded[list] {
			rel.alias = r.newAlias(rel.table, list)
		}
	}
	if r.rename {
		ref["catalog_name"], ref["schema_name"], ref["table_name"], ref["alias"] = viewCatalog, viewSchema, r.tables[i].view, rel.alias
	}
	return rel, nil
}

func (r *resolver) newAlias(t ident.Table, shown string) string {
	a := viewPrefix + "as_" + strconv.Itoa(len(r.aliases))
	r.aliases[a], r.shown[a] = t.String(), shown
	return a
}

// tableName makes a table of the parts of a name in a statement.
func tableName(catalog, schema, name string) (ident.Table, error) {
	full := name
	for _, p := range []string{schema, catalog} {
		if p != "" {
			full = p + "." + full
		}
	}
	switch {
	case catalog != "" && !strings.EqualFold(catalog, ident.Catalog):
		return ident.Table{}, fault.Newf(fault.Invalid, "catalog %.80q does not exist; the only one is %q: write namespace.table", catalog, ident.Catalog)
	case schema == "" && strings.ContainsAny(name, "./:*\\"):
		return ident.Table{}, fault.Newf(fault.Invalid, "%.80q is no table, and a query cannot read files; load them with lake load, then name the table", full)
	case schema == "":
		return ident.ParseTable(name)
	case strings.EqualFold(schema, "information_schema") || strings.EqualFold(schema, "pg_catalog"):
		return ident.Table{}, fault.Newf(fault.Unsupported, "%.80s does not exist here; information_schema has schemata, tables and columns, and your driver's metadata calls list more", full)
	}
	return ident.NewTable(schema, name)
}

// crowdedNames returns the table names that a statement also uses for another
// table or as an alias. Tables of such names get aliases of their own, or a
// reference to one could be caught by another that stands nearer.
func crowdedNames(tree any) map[string]bool {
	c := crowd{namespaces: map[string]string{}, crowded: map[string]bool{}, aliases: map[string]bool{}}
	c.walk(tree)
	for name := range c.aliases {
		if _, ok := c.namespaces[name]; ok {
			c.crowded[name] = true
		}
	}
	return c.crowded
}

type crowd struct {
	namespaces map[string]string // of tables without alias, by table name
	aliases    map[string]bool
	crowded    map[string]bool
}

func (c *crowd) walk(v any) {
	switch v := v.(type) {
	case []any:
		for _, v := range v {
			c.walk(v)
		}
	case map[string]any:
		switch v["type"] {
		case "BASE_TABLE":
			c.table(strings.ToLower(text(v["schema_name"])), strings.ToLower(text(v["table_name"])), text(v["alias"]))
		case "SUBQUERY", "TABLE_FUNCTION", "EXPRESSION_LIST", "PIVOT", "SHOW_REF":
			c.aliases[strings.ToLower(text(v["alias"]))] = true
		}
		if key, ok := v["key"].(string); ok { // of a CTE, or of something that does no harm
			c.aliases[strings.ToLower(key)] = true
		}
		for _, v := range v {
			c.walk(v)
		}
	}
}

func (c *crowd) table(namespace, name, alias string) {
	if alias != "" {
		c.aliases[strings.ToLower(alias)] = true
		return
	}
	if namespace == "" {
		namespace = string(ident.DefaultNamespace)
	}
	if other, ok := c.namespaces[name]; ok && other != namespace {
		c.crowded[name] = true
	}
	c.namespaces[name] = namespace
}

// table returns the position of t, which the text has at pos, in the
// statement's tables.
func (r *resolver) table(t engine.Reference, pos json.Number) (int, error) {
	position, _ := pos.Int64() // one that does not fit is the greatest
	if i, ok := r.index[t]; ok {
		r.tables[i].pos = min(r.tables[i].pos, position)
		r.tables[i].uses++
		return i, nil
	}
	i := len(r.tables)
	if i == tablesMax {
		return 0, fault.Newf(fault.Exhausted, "the statement reads more than %d tables; split it", tablesMax)
	}
	list := ""
	if t.Table.Namespace == engine.InformationSchema {
		list = t.Table.Name
	}
	scan, ok := r.bindings[t]
	if r.rename && !ok && list == "" {
		return 0, fault.Newf(fault.NotFound, "table %s does not exist; check its name, or list tables with lake table ls", t.Table)
	}
	r.index[t] = i
	r.tables = append(r.tables, planTable{Reference: t, pos: position, view: viewPrefix + strconv.Itoa(i), list: list, scan: scan, uses: 1})
	return i, nil
}

// expressions resolves what an expression, or anything that holds some, refers
// to.
func (r *resolver) expressions(v any, in *cteScope, s *scope) error {
	switch v := v.(type) {
	case []any:
		for _, v := range v {
			if err := r.expressions(v, in, s); err != nil {
				return err
			}
		}
	case map[string]any:
		switch v["class"] {
		case "COLUMN_REF":
			if r.rename {
				s.qualify(v)
			}
			return nil
		case "SUBQUERY":
			if _, err := r.query(object(object(v["subquery"])["node"]), in, s); err != nil {
				return err
			}
			return r.expressions(v["child"], in, s)
		case "LAMBDA":
			return r.expressions(v["expr"], in, &scope{outer: s, lambda: parameters(v["lhs"])})
		case "STAR":
			if r.rename {
				s.qualifyStar(v)
			}
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if err := r.expressions(v[k], in, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// parameters returns the names in the left side of a lambda.
func parameters(v any) []string {
	var names []string
	m := object(v)
	for _, n := range list(m["column_names"]) {
		names = append(names, text(n))
	}
	for _, c := range list(m["children"]) { // (x, i) -> ...
		names = append(names, parameters(c)...)
	}
	return names
}

// qualify makes ns.t.c and lake.ns.t.c into t.c where ns.t is a table in scope
// that has no alias, and t into the alias that the table was given.
func (s *scope) qualify(ref map[string]any) {
	names := list(ref["column_names"])
	if len(names) < 2 {
		return
	}
	for o := s; o != nil; o = o.outer {
		for _, p := range o.lambda {
			if strings.EqualFold(p, text(names[0])) {
				return
			}
		}
		for _, rel := range o.relations {
			if n := rel.qualifier(names); n > 0 {
				ref["column_names"] = append([]any{rel.alias}, names[n:]...)
				return
			}
		}
		if alias, ok := o.alias(text(names[0])); ok {
			ref["column_names"] = append([]any{alias}, names[1:]...)
			return
		}
	}
}

// alias returns the alias of what a statement calls name in this very scope.
// If that is several things, it is left to the engine to refuse it.
func (s *scope) alias(name string) (alias string, ok bool) {
	for _, rel := range s.relations {
		if strings.EqualFold(rel.shown, name) {
			if ok {
				return name, true
			}
			alias, ok = rel.alias, true
		}
	}
	return alias, ok
}

// qualifier returns how many of the leading names say namespace and table of
// the relation, with a column after them.
func (rel relation) qualifier(names []any) int {
	if rel.table == (ident.Table{}) {
		return 0
	}
	want := []string{ident.Catalog, string(rel.table.Namespace), rel.table.Name}
	for skip := range 2 {
		if n := len(want) - skip; len(names) > n && foldEqual(want[skip:], names) {
			return n
		}
	}
	return 0
}

func foldEqual(want []string, names []any) bool {
	for i, w := range want {
		if !strings.EqualFold(w, text(names[i])) {
			return false
		}
	}
	return true
}

// qualifyStar does what qualify does for the table of a star, and for the
// columns that the star leaves out or renames.
func (s *scope) qualifyStar(star map[string]any) {
	if alias, ok := s.alias(text(star["relation_name"])); ok && text(star["relation_name"]) != "" {
		star["relation_name"] = alias
	}
	var columns []any
	columns = append(columns, list(star["qualified_exclude_list"])...)
	for _, e := range list(star["rename_list"]) {
		columns = append(columns, object(e)["key"])
	}
	for _, c := range columns {
		c := object(c)
		names := []any{c["schema"], c["table"], c["column"]}
		if text(c["schema"]) == "" {
			if alias, ok := s.alias(text(c["table"])); ok && text(c["table"]) != "" {
				c["table"] = alias
			}
			continue
		}
		if text(c["catalog"]) != "" {
			names = append([]any{c["catalog"]}, names...)
		}
		for _, rel := range s.relations {
			if rel.qualifier(names) > 0 {
				c["catalog"], c["schema"], c["table"] = "", "", rel.alias
				break
			}
		}
	}
}

// rename gives the first columns other names.
func (rel *relation) rename(names []any) {
	for i, n := range names {
		if i < len(rel.columns) {
			rel.columns[i].name = text(n)
		}
	}
}

func (rel relation) clone() relation {
	rel.columns = append([]column(nil), rel.columns...)
	return rel
}

func (rel relation) withoutOrigins() relation {
	rel = rel.clone()
	for i := range rel.columns {
		rel.columns[i].table = -1
	}
	return rel
}

// String is the table as its author would write it.
func (t planTable) String() string {
	if t.Table.Namespace == ident.DefaultNamespace {
		return t.Table.Name
	}
	return t.Table.String()
}

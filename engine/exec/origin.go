package exec

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeward/lake/engine"
)

// Bounds on what is followed: columns of one select list, and of all that a
// statement has. Stars over stars double with each level, and a short text has
// many levels; beyond the bounds columns have the engine's types.
const (
	followedPerListMax = 10_000
	followedMax        = 200_000
)

// follow counts columns against the bounds and reports whether they are within.
func (r *resolver) follow(columns int) bool {
	if columns > followedPerListMax {
		return false
	}
	r.followed += columns
	return r.followed <= followedMax
}

// output follows a select list to the columns of s. It is known only if each
// item is certain to be one column, or a star over what is known.
func (r *resolver) output(items []any, s *scope) relation {
	out := r.outputColumns(items, s)
	if !out.known || !r.follow(len(out.columns)) {
		return relation{}
	}
	return out
}

func (r *resolver) outputColumns(items []any, s *scope) relation {
	out := relation{known: true}
	for _, item := range items {
		e := object(item)
		name := text(e["alias"])
		switch text(e["class"]) {
		case "STAR":
			columns, ok := s.star(e)
			if !ok {
				return relation{}
			}
			if len(out.columns)+len(columns) > followedPerListMax {
				return relation{}
			}
			out.columns = append(out.columns, columns...)
		case "COLUMN_REF":
			c := s.column(list(e["column_names"]))
			if name != "" {
				c.name = name
			}
			out.columns = append(out.columns, c)
		default:
			if many(item) {
				return relation{}
			}
			out.columns = append(out.columns, column{name: name, table: -1})
		}
	}
	return out
}

// many reports whether an expression may become several columns, as COLUMNS(…)
// and unnest of a struct do.
func many(v any) bool {
	switch v := v.(type) {
	case []any:
		for _, v := range v {
			if many(v) {
				return true
			}
		}
	case map[string]any:
		switch v["class"] {
		case "STAR":
			return true
		case "SUBQUERY":
			return false
		case "FUNCTION":
			if strings.EqualFold(text(v["function_name"]), "unnest") {
				return true
			}
		}
		for _, v := range v {
			if many(v) {
				return true
			}
		}
	}
	return false
}

// column returns what a reference of one or two names is, if that is certain.
func (s *scope) column(names []any) column {
	unsure := column{table: -1}
	if len(names) == 0 {
		return unsure
	}
	unsure.name = text(names[len(names)-1])
	found := unsure
	hits := 0
	for _, rel := range s.relations {
		if len(names) == 2 && !strings.EqualFold(rel.alias, text(names[0])) {
			continue
		}
		if !rel.known {
			return unsure // it may have such a column
		}
		for _, c := range rel.columns {
			if strings.EqualFold(c.name, unsure.name) {
				found = c
				hits++
			}
		}
	}
	if hits != 1 || len(names) > 2 {
		return unsure
	}
	return found
}

// star returns the columns that a star stands for.
func (s *scope) star(e map[string]any) ([]column, bool) {
	if e["columns"] != false || e["expr"] != nil || len(list(e["qualified_exclude_list"])) > 0 || len(list(e["rename_list"])) > 0 {
		return nil, false
	}
	of := text(e["relation_name"])
	if of == "" && s.merged {
		return nil, false
	}
	excluded := map[string]bool{}
	for _, n := range list(e["exclude_list"]) {
		excluded[strings.ToLower(text(n))] = true
	}
	replaced := map[string]bool{}
	for _, r := range list(e["replace_list"]) {
		replaced[strings.ToLower(text(object(r)["key"]))] = true
	}
	var columns []column
	hits := 0
	for _, rel := range s.relations {
		if of != "" && !strings.EqualFold(rel.alias, of) {
			continue
		}
		if !rel.known {
			return nil, false
		}
		hits++
		for _, c := range rel.columns {
			name := strings.ToLower(c.name)
			if excluded[name] {
				continue
			}
			if replaced[name] {
				c.table = -1
			}
			columns = append(columns, c)
		}
	}
	return columns, of == "" || hits == 1
}

// origins is what the worker needs to give result columns their registered
// types: see statement.
func (p *plan) origins() (origins []int, exact, stored []byte) {
	if !p.output.known {
		return nil, nil, nil
	}
	type key struct{ table, column int }
	seen := map[key]int{}
	var exactFields, engineFields []arrow.Field
	origins = make([]int, len(p.output.columns))
	for i, c := range p.output.columns {
		origins[i] = -1
		if c.table < 0 {
			continue
		}
		k := key{c.table, c.source}
		at, ok := seen[k]
		if !ok {
			col := p.tables[c.table].scan.Columns[c.source]
			form, err := formOf(col)
			if err != nil {
				continue // the view will fail, and say so better
			}
			at = len(exactFields)
			seen[k] = at
			exactFields = append(exactFields, engine.WithoutParquetKeys(col.Exact))
			engineFields = append(engineFields, arrow.Field{Name: col.Exact.Name, Type: form.arrow, Nullable: true})
		}
		origins[i] = at
	}
	return origins, engine.EncodeSchema(arrow.NewSchema(exactFields, nil)), engine.EncodeSchema(arrow.NewSchema(engineFields, nil))
}

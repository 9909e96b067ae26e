package exec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
)

// Bounds on the parameters of a statement: how many, and the bytes of their
// values.
const (
	paramsMax      = 1000
	paramsBytesMax = 64 << 10
)

// paramPrefix begins the name of a parameter where it is a column: $1, $name.
const paramPrefix = "$"

// parameterNames reads the map of a statement's parameters that the parser
// made: name to position, from 1 on.
func parameterNames(v any) ([]string, error) {
	entries, _ := v.([]any)
	if len(entries) > paramsMax {
		return nil, fault.Newf(fault.Exhausted, "the statement has %d parameters, more than the %d allowed; load the values as a table and join it", len(entries), paramsMax)
	}
	names := make([]string, len(entries))
	for _, e := range entries {
		m, _ := e.(map[string]any)
		name, _ := m["key"].(string)
		number, _ := m["value"].(json.Number)
		at, err := strconv.Atoi(string(number))
		if len(m) != 2 || name == "" || err != nil || at < 1 || at > len(names) || names[at-1] != "" {
			return nil, unknown("a parameter", name)
		}
		names[at-1] = name
	}
	return names, nil
}

// checkParams wants the values that a statement's parameters need, and returns
// for each parameter which column of the stream its value is. It looks at the
// schema only: the row is read by the worker.
func checkParams(names []string, params []byte) ([]int, error) {
	if len(params) > paramsBytesMax {
		return nil, fault.Newf(fault.Exhausted, "the parameters take %d bytes, more than the %d allowed; load the values as a table and join it", len(params), paramsBytesMax)
	}
	schema, err := engine.DecodeSchema(params)
	if err != nil {
		return nil, fault.Newf(fault.Invalid, "the parameters are no Arrow stream; bind them with a Flight SQL client")
	}
	if got := schema.NumFields(); got != len(names) {
		return nil, fault.Newf(fault.Invalid, "the statement has %s, but the bound row has %d; bind one value for each", sayParams(names), got)
	}
	columns, err := matchParams(names, schema)
	if err != nil {
		return nil, err
	}
	for i, c := range columns {
		if _, ok := paramTypeOf(schema.Field(c).Type); !ok {
			return nil, refuseParam(names[i], schema.Field(c).Type)
		}
	}
	return columns, nil
}

// matchParams finds the column of each parameter: by name if the parameters or
// the columns are named ($name), else by position.
func matchParams(names []string, schema *arrow.Schema) ([]int, error) {
	byName, hits := make([]int, len(names)), 0
	for i, n := range names {
		byName[i] = slices.IndexFunc(schema.Fields(), func(f arrow.Field) bool { return f.Name == paramPrefix+n || f.Name == n && !numbered(n) })
		if byName[i] >= 0 {
			hits++
		}
	}
	switch hits {
	case len(names):
		return byName, nil
	case 0:
		for i := range byName {
			byName[i] = i
		}
		return byName, nil
	}
	for i, n := range names {
		if byName[i] < 0 {
			return nil, fault.Newf(fault.Invalid, "the statement has %s, and no value is bound to %s%.60s; name the columns as the parameters are, or give them no names", sayParams(names), paramPrefix, n)
		}
	}
	return byName, nil
}

// numbered reports whether a parameter is one of $1, $2, …
func numbered(name string) bool { _, err := strconv.Atoi(name); return err == nil }

// sayParams lists parameters for an error.
func sayParams(names []string) string {
	const shownMax = 10
	if len(names) == 0 {
		return "no parameters"
	}
	var shown []string
	for _, n := range names[:min(len(names), shownMax)] {
		shown = append(shown, fmt.Sprintf("%s%.60s", paramPrefix, n))
	}
	if len(names) > shownMax {
		shown = append(shown, "…")
	}
	noun := "parameters"
	if len(names) == 1 {
		noun = "parameter"
	}
	return fmt.Sprintf("%d %s (%s)", len(names), noun, strings.Join(shown, ", "))
}

func refuseParam(name string, t arrow.DataType) error {
	return fault.Newf(fault.Unsupported, "parameter %s%.60s is bound to a value of type %s, which is not supported; bind a number, text, bytes, date or time, or load the values as a table and join it", paramPrefix, name, t)
}

// paramRow reads the one row of a stream of parameters, whose bytes are not
// trusted. The caller releases it.
func paramRow(params []byte) (row arrow.RecordBatch, err error) {
	defer func() {
		if p := recover(); p != nil {
			row, err = nil, badParams(fmt.Sprint(p))
		}
	}()
	if err := engine.VerifySchema(params); err != nil {
		return nil, badParams(err.Error())
	}
	r, err := ipc.NewReader(bytes.NewReader(params))
	if err != nil {
		return nil, badParams(err.Error())
	}
	defer r.Release()
	for r.Next() {
		b := r.RecordBatch()
		if b.NumRows() == 0 {
			continue
		}
		if row != nil || b.NumRows() != 1 {
			if row != nil {
				row.Release()
			}
			return nil, badParams("more than one row")
		}
		b.Retain()
		row = b
	}
	if row == nil {
		return nil, badParams(fmt.Sprint("no row: ", r.Err()))
	}
	return row, nil
}

func badParams(why string) error {
	return &failure{Class: "Invalid Input", Position: -1, Public: true, Message: "the parameters do not decode as one row of Arrow (" + why + "); bind them with a Flight SQL client"}
}

// valueOf is the array and the row in it that hold a parameter's value, under
// extension types and dictionaries.
func valueOf(a arrow.Array, i int) (arrow.Array, int) {
	for {
		switch t := a.(type) {
		case array.ExtensionArray:
			a = t.Storage()
		case *array.Dictionary:
			if t.IsNull(i) {
				return t.Dictionary(), -1
			}
			a, i = t.Dictionary(), t.GetValueIndex(i)
		default:
			if a.IsNull(i) {
				return a, -1
			}
			return a, i
		}
	}
}

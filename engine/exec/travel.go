package exec

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
)

// readAt reads the AT clause of a table. What it holds goes no further: the
// text that runs names a view of the version that was asked for.
func readAt(v any) (engine.At, error) {
	if v == nil {
		return "", nil
	}
	m := object(v)
	for k := range m {
		if k != "unit" && k != "expr" {
			return "", unknown("in AT", k)
		}
	}
	literal, as := atLiteral(m["expr"])
	switch unit := text(m["unit"]); unit {
	case "VERSION":
		n, ok := literal.(json.Number)
		version, err := strconv.ParseInt(string(n), 10, 64)
		if !ok || err != nil || as != "" || version < 0 {
			return "", fault.New(fault.Invalid, "AT (VERSION => ...) takes a version's number, such as AT (VERSION => 3); lake table history lists them")
		}
		return engine.AtVersion(ident.Version(version)), nil
	case "TIMESTAMP":
		s, ok := literal.(string)
		t, good := parseTime(s)
		if !ok || !good || !timeTypes[as] {
			return "", fault.New(fault.Invalid, "AT (TIMESTAMP => ...) takes a time, such as AT (TIMESTAMP => '2026-01-31 12:00:00'), in UTC unless it says a zone's offset")
		}
		return engine.AtTime(t), nil
	default:
		return "", unknown("in AT", unit)
	}
}

// timeTypes are the types by which a literal may be said to be a time.
var timeTypes = set("", "DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE")

// atLiteral is the value of a constant, and the type that it is cast to.
func atLiteral(v any) (literal any, as string) {
	m := object(v)
	if m["class"] == "CAST" {
		as = text(object(m["cast_type"])["id"])
		m = object(m["child"])
	}
	if m["class"] != "CONSTANT" {
		return nil, as
	}
	return object(m["value"])["value"], as
}

// parseTime reads a time as the engine writes them, in UTC unless it says an
// offset. Digits below the microsecond are cut.
func parseTime(s string) (time.Time, bool) {
	for _, day := range []string{"2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04", "2006-01-02"} {
		for _, zone := range []string{"", "Z07:00", "-07:00", "-07", " -07:00", " UTC"} {
			if t, err := time.Parse(day+zone, s); err == nil {
				return t.UTC().Truncate(time.Microsecond), t.Year() >= 1 && t.Year() <= 9999
			}
		}
	}
	return time.Time{}, false
}

package exec

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/lakeward/lake/fault"
)

//go:embed functions.txt
var functionsText string

// A functionList says which functions a statement may call: those whose every
// meaning in the engine's catalog is allowed. All others are denied.
type functionList struct {
	calls  map[string]bool // in expressions
	tables map[string]bool // in FROM
}

// allowedFunctions reads functions.txt.
var allowedFunctions = sync.OnceValue(func() functionList {
	l := functionList{calls: map[string]bool{}, tables: map[string]bool{}}
	for line := range strings.Lines(functionsText) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] == "#" {
			continue
		}
		switch f[0] {
		case "call", "builtin":
			l.calls[f[1]] = f[2] == "allow"
		case "table":
			l.tables[f[1]] = f[2] == "allow"
		}
	}
	return l
})

func (l functionList) check(name string) error {
	if l.calls[strings.ToLower(name)] {
		return nil
	}
	if _, known := l.calls[strings.ToLower(name)]; known {
		return fault.Newf(fault.Invalid, "function %.60q may not be called in a query; leave it out", name)
	}
	return fault.Newf(fault.Invalid, "function %.60q does not exist here; check its name", name)
}

func (l functionList) checkTable(name string) error {
	if l.tables[strings.ToLower(name)] {
		return nil
	}
	return fault.Newf(fault.Invalid, "table function %.60q may not be called in a query; queries read tables only: load files with lake load, then name the table", name)
}

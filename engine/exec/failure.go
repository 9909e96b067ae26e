package exec

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/lakeward/lake/fault"
)

var (
	errRowsClosed = fault.New(fault.Canceled, "the rows have been closed")
	errEngine     = fault.New(fault.Internal, "the query engine failed on this statement; report it with the server's log")
)

// kindOfClass sorts the engine's exception types. What is not here is a fault
// of the server.
var kindOfClass = map[string]fault.Kind{
	"Parser": fault.Invalid, "Syntax": fault.Invalid, "Binder": fault.Invalid, "Catalog": fault.Invalid,
	"Conversion": fault.Invalid, "Out of Range": fault.Invalid, "Decimal": fault.Invalid, "Mismatch Type": fault.Invalid,
	"Divide by Zero": fault.Invalid, "Invalid Input": fault.Invalid, "Invalid type": fault.Invalid, "Expression": fault.Invalid,
	"Unknown Type": fault.Invalid, "Object Size": fault.Invalid, "Constraint": fault.Invalid, "Sequence": fault.Invalid,
	"Parameter Not Resolved": fault.Invalid, "Parameter Not Allowed": fault.Invalid, "Dependency": fault.Invalid,
	"Not implemented": fault.Unsupported, "Missing Extension": fault.Unsupported, "Autoload": fault.Unsupported,
	"Out of Memory": fault.Exhausted, "INTERRUPT": fault.Canceled, "IO": fault.Corrupt, "Inexact": fault.Corrupt,
}

// broken reports whether the engine may be in a bad state after the failure.
func (f *failure) broken() bool {
	switch f.Class {
	case "INTERNAL", "Internal", "FATAL", "Serialization", "Worker":
		return true
	}
	return strings.Contains(f.Message, "database has been invalidated")
}

// outOfMemory finds allocations that the system refused; they come under
// several classes.
func (f *failure) outOfMemory() bool {
	return f.Class == "Out of Memory" || strings.Contains(f.Message, "bad_alloc") || strings.Contains(f.Message, "std::length_error")
}

// translate is what a client sees of a failure of its statement.
func (l *loan) translate(f *failure) error {
	if f.Public {
		return fault.Newf(kindOfClass[f.Class], "%s", f.Message)
	}
	if f.outOfMemory() {
		return l.outOfMemory(f)
	}
	if t, file, ok := l.fileIn(f.Message); ok && f.Class != "Permission" {
		l.p.log.Error("data file does not verify", "table", t.String(), "file", file, "class", f.Class, "message", f.Message)
		return fault.Newf(fault.Corrupt, "table %s: data file %s is damaged or does not hold what was registered (%s); run lake table doctor", t, file, l.scrub(firstLine(f.Message)))
	}
	kind, known := kindOfClass[f.Class]
	switch {
	case kind == fault.Corrupt, f.Class == "Invalid" && len(l.files()) > 0:
		if strings.Contains(f.Message, "No space left") {
			return fault.New(fault.Exhausted, "the server's disk for spilling is full; ask again later, or select less")
		}
		l.p.log.Error("data file does not verify", "class", f.Class, "message", f.Message)
		return fault.Newf(fault.Corrupt, "%s is damaged (%s); run lake table doctor", l.someFile(), l.scrub(firstLine(f.Message)))
	case !known:
		l.p.log.Error("engine failed", "class", f.Class, "message", f.Message)
		return fmt.Errorf("%w: %w", errEngine, f)
	}
	at := ""
	if l.plan != nil || f.Class == "Parser" {
		at = caret(l.sql, f.Position)
	}
	return fault.Newf(kind, "%s Error: %s%s", f.Class, l.scrub(f.Message), at)
}

func (l *loan) outOfMemory(f *failure) error {
	l.p.log.Warn("statement ran out of memory", "class", f.Class, "message", f.Message)
	if strings.Contains(f.Message, "max_temp_directory_size") {
		return fault.Newf(fault.Exhausted, "the statement needs more than the %d MiB of disk that it may spill to; select less, or start the server with more --query-spill", l.p.o.SpillBytes>>20)
	}
	return fault.Newf(fault.Exhausted, "the statement needs more than its %d MiB of memory; select less, or start the server with more --query-memory", l.p.o.MemoryBytes>>20)
}

// A dataFile is one that the statement was given.
type dataFile struct {
	table planTable
	path  string // in the worker's directory
	name  string // what the client may see: the file's own name, without where it lies
}

func (l *loan) files() []dataFile {
	if l.plan == nil {
		return nil
	}
	var all []dataFile
	for _, t := range l.plan.tables {
		for i, p := range t.paths {
			name := path.Base(t.scan.Files[i].Object)
			all = append(all, dataFile{t, p, strings.TrimSuffix(name, path.Ext(name))})
		}
	}
	return all
}

// fileIn finds the data file that a message names.
func (l *loan) fileIn(message string) (planTable, string, bool) {
	for _, f := range l.files() {
		if i := strings.Index(message, f.path); i >= 0 {
			return f.table, f.name, true
		}
	}
	return planTable{}, "", false
}

// someFile names the statement's data file, or its tables if it has several.
func (l *loan) someFile() string {
	files := l.files()
	if len(files) == 1 {
		return fmt.Sprintf("table %s: data file %s", files[0].table, files[0].name)
	}
	var names []string
	for _, t := range l.plan.tables {
		names = append(names, t.String())
	}
	return "a data file of table " + strings.Join(names, " or ")
}

// firstLine leaves the engine's advice away, which is for its own users.
func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return strings.TrimSpace(s)
}

var (
	generatedName = regexp.MustCompile(`(?:"?temp"?\.)?(?:"?main"?\.)?(?:"` + viewPrefix + `(as_)?([0-9]+)"|` + viewPrefix + `(as_)?([0-9]+))`)
	absolutePath  = regexp.MustCompile(`(?:file:)?(?:/[A-Za-z0-9._@%+=~-]+)+/?`)
)

// failureBytesMax bounds the engine's part of an error text.
const failureBytesMax = 4 << 10

// scrub takes from a message of the engine what is not the caller's: names
// that lake made up become the caller's, paths go unless he wrote them.
func (l *loan) scrub(message string) string {
	for _, f := range l.files() {
		message = strings.ReplaceAll(message, f.path, f.name)
	}
	message = strings.ReplaceAll(message, l.c.dir, "")
	message = generatedName.ReplaceAllStringFunc(message, func(s string) string {
		m := generatedName.FindStringSubmatch(s)
		if l.plan == nil {
			return "a table"
		}
		return l.plan.generated(m[1]+m[3] != "", m[2]+m[4])
	})
	message = absolutePath.ReplaceAllStringFunc(message, func(s string) string {
		if strings.Count(s, "/") < 2 || strings.Contains(l.sql, s) {
			return s // a division, or his own words
		}
		return "(a path)"
	})
	if len(message) > failureBytesMax {
		message = strings.ToValidUTF8(message[:failureBytesMax], "") + "…"
	}
	return message
}

// generated is the caller's name for one that the resolver made up.
func (p *plan) generated(alias bool, number string) string {
	for i, t := range p.tables {
		if !alias && t.view == viewPrefix+number {
			return p.tables[i].String()
		}
	}
	if name, ok := p.aliases[viewPrefix+"as_"+number]; ok {
		return name
	}
	return "a table"
}

// asFailure is what FIN says of an error.
func asFailure(err error) *failure {
	f, ok := errors.AsType[*failure](err)
	if !ok {
		f = &failure{Class: "Worker", Message: err.Error(), Position: -1}
	}
	const bytesMax = 16 << 10 // six times that in JSON, at worst
	if len(f.Message) > bytesMax {
		short := *f
		short.Message = strings.ToValidUTF8(f.Message[:bytesMax], "") + "…"
		f = &short
	}
	return f
}

// elsewhere is a failure of another text than the statement's.
func elsewhere(err error) error {
	if f, ok := errors.AsType[*failure](err); ok {
		g := *f
		g.Position = -1
		return &g
	}
	return err
}

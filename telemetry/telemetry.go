// Package telemetry sets up the process-wide log.
//
// A log message is a constant sentence; what varies is in named attributes:
// "table", "tenant", "op", "version", "err". At info and above no attribute
// holds SQL, a signed URL, an object's path or a credential.
package telemetry

import (
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"
	"github.com/mattn/go-isatty"
)

// Format is the form of the log.
type Format string

// The formats. The zero value is Auto.
const (
	Auto Format = "auto" // Text on a terminal, else JSON
	Text Format = "text"
	JSON Format = "json"
)

// Options says how to log. The zero value logs info and above, for whoever
// reads it: a person at a terminal without colours, or a machine.
type Options struct {
	Format Format
	Level  slog.Level
	Color  bool // on a terminal
}

// Setup returns a logger that writes to w, and makes it the one that slog's
// functions use.
func Setup(w io.Writer, o Options) *slog.Logger {
	l := slog.New(newHandler(w, isTerminal(w), o))
	slog.SetDefault(l)
	return l
}

func newHandler(w io.Writer, terminal bool, o Options) slog.Handler {
	if o.Format == JSON || o.Format != Text && !terminal {
		return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: o.Level})
	}
	return tint.NewTextHandler(w, &tint.Options{
		Level:      o.Level,
		TimeFormat: time.TimeOnly,
		NoColor:    !o.Color || !terminal,
	})
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

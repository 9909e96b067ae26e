package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/lakeward/lake/config"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/sdk"
)

// A shell runs what is typed, until its end.
type shell struct {
	c       *sdk.Client
	edit    *editor
	out     io.Writer
	history *history
	names   *completer
	pager   string
	color   bool

	// interruptible returns a context that ends when the user wants a query
	// to end.
	interruptible func(context.Context) (context.Context, context.CancelFunc)

	format string
	timing bool
	typed  []string // lines of the statement that is not over
	sql    splitter
}

// runShell is the shell on the terminal of the process.
func runShell(ctx context.Context, c *sdk.Client, cfg config.Config, format string) error {
	// Ctrl-C ends a query, not the shell.
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	pager, _ := config.Environ("PAGER")
	s := newShell(c, openHistory(historyFile(config.Environ)), os.Stdout)
	s.edit = newEditor(os.Stdin, os.Stdout, s.history, s.complete)
	s.pager, s.color, s.format = pager, cfg.Color, format
	s.interruptible = func(ctx context.Context) (context.Context, context.CancelFunc) {
		return signal.NotifyContext(ctx, os.Interrupt)
	}
	fmt.Fprintf(s.out, "lake %s. Statements end with ; and \\? has help.\n", version())
	return errors.Join(s.run(ctx), s.history.save())
}

func newShell(c *sdk.Client, h *history, out io.Writer) *shell {
	return &shell{
		c: c, out: out, history: h, format: formatTable,
		names:         &completer{tables: c.Tables},
		interruptible: context.WithCancel,
	}
}

// complete is for the editor, which has no context of its own.
func (s *shell) complete(line string, pos int) (string, int, []string) {
	s.names.refresh(context.Background())
	return s.names.complete(strings.Join(s.typed, " "), line, pos)
}

// run reads and runs until the end of the input, or \q.
func (s *shell) run(ctx context.Context) error {
	for {
		prompt := "lake> "
		if len(s.typed) > 0 {
			prompt = "   -> "
		}
		line, err := s.edit.line(ctx, prompt)
		switch {
		case errors.Is(err, errInterrupted):
			s.sql, s.typed = splitter{}, nil
			continue
		case errors.Is(err, io.EOF):
			fmt.Fprintln(s.out)
			return nil
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		if quit := s.take(ctx, line); quit {
			return nil
		}
	}
}

// take takes a line. An error is shown, and the shell goes on.
func (s *shell) take(ctx context.Context, line string) (quit bool) {
	if word := strings.TrimSpace(line); len(s.typed) == 0 {
		switch {
		case word == "":
			return false
		case word == "exit", word == "quit", word == `\q`:
			return true
		case word[0] == '\\':
			s.history.enter([]string{line})
			s.show(s.command(ctx, word))
			return false
		}
	}
	done, err := s.sql.add(line + "\n")
	if err != nil {
		s.sql, s.typed = splitter{}, nil
		s.show(err)
		return false
	}
	s.typed = append(s.typed, line)
	if len(done) > 0 {
		s.history.enter(s.typed)
	}
	switch {
	case s.sql.line == 0 && s.sql.in != blockComment:
		s.typed = nil
	case len(done) > 0: // another statement begins in this line
		s.typed = []string{line[strings.LastIndexByte(line, ';')+1:]}
	}
	for _, st := range done {
		if err := s.query(ctx, st.text); err != nil {
			s.show(err)
			return false
		}
	}
	return false
}

func (s *shell) show(err error) {
	if err == nil {
		return
	}
	for line := range strings.SplitSeq(strings.TrimRight(err.Error(), "\n"), "\n") {
		fmt.Fprintln(s.out, clean(line))
	}
}

// query runs a statement and prints its rows.
func (s *shell) query(ctx context.Context, sql string) error {
	started := time.Now()
	running, stop := s.interruptible(ctx)
	defer stop()
	width, height := s.edit.size()
	pages := &pager{to: s.out, height: height - 1, command: s.pager}
	p := printer{out: bufio.NewWriterSize(pages, outputBytes), format: s.format, width: width, color: s.color}
	err := printQuery(running, s.c, sql, p)
	if running.Err() != nil && ctx.Err() == nil {
		err = errCancelled
	}
	if err = errors.Join(err, pages.end()); err != nil && !left(err) {
		return err
	}
	if s.timing {
		fmt.Fprintf(s.out, "%.1f ms\n", float64(time.Since(started).Microseconds())/1000)
	}
	return nil
}

var errCancelled = fault.New(fault.Canceled, "cancelled")

// A shellCommand is one that begins with a backslash.
type shellCommand struct {
	name, args, help string
	run              func(s *shell, ctx context.Context, arg string) error
}

// shellCommands is what \? lists; \q and \? themselves are not run from here.
var shellCommands = []shellCommand{
	{`\d`, "[table]", "list the columns of a table, or all tables", (*shell).describe},
	{`\dt`, "", "list all tables", func(s *shell, ctx context.Context, _ string) error { return s.describe(ctx, "") }},
	{`\format`, "[format]", "print results as table, csv, json or ndjson", (*shell).setFormat},
	{`\timing`, "[on|off]", "print how long each statement takes", (*shell).setTiming},
	{`\?`, "", "print this", nil},
	{`\q`, "", "leave, as Ctrl-D does", nil},
}

func (s *shell) command(ctx context.Context, line string) error {
	name, arg, _ := strings.Cut(strings.TrimSuffix(line, ";"), " ")
	for _, c := range shellCommands {
		if c.name != name {
			continue
		}
		if c.run == nil {
			return s.help()
		}
		ctx, stop := s.interruptible(ctx)
		defer stop()
		return c.run(s, ctx, strings.TrimSpace(arg))
	}
	return fault.Newf(fault.Invalid, `there is no command %.40q; \? lists them`, name)
}

func (s *shell) help() error {
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, c := range shellCommands {
		fmt.Fprintf(w, "%s\t%s\n", strings.TrimSpace(c.name+" "+c.args), c.help)
	}
	fmt.Fprint(w, "\nTab\tcomplete a keyword, a table or a column\nCtrl-C\tgive up the line, or cancel the query that runs\n")
	return w.Flush()
}

func (s *shell) describe(ctx context.Context, name string) error {
	if name == "" {
		tables, err := s.c.Tables(ctx)
		if err != nil {
			return err
		}
		return printTables(s.out, tables)
	}
	t, err := s.c.Table(ctx, name)
	if err != nil {
		return err
	}
	return printColumns(s.out, t.Schema)
}

func (s *shell) setFormat(_ context.Context, format string) error {
	if format == "" {
		fmt.Fprintln(s.out, s.format)
		return nil
	}
	if err := checkFormat(format); err != nil {
		return err
	}
	if binary(format) {
		return fault.Newf(fault.Invalid, "%s is not for a terminal; use `lake sql -q … --format %s --output FILE`", format, format)
	}
	s.format = format
	return nil
}

func (s *shell) setTiming(_ context.Context, arg string) error {
	switch arg {
	case "":
		s.timing = !s.timing
	case "on", "off":
		s.timing = arg == "on"
	default:
		return fault.Newf(fault.Invalid, `%.40q is neither on nor off`, arg)
	}
	fmt.Fprintf(s.out, "timing is %s\n", map[bool]string{true: "on", false: "off"}[s.timing])
	return nil
}

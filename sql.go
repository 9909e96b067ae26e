package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mattn/go-isatty"
	"github.com/urfave/cli/v3"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/sdk"
)

func sqlCommand() *cli.Command {
	return &cli.Command{
		Name:  "sql",
		Usage: "run a query, a script, or a shell",
		Description: `Prints what SELECTs return. Examples:

   lake sql -q 'SELECT origin, count(*) FROM demo.flights GROUP BY origin' --format csv
   lake sql -q 'SELECT * FROM demo.flights' --format parquet --output flights.parquet
   lake sql -f report.sql
   lake sql

A script has several statements, each ended by a semicolon, and stops at the
first that fails. Without -q and -f, a terminal gets a shell, with \\? for its
help, and anything else on standard input is a script.`,
		Flags: clientFlags(
			&cli.StringFlag{Name: "query", Aliases: []string{"q"}, Usage: "the statement"},
			&cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "a script; - is standard input", TakesFile: true},
			&cli.StringFlag{Name: "format", Usage: "of the output: table, csv, json, ndjson, arrow or parquet", Value: formatTable},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "file to write, which appears when it is complete (default: standard output)", TakesFile: true},
		),
		Action: runSQL,
	}
}

func runSQL(ctx context.Context, cmd *cli.Command) (err error) {
	if cmd.Args().Present() {
		return usagef(cmd, "%q is not understood", cmd.Args().First())
	}
	if cmd.IsSet("query") && cmd.IsSet("file") {
		return usagef(cmd, "-q and -f are two things to run; give one")
	}
	format := cmd.String("format")
	if err := checkFormat(format); err != nil {
		return usagef(cmd, "%v", err)
	}
	if binary(format) && !cmd.IsSet("query") {
		return usagef(cmd, "a file of format %s holds one result; use -q", format)
	}
	c, cfg, err := connect(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	if !cmd.IsSet("query") && !cmd.IsSet("file") && !cmd.IsSet("output") && isatty.IsTerminal(os.Stdin.Fd()) && isatty.IsTerminal(os.Stdout.Fd()) {
		return runShell(ctx, c, cfg, format)
	}
	out, err := openSink(cmd.String("output"), format)
	if err != nil {
		return err
	}
	defer func() { err = out.end(err) }()
	p := printer{out: out.Writer, format: format, width: out.width, color: cfg.Color && out.terminal}
	if cmd.IsSet("query") {
		return printQuery(ctx, c, cmd.String("query"), p)
	}
	return runScript(ctx, c, cmd, p)
}

func runScript(ctx context.Context, c *sdk.Client, cmd *cli.Command, p printer) error {
	in := io.Reader(os.Stdin)
	if name := cmd.String("file"); name != "" && name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return fault.Newf(fault.NotFound, "cannot read %s: %v", name, errors.Unwrap(err))
		}
		defer f.Close()
		in = f
	}
	return script(in, func(sql string) error { return printQuery(ctx, c, sql, p) })
}

func printQuery(ctx context.Context, c *sdk.Client, sql string, p printer) error {
	rows, err := c.Query(ctx, sql)
	if err != nil {
		return err
	}
	defer rows.Close()
	_, err = p.rows(rows)
	return err
}

// script runs the statements of a text until one fails.
func script(in io.Reader, run func(sql string) error) error {
	var s splitter
	n := 0
	do := func(st statement) error {
		n++
		if err := run(st.text); err != nil {
			return fmt.Errorf("statement %d, in line %d: %w", n, st.line, err)
		}
		return nil
	}
	r := bufio.NewReaderSize(in, statementBytesMax)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("read the script: %w", err)
		}
		done, aerr := s.add(string(line))
		if aerr != nil {
			return aerr
		}
		for _, st := range done {
			if err := do(st); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
	}
	if s.in != plain && s.in != lineComment {
		return fault.Newf(fault.Invalid, "the script ends inside of a quote or a comment that statement %d opens, in line %d; close it", n+1, max(s.line, 1))
	}
	if st, ok := s.end(); ok {
		return do(st)
	}
	return nil
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/urfave/cli/v3"

	"github.com/lakeward/lake/config"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/roles"
	"github.com/lakeward/lake/sdk"
)

// connect returns a client of the server that --uri names, or else of the one
// that runs in --dir.
func connect(cmd *cli.Command) (*sdk.Client, config.Config, error) {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return nil, cfg, err
	}
	uri := cfg.URI
	if uri == "" {
		ready, err := roles.ReadReady(filepath.Join(cfg.Dir, "run", "ready.json"))
		if err != nil {
			return nil, cfg, fault.Newf(fault.Unavailable, "no server runs in %s; start one there with `lake dev`, or give --dir or --uri", cfg.Dir)
		}
		uri = ready.Flight
	}
	c, err := sdk.Open(sdk.Options{URI: uri})
	return c, cfg, err
}

func clientFlags(own ...cli.Flag) []cli.Flag {
	return append(own, settingFlags(config.Common, config.Client)...)
}

func loadCommand() *cli.Command {
	return &cli.Command{
		Name:      "load",
		Usage:     "append files to a table",
		ArgsUsage: "FILE...",
		Description: `Takes Parquet and Arrow IPC: files, patterns in quotes, and - for standard input.
All files become one version of the table, or nothing does. Examples:

   lake load flights.parquet --table demo.flights --create
   lake load 'logs/*.arrow' --table robots.logs --per-file

With --op UUID (a UUIDv7) the load can be run again, also after a crash: it is
applied once. Without it, an id is made and printed.`,
		Flags: clientFlags(
			&cli.StringFlag{Name: "table", Usage: "the table, as namespace.name", Required: true},
			&cli.BoolFlag{Name: "create", Usage: "make the table first, with the schema of the first file", HideDefault: true},
			&cli.StringFlag{Name: "format", Usage: "of the files: parquet or arrow (default: what they are)"},
			&cli.BoolFlag{Name: "per-file", Usage: "make each file a version of its own; a load that fails has loaded the files before", HideDefault: true},
			&cli.StringFlag{Name: "op", Usage: "operation id, a UUIDv7: the same id over the same files is applied once"},
			&cli.BoolFlag{Name: "unsafe-no-fsync", Usage: "lose loaded data on a power failure, for benchmarks only", HideDefault: true},
			jsonFlag(),
		),
		Action: load,
	}
}

func load(ctx context.Context, cmd *cli.Command) error {
	files := cmd.Args().Slice()
	if len(files) == 0 {
		return usagef(cmd, "no file to load was named")
	}
	op, err := operation(cmd)
	if err != nil {
		return err
	}
	c, cfg, err := connect(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	started := time.Now()
	progress := newProgress(os.Stderr)
	done, err := c.Load(ctx, sdk.Load{
		Table:     cmd.String("table"),
		Files:     files,
		Format:    sdk.Format(cmd.String("format")),
		PerFile:   cmd.Bool("per-file"),
		Create:    cmd.Bool("create"),
		Operation: op,
		NoSync:    cfg.UnsafeNoFsync,
		Progress:  progress.rows,
	})
	progress.end()
	if err != nil {
		return err
	}
	if cmd.Bool("json") {
		return json.NewEncoder(os.Stdout).Encode(map[string]any{
			"table": done.Table, "version": done.Version, "rows": done.Rows, "op": done.Operation,
			"replayed": done.Replayed, "files": done.Files, "bytes": done.Bytes, "seconds": time.Since(started).Seconds(),
		})
	}
	if done.Replayed {
		fmt.Printf("%s: operation %s was applied before: %d rows, version %d\n", done.Table, done.Operation, done.Rows, done.Version)
		return nil
	}
	fmt.Printf("%s: %d rows loaded in %.1f s, version %d (operation %s)\n", done.Table, done.Rows, time.Since(started).Seconds(), done.Version, done.Operation)
	return nil
}

func operation(cmd *cli.Command) (ident.OperationID, error) {
	if !cmd.IsSet("op") {
		return ident.NewOperation()
	}
	return ident.ParseOperation(cmd.String("op"))
}

// progress shows how far a load is, on a terminal only.
type progress struct {
	w     io.Writer // nil elsewhere
	shown time.Time
}

// progressEvery is how often the line is drawn anew.
const progressEvery = 200 * time.Millisecond

func newProgress(f *os.File) *progress {
	if !isatty.IsTerminal(f.Fd()) {
		return &progress{}
	}
	return &progress{w: f}
}

func (p *progress) rows(n int64) {
	if now := time.Now(); p.w != nil && now.Sub(p.shown) > progressEvery {
		p.shown = now
		fmt.Fprintf(p.w, "\r%d rows staged", n)
	}
}

func (p *progress) end() {
	if p.w != nil && !p.shown.IsZero() {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

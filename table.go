package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/urfave/cli/v3"

	"github.com/lakeward/lake/sdk"
)

func tableCommand() *cli.Command {
	return &cli.Command{
		Name:  "table",
		Usage: "look at tables, and make them",
		Commands: []*cli.Command{
			{
				Name:        "ls",
				Usage:       "list the tables",
				Description: "Example:\n\n   lake table ls --json",
				Flags:       clientFlags(jsonFlag()),
				Action:      tableList,
			},
			{
				Name:        "show",
				Usage:       "print a table's columns, and how much it holds",
				ArgsUsage:   "NAMESPACE.NAME",
				Description: "Example:\n\n   lake table show demo.flights",
				Flags:       clientFlags(jsonFlag()),
				Action:      tableShow,
			},
			{
				Name:        "history",
				Usage:       "print what made a table's versions, newest first",
				ArgsUsage:   "NAMESPACE.NAME",
				Description: "Example:\n\n   lake table history demo.flights --limit 5",
				Flags: clientFlags(
					&cli.IntFlag{Name: "limit", Usage: "most versions to print, 1 to 1000", Value: 20},
					jsonFlag(),
				),
				Action: tableHistory,
			},
			{
				Name:      "create",
				Usage:     "make an empty table",
				ArgsUsage: "NAMESPACE.NAME",
				Description: `The schema has DuckDB's type names. Example:

   lake table create robots.runs --schema 'id BIGINT NOT NULL, name VARCHAR, pose DOUBLE[7], at TIMESTAMP_NS'`,
				Flags: clientFlags(
					&cli.StringFlag{Name: "schema", Usage: "columns, as \"name TYPE [NOT NULL], ...\"", Required: true},
					&cli.StringFlag{Name: "op", Usage: "operation id, a UUIDv7: the same id and schema make the table once"},
					jsonFlag(),
				),
				Action: tableCreate,
			},
		},
	}
}

// tableJSON is a table as --json prints it.
type tableJSON struct {
	Name        string       `json:"name"`
	Version     int64        `json:"version"`
	Engine      string       `json:"engine"`
	Incarnation string       `json:"incarnation"`
	Location    string       `json:"location"`
	Columns     []columnJSON `json:"columns"`
}

type columnJSON struct {
	Name     string `json:"name"`
	Type     string `json:"type"` // Arrow's name of it
	SQLType  string `json:"sql_type"`
	Nullable bool   `json:"nullable"`
}

func toJSON(t sdk.Table) tableJSON {
	out := tableJSON{t.Name, t.Version, t.Engine, t.Incarnation, t.Location, nil}
	for _, f := range t.Schema.Fields() {
		out.Columns = append(out.Columns, columnJSON{f.Name, f.Type.String(), sdk.TypeName(f.Type), f.Nullable})
	}
	return out
}

func tableList(ctx context.Context, cmd *cli.Command) error {
	if cmd.Args().Present() {
		return usagef(cmd, "%q is not understood", cmd.Args().First())
	}
	c, _, err := connect(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	tables, err := c.Tables(ctx)
	if err != nil {
		return err
	}
	if cmd.Bool("json") {
		out := make([]tableJSON, len(tables))
		for i, t := range tables {
			out[i] = toJSON(t)
		}
		return json.NewEncoder(os.Stdout).Encode(out)
	}
	return printTables(os.Stdout, tables)
}

func printTables(to io.Writer, tables []sdk.Table) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TABLE\tVERSION\tENGINE\tCOLUMNS")
	for _, t := range tables {
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\n", t.Name, t.Version, t.Engine, t.Schema.NumFields())
	}
	return w.Flush()
}

func printColumns(to io.Writer, schema *arrow.Schema) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "COLUMN\tTYPE\tNULLABLE")
	for _, f := range schema.Fields() {
		nullable := "yes"
		if !f.Nullable {
			nullable = "no"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", clean(f.Name), clean(sdk.TypeName(f.Type)), nullable)
	}
	return w.Flush()
}

func tableCreate(ctx context.Context, cmd *cli.Command) error {
	if cmd.Args().Len() != 1 {
		return usagef(cmd, "name one table to create")
	}
	schema, err := sdk.ParseSchema(cmd.String("schema"))
	if err != nil {
		return err
	}
	op, err := operation(cmd)
	if err != nil {
		return err
	}
	c, _, err := connect(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	t, err := c.CreateTable(ctx, cmd.Args().First(), schema, op)
	if err != nil {
		return err
	}
	if cmd.Bool("json") {
		return json.NewEncoder(os.Stdout).Encode(toJSON(t))
	}
	fmt.Printf("%s: created, version %d, %d columns\n", t.Name, t.Version, t.Schema.NumFields())
	return nil
}

// contentsJSON is a table and what it holds, as --json prints it.
type contentsJSON struct {
	tableJSON
	Rows  *int64 `json:"rows"` // null if another writer of the table has not said it
	Files int64  `json:"files"`
	Bytes int64  `json:"bytes"`
}

// known is a number, or null for the -1 of one that is not known.
func known(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

// count is a number as text.
func count(n int64) string {
	if n < 0 {
		return "not known"
	}
	return strconv.FormatInt(n, 10)
}

func tableShow(ctx context.Context, cmd *cli.Command) error {
	if cmd.Args().Len() != 1 {
		return usagef(cmd, "name one table to show")
	}
	c, _, err := connect(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	t, err := c.Contents(ctx, cmd.Args().First())
	if err != nil {
		return err
	}
	if cmd.Bool("json") {
		return json.NewEncoder(os.Stdout).Encode(contentsJSON{toJSON(t.Table), known(t.Rows), t.Files, t.Bytes})
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "table\t%s\nversion\t%d\nrows\t%s\nfiles\t%d\nbytes\t%d\nengine\t%s\nlocation\t%s\n",
		t.Table.Name, t.Table.Version, count(t.Rows), t.Files, t.Bytes, t.Table.Engine, t.Table.Location)
	fmt.Fprintln(w)
	if err := w.Flush(); err != nil {
		return err
	}
	return printColumns(os.Stdout, t.Table.Schema)
}

// changeJSON is what made a version, as --json prints it.
type changeJSON struct {
	Version   int64      `json:"version"`
	Time      *time.Time `json:"time"` // null if not known, like rows_added
	Operation string     `json:"operation"`
	Op        string     `json:"op,omitempty"`
	RowsAdded *int64     `json:"rows_added"`
}

func tableHistory(ctx context.Context, cmd *cli.Command) error {
	if cmd.Args().Len() != 1 {
		return usagef(cmd, "name one table")
	}
	c, _, err := connect(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	changes, err := c.History(ctx, cmd.Args().First(), cmd.Int("limit"))
	if err != nil {
		return err
	}
	if cmd.Bool("json") {
		out := make([]changeJSON, len(changes))
		for i, ch := range changes {
			out[i] = changeJSON{Version: ch.Version, Operation: ch.Operation, Op: ch.OpID, RowsAdded: known(ch.Rows)}
			if !ch.Time.IsZero() {
				out[i].Time = &ch.Time
			}
		}
		return json.NewEncoder(os.Stdout).Encode(out)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "VERSION\tTIME\tOPERATION\tROWS ADDED\tOPERATION ID")
	for _, ch := range changes {
		at := "not known"
		if !ch.Time.IsZero() {
			at = ch.Time.Format(time.RFC3339)
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", ch.Version, at, clean(ch.Operation), count(ch.Rows), ch.OpID)
	}
	return w.Flush()
}

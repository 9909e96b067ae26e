package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"
	"golang.org/x/sys/unix"

	"github.com/lakeward/lake/config"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/roles"
	"github.com/lakeward/lake/sdk"
)

// answerWait bounds how long a server is waited for that should answer at once.
const answerWait = 5 * time.Second

func readyFile(cfg config.Config) string { return filepath.Join(cfg.Dir, "run", "ready.json") }

func statusCommand() *cli.Command {
	return &cli.Command{
		Name:        "status",
		Usage:       "say whether a server answers, and what it serves",
		Description: "Exits with 4 if no server answers. Example:\n\n   lake status --uri grpc://127.0.0.1:31337 --json",
		Flags:       clientFlags(jsonFlag()),
		Action:      status,
	}
}

// statusJSON is a status as --json prints it.
type statusJSON struct {
	Version string   `json:"version"`
	Lake    string   `json:"lake"`
	Roles   []string `json:"roles,omitempty"` // of the process that runs in --dir
	PID     int      `json:"pid,omitempty"`
	Tables  int      `json:"tables"`
}

func status(ctx context.Context, cmd *cli.Command) error {
	if cmd.Args().Present() {
		return usagef(cmd, "%q is not understood", cmd.Args().First())
	}
	c, cfg, err := connect(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	st, err := c.Status(ctx)
	if err != nil {
		return err
	}
	tables, err := c.Tables(ctx)
	if err != nil {
		return err
	}
	out := statusJSON{Version: st.Version, Lake: st.Lake, Tables: len(tables)}
	if cfg.URI == "" {
		if r, err := roles.ReadReady(readyFile(cfg)); err == nil {
			out.Roles, out.PID = r.Roles, r.PID
		}
	}
	if cmd.Bool("json") {
		return json.NewEncoder(os.Stdout).Encode(out)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "version\t%s\nlake\t%s\n", out.Version, out.Lake)
	if out.PID != 0 {
		fmt.Fprintf(w, "roles\t%s (process %d)\n", strings.Join(out.Roles, ", "), out.PID)
	}
	fmt.Fprintf(w, "tables\t%d\n", out.Tables)
	return w.Flush()
}

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "look for what keeps a lake from working",
		Description: `Checks the server and the folders of this machine, leaves nothing behind, and says
what to do next. Exits with 1 if a check fails. Example:

   lake doctor --dir ./lake-data`,
		Flags:  clientFlags(jsonFlag()),
		Action: doctor,
	}
}

// A verdict is what became of a check or a step.
type verdict string

const (
	good    verdict = "ok"
	warning verdict = "warn"
	failed  verdict = "fail"
	skipped verdict = "skipped"
)

// A finding is a line of a report.
type finding struct {
	Verdict verdict `json:"verdict"`
	Check   string  `json:"check"`
	Detail  string  `json:"detail"` // with what to do next, unless it is ok
}

// A report is printed as it grows.
type report struct {
	asJSON   bool
	findings []finding
	failures int
}

func (r *report) add(v verdict, check, format string, args ...any) {
	f := finding{v, check, fmt.Sprintf(format, args...)}
	if r.findings = append(r.findings, f); v == failed {
		r.failures++
	}
	if !r.asJSON {
		fmt.Printf("%-7s  %-12s  %s\n", f.Verdict, f.Check, f.Detail)
	}
}

// end returns the error of a report with failures.
func (r *report) end(what string) error {
	if r.asJSON {
		if err := json.NewEncoder(os.Stdout).Encode(r.findings); err != nil {
			return err
		}
	}
	if r.failures > 0 {
		return fmt.Errorf("%d %s failed; what is reported above says what to do", r.failures, what)
	}
	return nil
}

func doctor(ctx context.Context, cmd *cli.Command) error {
	if cmd.Args().Present() {
		return usagef(cmd, "%q is not understood", cmd.Args().First())
	}
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	r := &report{asJSON: cmd.Bool("json")}
	root := cfg.Root
	if uri := checkReady(r, cfg); uri != "" {
		if at := checkServer(ctx, r, uri); at != "" {
			root = at
		}
	}
	checkFolders(r, cfg.Dir, root)
	checkSpace(r, cfg.Dir)
	return r.end("checks")
}

// checkReady returns the URI of the server to look at, if any.
func checkReady(r *report, cfg config.Config) string {
	if cfg.URI != "" {
		r.add(good, "ready file", "not looked at: --uri names the server")
		return cfg.URI
	}
	file := readyFile(cfg)
	ready, err := roles.ReadReady(file)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		r.add(warning, "ready file", "no server runs in %s; start one with `lake dev --dir %s`", cfg.Dir, cfg.Dir)
	case err != nil:
		r.add(failed, "ready file", "%v", err)
	case errors.Is(syscall.Kill(ready.PID, 0), syscall.ESRCH):
		r.add(warning, "ready file", "process %d, which wrote %s, has ended; start the server again, which replaces the file", ready.PID, file)
	case ready.Flight == "":
		r.add(warning, "ready file", "the process in %s answers no SQL; give --uri of a query server", cfg.Dir)
	default:
		r.add(good, "ready file", "process %d serves %s", ready.PID, strings.Join(ready.Roles, ", "))
		return ready.Flight
	}
	return ""
}

// checkServer returns the folder of the lake, if it is on this machine.
func checkServer(ctx context.Context, r *report, uri string) string {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	c, err := sdk.Open(sdk.Options{URI: uri})
	if err != nil {
		r.add(failed, "server", "%v", err)
		return ""
	}
	defer c.Close()
	st, err := c.Status(ctx)
	if err != nil {
		r.add(failed, "server", "%s does not answer (%v); look at its log, or start it again", uri, err)
		return ""
	}
	r.add(good, "server", "%s answers, version %s", uri, st.Version)
	if v := version(); v != st.Version {
		r.add(warning, "version", "this is lake %s and the server is %s; use one version", v, st.Version)
	}
	if err := c.CheckRoot(ctx); err != nil {
		r.add(failed, "root", "%v", err)
		return ""
	}
	r.add(good, "root", "readable from here, and of lake %s", st.Lake)
	u, err := url.Parse(st.Root)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	return u.Path
}

// checkFolders does in the folders what a server does: write, make durable, and
// link data files to where a worker reads them.
func checkFolders(r *report, dir, root string) {
	for _, d := range []string{dir, root} {
		if _, err := os.Stat(d); errors.Is(err, fs.ErrNotExist) {
			r.add(warning, "folders", "%s does not exist yet; `lake dev` makes it", d)
			return
		}
	}
	from, err := probe(root)
	if err != nil {
		r.add(failed, "write", "cannot write in %s: %v; make it writable for this user", root, err)
		return
	}
	defer os.Remove(from)
	r.add(good, "write", "files can be written in %s and made durable", root)

	run := filepath.Join(dir, "run")
	if _, err := os.Stat(run); err != nil {
		run = dir
	}
	there, err := probe(run)
	if err != nil {
		r.add(failed, "write", "cannot write in %s: %v; make it writable for this user", run, err)
		return
	}
	os.Remove(there) // its name is free again
	err = os.Link(from, there)
	defer os.Remove(there)
	switch {
	case err == nil:
		r.add(good, "links", "data files can be linked into %s", run)
	case errors.Is(err, syscall.EXDEV), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EMLINK):
		r.add(warning, "links", "files of %s cannot be linked into %s, so that every query copies what it reads; put both on one file system", root, run)
	default:
		r.add(failed, "links", "cannot link files of %s into %s: %v; put both on one file system", root, run, err)
	}
}

// probe makes a durable file and returns its name.
func probe(dir string) (string, error) {
	f, err := os.CreateTemp(dir, ".doctor.*")
	if err != nil {
		return "", errors.Unwrap(err)
	}
	_, err = f.WriteString("lake doctor\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = syncFolder(dir)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return f.Name(), err
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Free disk below which there is a warning, or a failure.
const (
	spaceLow  = 4 << 30
	spaceNone = 256 << 20
)

func checkSpace(r *report, dir string) {
	for dir, _ = filepath.Abs(dir); ; dir = filepath.Dir(dir) { // the folder, or where it will be
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		r.add(warning, "free space", "cannot be told for %s: %v", dir, err)
		return
	}
	free := int64(disk.Bavail) * disk.Bsize
	v, next := spaceVerdict(free)
	r.add(v, "free space", "%.1f GB at %s%s", float64(free)/1e9, dir, next)
}

func spaceVerdict(free int64) (v verdict, next string) {
	switch {
	case free < spaceNone:
		return failed, "; make room, or loads and large queries fail"
	case free < spaceLow:
		return warning, "; make room: large queries spill to disk"
	}
	return good, ""
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	worker "github.com/lakeward/lake/engine/exec"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/roles"
	"github.com/lakeward/lake/sdk"
)

// asLake makes this test binary be the lake binary, so that the end-to-end
// tests link DuckDB once.
const asLake = "LAKE_TEST_AS_LAKE"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == worker.WorkerCommand {
		os.Exit(worker.WorkerMain())
	}
	if os.Getenv(asLake) != "" {
		os.Exit(run(context.Background(), os.Args))
	}
	os.Exit(m.Run())
}

// sample is 100,000 real flights, in the repository.
const (
	sample     = "testdata/flights/flights-sample.parquet"
	startMax   = 20 * time.Second
	commandMax = 2 * time.Minute
)

// lakeCommand is a command line of lake, as a process of its own.
func lakeCommand(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), asLake+"=1")
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// lake runs a command line to its end.
func lake(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := lakeCommand(t, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// mustLake runs a command line that must succeed.
func mustLake(t testing.TB, args ...string) string {
	t.Helper()
	out, errs, code := lake(t, args...)
	if code != 0 {
		t.Fatalf("lake %s: exit %d\n%s", strings.Join(args, " "), code, errs)
	}
	return out
}

// server is a running lake process.
type server struct {
	t     testing.TB
	cmd   *exec.Cmd
	log   *os.File
	ready roles.Ready
	dead  chan struct{} // closed when the process has ended
}

// startServer runs `lake dev` or another command that serves, on free ports.
func startServer(t testing.TB, args ...string) *server {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready.json")
	s := &server{t: t, dead: make(chan struct{})}
	s.cmd = lakeCommand(t, append(args, "--ready-file", ready, "--log-format", "json")...)
	var err error
	if s.log, err = os.CreateTemp(t.TempDir(), "log"); err != nil {
		t.Fatal(err)
	}
	s.cmd.Stderr = s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.cmd.Wait(); close(s.dead) }()
	t.Cleanup(s.kill)
	if !s.until(startMax, func() bool {
		s.ready, err = roles.ReadReady(ready)
		return err == nil
	}) {
		t.Fatalf("lake %s is not ready: %v\n%s", strings.Join(args, " "), err, s.logged())
	}
	return s
}

func startDev(t testing.TB, dir string, more ...string) *server {
	t.Helper()
	return startServer(t, append([]string{"dev", "--dir", dir, "--flight", "127.0.0.1:0"}, more...)...)
}

// until waits for a condition, while the process lives.
func (s *server) until(max time.Duration, ok func() bool) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(max)
	for !ok() {
		select {
		case <-tick.C:
		case <-s.dead:
			return ok()
		case <-end:
			return false
		}
	}
	return true
}

func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.dead
}

// stop ends the process as an operator does, and checks that it ends well.
func (s *server) stop() {
	s.t.Helper()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.dead:
	case <-time.After(startMax):
		s.t.Fatalf("the server does not stop\n%s", s.logged())
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		s.t.Errorf("the server ended with %d\n%s", code, s.logged())
	}
}

func (s *server) logged() string {
	b, _ := os.ReadFile(s.log.Name())
	return string(b)
}

func (s *server) client() *sdk.Client {
	s.t.Helper()
	c, err := sdk.Open(sdk.Options{URI: s.ready.Flight})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

// int64Of runs a query whose answer is one number.
func int64Of(t testing.TB, c *sdk.Client, sql string) int64 {
	t.Helper()
	rows, err := c.Query(t.Context(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer rows.Close()
	var out []int64
	for batch, err := range rows.Batches() {
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		col, ok := batch.Column(0).(*array.Int64)
		if !ok {
			t.Fatalf("%s: the answer is %s", sql, batch.Column(0).DataType())
		}
		out = append(out, col.Int64Values()...)
	}
	if len(out) != 1 {
		t.Fatalf("%s: %d rows", sql, len(out))
	}
	return out[0]
}

// python is the interpreter with the clients that others wrote.
func python(t testing.TB) string {
	t.Helper()
	if p := os.Getenv("LAKE_PYTHON"); p != "" {
		return p
	}
	missing(t, "LAKE_PYTHON is not set: `make e2e` prepares the interpreter and its clients")
	return ""
}

// shared is the folder of fixtures and tools that are used in place.
func shared(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("LAKE_SHARED")
	if dir == "" {
		dir = "../shared"
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		missing(t, fmt.Sprintf("%s is not there; LAKE_SHARED says where fixtures are", name))
	}
	return path
}

// missing skips a test outside of continuous integration and fails it there.
func missing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// output runs a program of others.
func output(t testing.TB, name string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandMax)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, out, errs.Bytes())
	}
	return out
}

// deltaSays is what an independent reader finds in a table's folder.
type deltaSays struct {
	Version int64  `json:"version"`
	Rows    int64  `json:"rows"`
	Hash    string `json:"hash"`
	Error   string `json:"error"`
}

func deltaRS(t testing.TB, dir string, more ...string) (d deltaSays) {
	t.Helper()
	out := output(t, python(t), append([]string{shared(t, "tools/check_delta.py"), "--no-schema", dir}, more...)...)
	if err := json.Unmarshal(out, &d); err != nil || d.Error != "" {
		t.Fatalf("delta-rs: %v %s", err, out)
	}
	return d
}

func TestE2EFileToAnswer(t *testing.T) {
	dir := t.TempDir()
	s := startDev(t, dir)
	out := mustLake(t, "load", sample, "--dir", dir, "--table", "demo.flights", "--create", "--json")
	var loaded struct {
		Table, Op     string
		Version, Rows int64
		Replayed      bool
	}
	if err := json.Unmarshal([]byte(out), &loaded); err != nil || loaded.Version != 1 || loaded.Table != "demo.flights" {
		t.Fatalf("%s: %v", out, err)
	}
	c := s.client()
	if n := int64Of(t, c, "SELECT count(*) FROM demo.flights"); n != loaded.Rows {
		t.Errorf("%d rows are read, %d were loaded", n, loaded.Rows)
	}

	// The same operation again changes nothing and says so.
	out = mustLake(t, "load", sample, "--dir", dir, "--table", "demo.flights", "--create", "--op", loaded.Op, "--json")
	if err := json.Unmarshal([]byte(out), &loaded); err != nil || !loaded.Replayed || loaded.Version != 1 {
		t.Errorf("the same operation: %s (%v)", out, err)
	}

	// DuckDB on the file, delta-rs on the table and lake agree.
	table, err := c.Table(t.Context(), "demo.flights")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("delta-rs reads the same folder", func(t *testing.T) {
		rs := deltaRS(t, filepath.Join(dir, table.Location))
		if rs.Version != 1 || rs.Rows != loaded.Rows {
			t.Errorf("delta-rs finds version %d with %d rows", rs.Version, rs.Rows)
		}
		if at0 := deltaRS(t, filepath.Join(dir, table.Location), "--version", "0"); at0.Rows != 0 {
			t.Errorf("delta-rs finds %d rows in version 0", at0.Rows)
		}
	})
	t.Run("DuckDB on the file answers the same", func(t *testing.T) {
		const question = "SELECT origin, count(*) AS n, sum(delay)::BIGINT AS late, max(date) AS latest FROM %s GROUP BY origin ORDER BY n DESC, origin LIMIT 20"
		want := output(t, python(t), "-c", `
import duckdb, sys
duckdb.sql(sys.argv[1]).write_csv('/dev/stdout')`, fmt.Sprintf(question, "'"+sample+"'"))
		got := mustLake(t, "sql", "--dir", dir, "--format", "csv", "-q", fmt.Sprintf(question, "demo.flights"))
		if got != string(want) {
			t.Errorf("lake answers\n%s\nDuckDB on the file\n%s", got, want)
		}
	})

	// Types come back as they were in the file, large strings too.
	rows, err := c.Query(t.Context(), "SELECT * FROM demo.flights LIMIT 1")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for i, typ := range []arrow.DataType{
		&arrow.TimestampType{Unit: arrow.Microsecond}, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int64,
		arrow.BinaryTypes.LargeString, arrow.BinaryTypes.LargeString,
	} {
		if got := rows.Schema().Field(i).Type; !arrow.TypeEqual(got, typ) {
			t.Errorf("column %d is %s, want %s", i, got, typ)
		}
	}
	if ls := mustLake(t, "table", "ls", "--dir", dir); !strings.Contains(ls, "demo.flights") {
		t.Errorf("table ls: %s", ls)
	}
	s.stop()
	s.noDeaths()
}

// noDeaths checks that no worker ended but by the pool's own hand.
func (s *server) noDeaths() {
	s.t.Helper()
	if log := s.logged(); strings.Contains(log, "worker died") {
		s.t.Errorf("a worker died:\n%s", log)
	}
}

func TestE2EStockADBCClient(t *testing.T) {
	dir := t.TempDir()
	s := startDev(t, dir)
	mustLake(t, "load", sample, "--dir", dir, "--table", "demo.flights", "--create")
	for _, script := range []string{shared(t, "tools/clients/adbc_smoke.py"), "testdata/clients/adbc.py"} {
		args := []string{script, s.ready.Flight}
		if strings.HasSuffix(script, "adbc_smoke.py") {
			args = append(args, "--sql", "SELECT * FROM demo.flights", "--repeat", "3")
		} else {
			args = append(args, sample, "demo.flights")
		}
		out := output(t, python(t), args...)
		if !strings.Contains(string(out), "PASSED") {
			t.Errorf("%s:\n%s", script, out)
		}
	}
	s.stop()
	s.noDeaths()
}

// TestE2EKillDuringLoads ends the server or the loader with kill -9 in the
// middle of ten loads, and runs each again with its operation id.
func TestE2EKillDuringLoads(t *testing.T) {
	dir := t.TempDir()
	s := startDev(t, dir)
	out := mustLake(t, "load", sample, "--dir", dir, "--table", "demo.flights", "--create", "--json")
	var first struct {
		Rows    int64
		Seconds float64
	}
	if err := json.Unmarshal([]byte(out), &first); err != nil {
		t.Fatal(err)
	}
	want, killed := first.Rows, 0
	const rounds = 10
	for round := range rounds {
		op, err := ident.NewOperation()
		if err != nil {
			t.Fatal(err)
		}
		load := []string{"load", sample, "--dir", dir, "--table", "demo.flights", "--op", op.String(), "--json"}
		victim := lakeCommand(t, load...)
		victim.Stdout, victim.Stderr = io.Discard, io.Discard
		if err := victim.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { _ = victim.Wait(); close(ended) }()
		// Spread over a load: hashing, staging, committing, and after.
		moment := time.Duration(float64(round+1) / rounds * 1.2 * first.Seconds * float64(time.Second))
		select {
		case <-time.After(moment):
			killed++
		case <-ended:
		}
		if round%3 == 2 {
			_ = victim.Process.Kill()
			<-ended
		} else {
			s.kill()
			_ = victim.Process.Kill()
			<-ended
			s = startDev(t, dir)
		}
		again := mustLake(t, load...)
		want += first.Rows
		if n := int64Of(t, s.client(), "SELECT count(*) FROM demo.flights"); n != want {
			t.Fatalf("round %d, killed after %v: %d rows, want %d\n%s", round, moment, n, want, again)
		}
	}
	t.Logf("%d of %d rounds were killed before the load ended", killed, rounds)

	c := s.client()
	table, err := c.Table(t.Context(), "demo.flights")
	if err != nil {
		t.Fatal(err)
	}
	if table.Version != rounds+1 {
		t.Errorf("version %d after %d loads", table.Version, rounds+1)
	}
	// Each row is there as often as it was loaded.
	const copies = `SELECT count(*) FROM (SELECT count(*) AS n FROM demo.flights GROUP BY ALL HAVING n % 11 <> 0)`
	copiesOf := strings.Replace(copies, "GROUP BY ALL", "GROUP BY date, delay, distance, origin, destination", 1)
	if n := int64Of(t, c, copiesOf); n != 0 {
		t.Errorf("%d rows are not there exactly %d times", n, rounds+1)
	}
	t.Run("delta-rs agrees", func(t *testing.T) {
		if rs := deltaRS(t, filepath.Join(dir, table.Location)); rs.Rows != want || rs.Version != rounds+1 {
			t.Errorf("delta-rs finds version %d with %d rows, want %d with %d", rs.Version, rs.Rows, rounds+1, want)
		}
	})
	s.stop()
	s.noDeaths()
}

func TestE2ERolesInTheirOwnProcesses(t *testing.T) {
	root := t.TempDir()
	meta := startServer(t, "serve", "--role=meta", "--dir", t.TempDir(), "--root", root, "--meta-listen", "127.0.0.1:0")
	addr := strings.TrimPrefix(meta.ready.Meta, "grpc://")
	query := func() *server {
		return startServer(t, "serve", "--role=query", "--dir", t.TempDir(), "--root", root, "--meta", addr, "--flight", "127.0.0.1:0")
	}
	one, two := query(), query()
	mustLake(t, "load", sample, "--uri", one.ready.Flight, "--table", "demo.flights", "--create")
	a := int64Of(t, one.client(), "SELECT count(*) FROM demo.flights")
	b := int64Of(t, two.client(), "SELECT count(*) FROM demo.flights")
	if a == 0 || a != b {
		t.Errorf("one replica counts %d rows, the other %d", a, b)
	}

	other := t.TempDir()
	startDev(t, other).stop() // makes another lake
	cmd := lakeCommand(t, "serve", "--role=query", "--dir", t.TempDir(), "--root", other, "--meta", addr, "--flight", "127.0.0.1:0")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "another lake") {
		t.Errorf("a replica of another lake's root: %v\n%s", err, out)
	}

	// While no authority answers, what was resolved is read on.
	meta.kill()
	if n := int64Of(t, one.client(), "SELECT count(*) FROM demo.flights"); n != a {
		t.Errorf("without an authority: %d rows, want %d", n, a)
	}
	soon, cancel := context.WithTimeout(t.Context(), 3*time.Second) // it would try for longer
	defer cancel()
	if _, err := one.client().Load(soon, sdk.Load{Table: "demo.more", Files: []string{sample}, Create: true}); !errors.Is(err, sdk.ErrUnavailable) {
		t.Errorf("a load without an authority: %v", err)
	}
}

func TestE2EErrorsSayWhatToDoAndShowNoPath(t *testing.T) {
	dir := t.TempDir()
	s := startDev(t, dir)
	mustLake(t, "load", sample, "--dir", dir, "--table", "demo.flights", "--create")
	notParquet := filepath.Join(t.TempDir(), "not.parquet")
	if err := os.WriteFile(notParquet, []byte("id,name\n1,a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sql := func(q string) []string { return []string{"sql", "--dir", dir, "-q", q} }
	for _, tt := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"a table that does not exist", sql("SELECT 1 FROM demo.nothing"), exitFailed, "lake table ls"},
		{"a column that does not exist", sql("SELECT dely FROM demo.flights"), exitUsage, "delay"},
		{"a syntax error shows where", sql("SELECT 1 +"), exitUsage, "LINE 1"},
		{"a file of this machine", sql("SELECT * FROM read_csv('/etc/passwd')"), exitUsage, "lake load"},
		{"a change", sql("DELETE FROM demo.flights"), exitUsage, "DELETE"},
		{"two statements", sql("SELECT 1; SELECT 2"), exitUsage, "one"},
		{"a failing cast", sql("SELECT origin::INTEGER FROM demo.flights"), exitUsage, "INT32"},
		{"an unknown flag", []string{"sql", "--nope"}, exitUsage, "--help"},
		{"an unknown command", []string{"frobnicate"}, exitUsage, "--help"},
		{"an unknown format", []string{"sql", "--dir", dir, "-q", "SELECT 1", "--format", "xml"}, exitUsage, "ndjson"},
		{"a file that is not Parquet", []string{"load", notParquet, "--dir", dir, "--table", "demo.x", "--create"}, exitFailed, "not.parquet"},
		{"a file that does not exist", []string{"load", "nope.parquet", "--dir", dir, "--table", "demo.x", "--create"}, exitFailed, "nope.parquet"},
		{"a name that is taken", []string{"load", sample, "--dir", dir, "--table", "demo.flights", "--create"}, exitFailed, "without --create"},
		{"a name that is not one", []string{"load", sample, "--dir", dir, "--table", "demo.Größe", "--create"}, exitUsage, "a-z"},
		{"a table to load into that does not exist", []string{"load", sample, "--dir", dir, "--table", "demo.x"}, exitFailed, "does not exist"},
		{"an operation id that is not one", []string{"load", sample, "--dir", dir, "--table", "demo.x", "--op", "1"}, exitUsage, "UUIDv7"},
		{"no server", []string{"sql", "-q", "SELECT 1", "--dir", t.TempDir()}, exitUnavailable, "lake dev"},
		{"a listener for everybody", []string{"dev", "--dir", t.TempDir(), "--flight", "0.0.0.0:0"}, exitRefused, "loopback"},
		{"a second server on the same data", []string{"dev", "--dir", dir, "--flight", "127.0.0.1:0"}, exitUnavailable, "another lake process"},
		{"a schema that is none", []string{"table", "create", "demo.x", "--dir", dir, "--schema", "id NUMBER"}, exitUsage, "NUMBER"},
	} {
		_, errs, code := lake(t, tt.args...)
		if code != tt.code || !strings.Contains(errs, tt.says) || !strings.HasPrefix(errs, "lake: ") {
			t.Errorf("%s: exit %d, want %d and %q:\n%s", tt.name, code, tt.code, tt.says, errs)
		}
		if strings.Contains(errs, dir) && tt.args[0] == "sql" {
			t.Errorf("%s: a path is shown:\n%s", tt.name, errs)
		}
	}
	if ls := mustLake(t, "table", "ls", "--dir", dir, "--json"); strings.Contains(ls, "demo.x") {
		t.Errorf("a refused load left a table: %s", ls)
	}

	// Bytes that changed behind lake's back are an error that names the table
	// and no path.
	data, err := filepath.Glob(filepath.Join(dir, "tables", "demo", "flights", "*", "*.parquet"))
	if err != nil || len(data) != 1 {
		t.Fatal(data, err)
	}
	if err := os.WriteFile(data[0], []byte("PAR1 no more"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs, code := lake(t, sql("SELECT sum(delay) FROM demo.flights")...)
	if code == 0 || strings.Contains(errs, dir) || strings.Contains(errs, "/in/") || !strings.Contains(errs, "demo.flights") {
		t.Errorf("a damaged file: exit %d\n%s", code, errs)
	}
	s.stop()
}

func TestE2ETableShowAndHistory(t *testing.T) {
	dir := t.TempDir()
	s := startDev(t, dir)
	mustLake(t, "load", sample, "--dir", dir, "--table", "demo.flights", "--create")
	mustLake(t, "load", sample, "--dir", dir, "--table", "demo.flights")

	show := mustLake(t, "table", "show", "demo.flights", "--dir", dir)
	for _, want := range []string{"rows      200000\n", "files     2\n", "version   2\n", "delay        BIGINT     yes\n", "origin       VARCHAR    yes\n"} {
		if !strings.Contains(show, want) {
			t.Errorf("%q is not in\n%s", want, show)
		}
	}
	var contents contentsJSON
	if err := json.Unmarshal([]byte(mustLake(t, "table", "show", "demo.flights", "--dir", dir, "--json")), &contents); err != nil || *contents.Rows != 200_000 || contents.Files != 2 || contents.Bytes == 0 || contents.Columns[1].SQLType != "BIGINT" {
		t.Errorf("%+v (%v)", contents, err)
	}

	var changes []changeJSON
	if err := json.Unmarshal([]byte(mustLake(t, "table", "history", "demo.flights", "--dir", dir, "--limit", "2", "--json")), &changes); err != nil || len(changes) != 2 {
		t.Fatalf("%+v (%v)", changes, err)
	}
	if ch := changes[0]; ch.Version != 2 || *ch.RowsAdded != 100_000 || ch.Op == "" || ch.Operation != "WRITE" || time.Since(*ch.Time) > time.Minute {
		t.Errorf("%+v", ch)
	}
	if lines := strings.Split(mustLake(t, "table", "history", "demo.flights", "--dir", dir), "\n"); len(lines) != 5 || !strings.Contains(lines[3], "CREATE TABLE") {
		t.Errorf("%q", lines)
	}
	for _, args := range [][]string{{"show", "demo.nothing"}, {"history", "demo.nothing"}} {
		if _, errs, code := lake(t, append([]string{"table", args[0], args[1]}, "--dir", dir)...); code != exitFailed || !strings.Contains(errs, "lake table ls") {
			t.Errorf("%v: exit %d, %s", args, code, errs)
		}
	}
	if _, errs, code := lake(t, "table", "history", "demo.flights", "--dir", dir, "--limit", "0"); code != exitUsage || !strings.Contains(errs, "1000") {
		t.Errorf("no version at all: exit %d, %s", code, errs)
	}
	s.stop()
}

func TestE2ETableCreate(t *testing.T) {
	dir := t.TempDir()
	s := startDev(t, dir)
	op, err := ident.NewOperation()
	if err != nil {
		t.Fatal(err)
	}
	create := []string{"table", "create", "robots.runs", "--dir", dir, "--op", op.String(), "--schema", "id BIGINT NOT NULL, pose FLOAT[7], small UTINYINT, at TIMESTAMP_NS"}
	mustLake(t, create...)
	mustLake(t, create...) // the same operation
	if _, errs, code := lake(t, append(create[:6:6], create[7:]...)...); code == 0 {
		t.Errorf("another operation made it again: %s", errs)
	}
	rows, err := s.client().Query(t.Context(), "SELECT * FROM robots.runs")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	want := "id: int64, pose: fixed_size_list<item: float32, nullable>[7], small: uint8, at: timestamp[ns]"
	var got []string
	for _, f := range rows.Schema().Fields() {
		got = append(got, f.Name+": "+f.Type.String())
	}
	if g := strings.Join(got, ", "); g != want {
		t.Errorf("an empty table answers with %s, want %s", g, want)
	}
	for batch, err := range rows.Batches() {
		t.Errorf("a batch of %v, %v", batch, err)
	}
	s.stop()
}

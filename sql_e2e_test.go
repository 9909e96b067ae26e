package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestE2EScripts(t *testing.T) {
	dir := t.TempDir()
	s := startDev(t, dir)
	mustLake(t, "load", sample, "--dir", dir, "--table", "demo.flights", "--create")
	script := filepath.Join(t.TempDir(), "report.sql")
	if err := os.WriteFile(script, []byte("-- two questions\nSELECT 'a;b' AS x;\nSELECT count(*) AS n\nFROM demo.flights;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "x\na;b\nn\n100000\n"
	if out := mustLake(t, "sql", "--dir", dir, "-f", script, "--format", "csv"); out != want {
		t.Errorf("a file: %q, want %q", out, want)
	}
	in, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	cmd := lakeCommand(t, "sql", "--dir", dir, "--format", "csv")
	cmd.Stdin = bytes.NewReader(in)
	if out, err := cmd.Output(); err != nil || string(out) != want {
		t.Errorf("standard input: %q (%v), want %q", out, err, want)
	}

	cmd = lakeCommand(t, "sql", "--dir", dir, "--format", "ndjson")
	cmd.Stdin = strings.NewReader("SELECT 1 AS a;\n\nSELECT nope;\nSELECT 3 AS c;")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, _ := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != exitUsage || string(out) != "{\"a\":1}\n" || !strings.Contains(errs.String(), "statement 2, in line 3") {
		t.Errorf("exit %d, %s%s", code, out, errs.Bytes())
	}

	// What is written to a file is there as a whole, and loads again.
	parquet := filepath.Join(t.TempDir(), "copy.parquet")
	mustLake(t, "sql", "--dir", dir, "-q", "SELECT * FROM demo.flights", "--format", "parquet", "-o", parquet)
	mustLake(t, "load", parquet, "--dir", dir, "--table", "demo.copy", "--create")
	if n := int64Of(t, s.client(), "SELECT count(*) FROM (SELECT * FROM demo.flights EXCEPT SELECT * FROM demo.copy)"); n != 0 {
		t.Errorf("%d rows are not in the copy", n)
	}
	if _, errs, code := lake(t, "sql", "--dir", dir, "-f", script, "--format", "arrow"); code != exitUsage || !strings.Contains(errs, "-q") {
		t.Errorf("a script as arrow: exit %d, %s", code, errs)
	}
	s.stop()
	s.noDeaths()
}

// tty is a terminal with a shell of lake in it.
type tty struct {
	t    *testing.T
	cmd  *exec.Cmd
	keys *os.File

	mu   sync.Mutex
	text strings.Builder // since the last wait
	more chan struct{}
}

// startShell runs a command in a terminal of 24 lines and 80 columns.
func startShell(t *testing.T, env []string, args ...string) *tty {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there are no terminals here: ", err)
	}
	fd := int(keys.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	screen, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &tty{t: t, cmd: lakeCommand(t, args...), keys: keys, more: make(chan struct{}, 1)}
	s.cmd.Env = append(s.cmd.Env, env...)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = screen, screen, screen
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	screen.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		b := make([]byte, 4096)
		for {
			n, err := keys.Read(b)
			s.mu.Lock()
			s.text.Write(b[:n])
			s.mu.Unlock()
			select {
			case s.more <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { _ = s.cmd.Process.Kill(); _ = s.cmd.Wait(); keys.Close(); <-read })
	return s
}

func (s *tty) press(keys string) {
	s.t.Helper()
	if _, err := s.keys.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// see waits for a text and returns what came before it.
func (s *tty) see(want string) string {
	s.t.Helper()
	end := time.After(startMax)
	for {
		s.mu.Lock()
		seen, rest, ok := strings.Cut(s.text.String(), want)
		if ok {
			s.text.Reset()
			s.text.WriteString(rest)
		}
		s.mu.Unlock()
		if ok {
			return seen
		}
		select {
		case <-s.more:
		case <-end:
			s.t.Fatalf("%q is not seen in %q", want, seen)
		}
	}
}

func TestE2EShell(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	server := startDev(t, dir, "--query-slots", "1", "--query-warm", "1")
	mustLake(t, "load", sample, "--dir", dir, "--table", "demo.flights", "--create")
	env := []string{"XDG_STATE_HOME=" + state, "PAGER=sed s/^/page:/", "TERM=xterm"}
	s := startShell(t, env, "sql", "--dir", dir)
	s.see("lake> ")

	// A statement over two lines, with what a tab completes.
	s.press("SELECT coun\tFROM demo.fl\t\r")
	s.see("demo.flights")
	s.see("   -> ")
	s.press("LIMIT 1;\r")
	s.see("Binder Error")
	s.see("lake> ")
	s.press("SELECT count(*) AS n, NULL AS nothing\rFROM demo.flights;\r")
	s.see("100000")
	s.see("NULL")
	s.see("(1 row)")
	s.see("lake> ")

	// Ctrl-C gives up a line, and cancels a query on the server: the next one
	// gets the only slot.
	s.press("SELECT nonsense\x03")
	s.see("^C")
	s.see("lake> ")
	s.press("SELECT sum(a.delay * b.delay) FROM demo.flights a, demo.flights b, demo.flights c;\r")
	s.see("c;")
	s.see("\n")
	for running := false; !running; { // Ctrl-C before it runs would give up a line
		attrs, err := unix.IoctlGetTermios(int(s.keys.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		running = attrs.Lflag&unix.ISIG != 0
	}
	s.press("\x03")
	s.see("cancelled")
	s.see("lake> ")
	s.press("\\timing\r")
	s.see("timing is on")
	s.press("SELECT 6 * 7 AS answer;\r")
	s.see("42")
	s.see(" ms")
	s.see("lake> ")

	s.press("\\d demo.flights\r")
	s.see("delay")
	s.see("BIGINT")
	s.see("lake> ")
	s.press("\\dt\r")
	s.see("demo.flights")
	s.press("\\format csv\rSELECT 1 AS a, 2 AS b;\r")
	s.see("a,b")
	s.see("1,2")
	s.press("\\nope\r")
	s.see(`\? lists them`)
	s.press("\\?\r")
	s.see("Ctrl-C")

	// More than the screen has lines for goes through the pager.
	s.press("\\format table\rSELECT delay FROM demo.flights LIMIT 30;\r")
	s.see("page:")
	s.see("(30 rows)")
	s.see("lake> ")
	s.press("\x1b[A\x1b[A\r") // the one before, from the history
	s.see("\\format table")
	s.see("lake> ")
	s.press("\\q\r")
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("the shell ends with %v", err)
	}
	b, err := os.ReadFile(filepath.Join(state, "lake", "history"))
	if err != nil || !strings.Contains(string(b), "SELECT count(*) AS n, NULL AS nothing FROM demo.flights;\n") {
		t.Errorf("the history is %q (%v)", b, err)
	}
	server.stop()
}

// What sql writes, load reads: Arrow from a pipe, and each file of a pattern as
// a version of its own.
func TestE2ELoadOfWhatSQLWrites(t *testing.T) {
	dir, files := t.TempDir(), t.TempDir()
	s := startDev(t, dir)
	for i := range 3 {
		mustLake(t, "sql", "--dir", dir, "-q", fmt.Sprintf("SELECT %d::BIGINT AS id", i), "--format", "arrow", "--output", filepath.Join(files, fmt.Sprintf("%d.arrow", i)))
	}
	mustLake(t, "load", filepath.Join(files, "*.arrow"), "--dir", dir, "--table", "demo.ids", "--create", "--per-file")
	table, err := s.client().Table(t.Context(), "demo.ids")
	if err != nil || table.Version != 3 {
		t.Errorf("version %d of three files (%v)", table.Version, err)
	}
	in, err := os.Open(filepath.Join(files, "1.arrow"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cmd := lakeCommand(t, "load", "-", "--dir", dir, "--table", "demo.ids")
	cmd.Stdin = in
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("standard input: %v\n%s", err, out)
	}
	if n := int64Of(t, s.client(), "SELECT sum(id)::BIGINT FROM demo.ids"); n != 4 {
		t.Errorf("the ids add up to %d", n)
	}
	for _, format := range []string{"parquet", "xml"} {
		if _, errs, code := lake(t, "load", filepath.Join(files, "0.arrow"), "--dir", dir, "--table", "demo.ids", "--format", format); code == 0 || !strings.Contains(errs, format) {
			t.Errorf("as %s: exit %d, %s", format, code, errs)
		}
	}
	s.stop()
}

package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lakeward/lake/config"
	"github.com/lakeward/lake/fault"
)

func env(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lake.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func entry(t *testing.T, c config.Config, key string) config.Entry {
	t.Helper()
	for _, e := range c.Entries() {
		if e.Key == key {
			return e
		}
	}
	t.Fatalf("no entry %q", key)
	return config.Entry{}
}

func TestDefaults(t *testing.T) {
	c, err := config.Load(nil, "", env(nil))
	if err != nil {
		t.Fatal(err)
	}
	q := c.Query
	if c.Dir != "./lake-data" || c.Root != c.Dir || c.Grace != 30*time.Second || c.LogLevel != slog.LevelInfo || !c.Color || c.UnsafeNoFsync {
		t.Errorf("process: %+v", c)
	}
	if q.Flight != "127.0.0.1:31337" || q.Meta != nil || q.TicketLife != time.Hour || q.CatalogTTL != 2*time.Second ||
		q.QueueWait != 30*time.Second || q.Deadline != 5*time.Minute || q.SpillBytes != 64<<30 {
		t.Errorf("query: %+v", q)
	}
	if q.Slots < 2 || q.Threads < 1 || q.Threads > 8 || q.Warm < 1 || q.Warm > q.Slots || q.MemoryBytes < 512<<20 {
		t.Errorf("what is left to the machine: %+v", q)
	}
	if c.Meta.Listen != "127.0.0.1:0" {
		t.Errorf("meta: %+v", c.Meta)
	}
}

func TestPrecedence(t *testing.T) {
	file := write(t, "ticket-life: 2h\n")
	flags := map[string]string{"ticket-life": "4h"}
	vars := map[string]string{"LAKE_TICKET_LIFE": "3h"}
	for _, tt := range []struct {
		name   string
		set    map[string]string
		file   string
		vars   map[string]string
		want   time.Duration
		source string
	}{
		{"a flag wins over all", flags, file, vars, 4 * time.Hour, "--ticket-life"},
		{"the environment wins over the file", nil, file, vars, 3 * time.Hour, "LAKE_TICKET_LIFE"},
		{"an empty variable is not set", nil, file, map[string]string{"LAKE_TICKET_LIFE": ""}, 2 * time.Hour, file},
		{"the file wins over the default", nil, file, nil, 2 * time.Hour, file},
		{"the environment may name the file", nil, "", map[string]string{config.FileEnv: file}, 2 * time.Hour, file},
		{"else it is the default", nil, "", nil, time.Hour, "default"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := config.Load(tt.set, tt.file, env(tt.vars))
			if err != nil {
				t.Fatal(err)
			}
			if e := entry(t, c, "ticket-life"); c.Query.TicketLife != tt.want || e.Source != tt.source {
				t.Errorf("%v from %s, want %v from %s", c.Query.TicketLife, e.Source, tt.want, tt.source)
			}
		})
	}
}

// TestRefusals has the errors as a user reads them: the key, the value, where
// it is from, and what would be right.
func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  map[string]string
		vars map[string]string
		yaml string
		kind fault.Kind
		want string
	}{
		{
			name: "a number out of range", set: map[string]string{"query-slots": "0"}, kind: fault.Invalid,
			want: `query-slots is "0" (from --query-slots): use 1 to 1024, or auto`,
		},
		{
			name: "a duration without a unit", vars: map[string]string{"LAKE_GRACE": "30"}, kind: fault.Invalid,
			want: `grace is "30" (from LAKE_GRACE): use 1s to 10m`,
		},
		{
			name: "a ticket that lives too long", yaml: "ticket-life: 25h", kind: fault.Invalid,
			want: `ticket-life is "25h" (from FILE): use 1m to 24h`,
		},
		{
			name: "a size in an unknown unit", set: map[string]string{"query-memory": "2 gigs"}, kind: fault.Invalid,
			want: `query-memory is "2 gigs" (from --query-memory): use 64MiB to 16TiB, as 512MB or 2GiB, or auto`,
		},
		{
			name: "a size that overflows", set: map[string]string{"query-spill": "9000000PiB"}, kind: fault.Invalid,
			want: `query-spill is "9000000PiB" (from --query-spill): use 0 to 1PiB, as 512MB or 2GiB`,
		},
		{
			name: "neither true nor false", yaml: "unsafe-no-fsync: yes", kind: fault.Invalid,
			want: `unsafe-no-fsync is "yes" (from FILE): use true or false`,
		},
		{
			name: "a choice that there is not", set: map[string]string{"log-format": "xml"}, kind: fault.Invalid,
			want: `log-format is "xml" (from --log-format): use auto, text or json`,
		},
		{
			name: "an address that others could reach", set: map[string]string{"flight": "0.0.0.0:31337"}, kind: fault.Denied,
			want: `flight is "0.0.0.0:31337" (from --flight): only loopback addresses are allowed while there is no TLS and no authentication; use 127.0.0.1, and reach it from elsewhere through an SSH tunnel`,
		},
		{
			name: "an address of every interface", set: map[string]string{"meta-listen": ":0"}, kind: fault.Denied,
			want: `meta-listen is ":0" (from --meta-listen): only loopback addresses are allowed while there is no TLS and no authentication; use 127.0.0.1, and reach it from elsewhere through an SSH tunnel`,
		},
		{
			name: "a server that others could listen to", set: map[string]string{"uri": "grpc://lake.example:31337"}, kind: fault.Denied,
			want: `uri is "grpc://lake.example:31337" (from --uri): only loopback addresses are allowed while there is no TLS and no authentication; use 127.0.0.1, and reach it from elsewhere through an SSH tunnel`,
		},
		{
			name: "one bad address in a list", yaml: "meta: [127.0.0.1:1, 'localhost']", kind: fault.Invalid,
			want: `meta is "127.0.0.1:1,localhost" (from FILE): use host:port on loopback, for example 127.0.0.1:31337 or [::1]:0`,
		},
		{
			name: "a root that is no directory", set: map[string]string{"root": "s3://bucket/prefix"}, kind: fault.Invalid,
			want: `root is "s3://bucket/prefix" (from --root): use a path on this machine; object stores are not supported yet`,
		},
		{
			name: "more idle workers than slots", set: map[string]string{"query-slots": "2", "query-warm": "3"}, kind: fault.Invalid,
			want: `query-warm is 3 (from --query-warm): more idle workers than the 2 of query-slots never run; use 1 to 2`,
		},
		{
			name: "an unknown key in the file", yaml: "query_slots: 8", kind: fault.Invalid,
			want: "there is no setting \"query_slots\" (from FILE); `lake config show` lists them all",
		},
		{
			name: "an unknown flag", set: map[string]string{"slots": "8"}, kind: fault.Invalid,
			want: "there is no setting \"slots\" (from the command line); `lake config show` lists them all",
		},
		{
			name: "a key twice", yaml: "grace: 1s\ngrace: 2s", kind: fault.Invalid,
			want: `configuration file FILE: line 2: "grace" is set a second time; keep one`,
		},
		{
			name: "a key without a value", yaml: "grace:", kind: fault.Invalid,
			want: `configuration file FILE: line 1: "grace" has no single value or list of values`,
		},
		{
			name: "a nested file", yaml: "query:\n  slots: 8", kind: fault.Invalid,
			want: `configuration file FILE: line 2: "query" has no single value or list of values`,
		},
		{
			name: "a file that is a list", yaml: "- grace", kind: fault.Invalid,
			want: `configuration file FILE: line 1: write settings as key: value`,
		},
		{
			name: "a file that is not YAML", yaml: "grace: [", kind: fault.Invalid,
			want: `configuration file FILE: line 1: did not find expected node content`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := ""
			if tt.yaml != "" {
				file = write(t, tt.yaml)
			}
			_, err := config.Load(tt.set, file, env(tt.vars))
			if err == nil {
				t.Fatal("accepted")
			}
			got := err.Error()
			if file != "" {
				got = strings.ReplaceAll(got, file, "FILE")
			}
			if got != tt.want {
				t.Errorf("error\n%s, want\n%s", got, tt.want)
			}
			if got := fault.KindOf(err); got != tt.kind {
				t.Errorf("kind %v, want %v", got, tt.kind)
			}
		})
	}
}

func TestMissingFile(t *testing.T) {
	_, err := config.Load(nil, filepath.Join(t.TempDir(), "none.yaml"), env(nil))
	if fault.KindOf(err) != fault.Invalid {
		t.Errorf("a named file that is missing: %v, want fault.Invalid", err)
	}
}

func TestAccepted(t *testing.T) {
	file := write(t, `# a comment
root: /srv/lake
meta:
  - 127.0.0.1:41000
  - "[::1]:41001"
query-memory: 2GB
query-spill: 1048576
`)
	c, err := config.Load(map[string]string{"flight": "localhost:0", "query-slots": "1"}, file, env(nil))
	if err != nil {
		t.Fatal(err)
	}
	if c.Root != "/srv/lake" || !slices.Equal(c.Query.Meta, []string{"127.0.0.1:41000", "[::1]:41001"}) ||
		c.Query.MemoryBytes != 2e9 || c.Query.SpillBytes != 1<<20 || c.Query.Warm != 1 {
		t.Errorf("%+v", c)
	}
	for key, want := range map[string]string{
		"meta": "127.0.0.1:41000,[::1]:41001", "query-memory": "2GB", "query-spill": "1MiB", "query-warm": "1", "log-level": "info", "query-deadline": "5m",
	} {
		if got := entry(t, c, key).Value; got != want {
			t.Errorf("%s is shown as %q, want %q", key, got, want)
		}
	}
}

// TestShownValuesLoadAgain proves that what `lake config show` prints can be
// written into a file.
func TestShownValuesLoadAgain(t *testing.T) {
	c, err := config.Load(map[string]string{"meta": "127.0.0.1:1,127.0.0.1:2", "query-wait": "90s"}, "", env(nil))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, e := range c.Entries() {
		fmt.Fprintf(&text, "%s: %q\n", e.Key, e.Value)
	}
	again, err := config.Load(nil, write(t, text.String()), env(nil))
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range again.Entries() {
		if want := c.Entries()[i].Value; e.Value != want {
			t.Errorf("%s: %q, want %q", e.Key, e.Value, want)
		}
	}
}

func TestSettingsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range config.Settings() {
		if seen[s.Name] || s.Usage == "" || s.Allowed == "" || s.Kind == 0 || s.Part == 0 || !strings.HasPrefix(s.Env, "LAKE_") {
			t.Errorf("%+v", s)
		}
		seen[s.Name] = true
	}
}

func TestSecretIsNeverPrinted(t *testing.T) {
	s := config.NewSecret("hunter2")
	holder := struct {
		Open   config.Secret
		closed config.Secret
	}{s, s}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%v %s %q %+v %#v %v %+v %#v", s, s, s, s, s, holder, holder, holder)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("login", "token", s, "all", holder)
	slog.New(slog.NewTextHandler(&out, nil)).Info("login", "token", s, "all", holder)
	if err := json.NewEncoder(&out).Encode(holder); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "hunter2") {
		t.Errorf("printed: %s", out.String())
	}
	if s.Reveal() != "hunter2" || (config.Secret{}).Reveal() != "" {
		t.Error("Reveal does not return the text")
	}
}

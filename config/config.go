// Package config reads the file, the environment and the flags once into plain
// validated structs. One table, in settings.go, says what there is to set.
package config

import (
	"log/slog"
	"os"
	"time"

	"github.com/lakeward/lake/fault"
)

// FileEnv names the variable that stands in for --config.
const FileEnv = "LAKE_CONFIG"

// Config is everything that can be set about a lake process.
type Config struct {
	Dir  string // holds meta.db, run/, cache/ and spill/
	Root string // of the object store; never empty after Load
	URI  string // of the server a client command talks to, or empty: the one of Dir

	Query Query
	Meta  Meta

	Grace         time.Duration // from the first request to stop until the process gives up
	LogFormat     string        // auto, text or json
	LogLevel      slog.Level
	Color         bool   // colours, where the output is a terminal
	ReadyFile     string // or empty
	UnsafeNoFsync bool   // for benchmarks only

	sources map[string]string // where each setting's value is from, by key
}

// Query configures the role that answers SQL.
type Query struct {
	Flight      string   // listen address
	Meta        []string // addresses of Metasrv; empty when it is in this process
	Slots       int      // queries that run at once
	Threads     int      // of one query
	Warm        int      // idle workers kept ready, at most Slots
	MemoryBytes int64    // of one query, without the worker's own headroom
	SpillBytes  int64    // on disk, of all running queries together
	QueueWait   time.Duration
	Deadline    time.Duration // of one statement
	TicketLife  time.Duration
	CatalogTTL  time.Duration
}

// Meta configures the role that owns metadata and all commits.
type Meta struct {
	Listen string
}

// An Entry is the value in force of one setting, as text, and where it is from.
type Entry struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source"` // the flag, the variable, the file, or "default"
}

// Environ looks a name up in the process's environment: what Load takes outside
// of tests. No other package reads the environment.
func Environ(name string) (string, bool) { return os.LookupEnv(name) }

// Load returns the configuration of a process. A setting is what set, the flags
// given by key, says; else its environment variable, where an empty one counts
// as not set; else the file's key; else its default. An empty file is the one
// that FileEnv names, or none: no file is read that nobody has named. An error
// is fault.Invalid, or fault.Denied for a value that policy refuses, and names
// the key, the value, its source and what is allowed.
func Load(set map[string]string, file string, lookupEnv func(string) (string, bool)) (Config, error) {
	if file == "" {
		file, _ = lookupEnv(FileEnv)
	}
	inFile, err := readFile(file)
	if err != nil {
		return Config{}, err
	}
	settings := table()
	if err := checkKeys(inFile, file, settings); err != nil {
		return Config{}, err
	}
	if err := checkKeys(set, "the command line", settings); err != nil {
		return Config{}, err
	}
	c := Config{sources: map[string]string{}}
	for _, s := range settings {
		value, source := s.Default, "default"
		if v, ok := inFile[s.Name]; ok {
			value, source = v, file
		}
		if v, ok := lookupEnv(s.Env); ok && v != "" {
			value, source = v, s.Env
		}
		if v, ok := set[s.Name]; ok {
			value, source = v, "--"+s.Name
		}
		if err := s.set(&c, value); err != nil {
			return Config{}, fault.Newf(fault.KindOf(err), "%s is %.80q (from %s): %s", s.Name, value, source, fault.Public(err))
		}
		c.sources[s.Name] = source
	}
	if err := c.complete(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// Entries returns every setting's value in force, in the order of Settings.
func (c Config) Entries() []Entry {
	var out []Entry
	for _, s := range table() {
		out = append(out, Entry{Key: s.Name, Value: s.show(&c), Source: c.sources[s.Name]})
	}
	return out
}

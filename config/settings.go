package config

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lakeward/lake/fault"
)

// A Setting is one thing that can be set, as the command line shows it.
type Setting struct {
	Name    string // of the flag and of the key in the file
	Env     string // its variable
	Usage   string // what it is, with its unit
	Default string
	Allowed string // the values it takes, in words
	Kind    Kind
	Part    Part
}

// Kind says how a setting's text is read.
type Kind uint8

// The kinds. Only a Switch is a flag that needs no value.
const (
	Text Kind = iota + 1
	Number
	Size // bytes, with or without a unit
	Span // a duration with its unit
	Switch
	Choice
	Address   // host:port
	Addresses // several, separated by commas; a list in the file
)

// Part says which commands take a setting.
type Part uint8

// The parts. A command takes Common and those of its roles.
const (
	Common Part = iota + 1 // every command
	Client                 // a command that talks to a server
	Server                 // every role
	OfQuery
	OfMeta
)

// Settings returns everything that can be set, in the order of the help text.
func Settings() []Setting {
	var out []Setting
	for _, s := range table() {
		out = append(out, s.Setting)
	}
	return out
}

// auto is the value of a setting that is made to fit the machine.
const auto = "auto"

// table is what can be set. Everything else about settings follows from it.
func table() []setting {
	return []setting{
		field(Common, "dir", "./lake-data", "directory of this node's files",
			path, func(c *Config) *string { return &c.Dir }),
		field(Server, "root", "", "directory of the tables (default: --dir)",
			optional(path), func(c *Config) *string { return &c.Root }),
		field(Client, "uri", "", "server, as grpc://host:port (default: the one that runs in --dir)",
			optional(uri), func(c *Config) *string { return &c.URI }),

		field(OfQuery, "flight", "127.0.0.1:31337", "listen address of Flight SQL",
			loopback, func(c *Config) *string { return &c.Query.Flight }),
		field(OfQuery, "meta", "", "addresses of the metadata servers (default: in this process)",
			list(loopback), func(c *Config) *[]string { return &c.Query.Meta }),
		field(OfQuery, "query-slots", auto, "queries that run at once (auto: 2 × cores)",
			orAuto(number(1, 1024)), func(c *Config) *int { return &c.Query.Slots }),
		field(OfQuery, "query-threads", auto, "threads of one query (auto: cores, at most 8)",
			orAuto(number(1, 256)), func(c *Config) *int { return &c.Query.Threads }),
		field(OfQuery, "query-warm", auto, "idle workers kept ready, at most query-slots (auto: 2)",
			orAuto(number(1, 1024)), func(c *Config) *int { return &c.Query.Warm }),
		field(OfQuery, "query-memory", auto, "memory of one query (auto: its slot's share of 70 % of the machine's or the container's memory, less 1 GB, at least 512 MB)",
			orAuto(size(64<<20, 16<<40)), func(c *Config) *int64 { return &c.Query.MemoryBytes }),
		field(OfQuery, "query-spill", "64GiB", "disk that all running queries together may spill to",
			size(0, 1<<50), func(c *Config) *int64 { return &c.Query.SpillBytes }),
		field(OfQuery, "query-wait", "30s", "longest wait for a slot",
			span(0, 10*time.Minute), func(c *Config) *time.Duration { return &c.Query.QueueWait }),
		field(OfQuery, "query-deadline", "5m", "longest run of one statement",
			span(time.Second, 24*time.Hour), func(c *Config) *time.Duration { return &c.Query.Deadline }),
		field(OfQuery, "ticket-life", "1h", "time in which a planned statement can be fetched",
			span(time.Minute, 24*time.Hour), func(c *Config) *time.Duration { return &c.Query.TicketLife }),
		field(OfQuery, "catalog-ttl", "2s", "longest time that a cached table version is served unchecked",
			span(0, time.Minute), func(c *Config) *time.Duration { return &c.Query.CatalogTTL }),

		field(OfMeta, "meta-listen", "127.0.0.1:0", "listen address of the metadata server",
			loopback, func(c *Config) *string { return &c.Meta.Listen }),

		field(Server, "grace", "30s", "time for a shutdown, all parts together",
			span(time.Second, 10*time.Minute), func(c *Config) *time.Duration { return &c.Grace }),
		field(Server, "ready-file", "", "file to write addresses to, as JSON, once the process serves",
			optional(path), func(c *Config) *string { return &c.ReadyFile }),
		field(Server, "unsafe-no-fsync", "false", "lose acknowledged data on a power failure, for benchmarks only",
			yesNo, func(c *Config) *bool { return &c.UnsafeNoFsync }),
		field(Common, "log-format", "auto", "form of the log (auto: text on a terminal, else json)",
			choice("auto", "text", "json"), func(c *Config) *string { return &c.LogFormat }),
		field(Common, "log-level", "info", "least level that is logged",
			level, func(c *Config) *slog.Level { return &c.LogLevel }),
		field(Common, "color", "true", "colours on a terminal",
			yesNo, func(c *Config) *bool { return &c.Color }),
	}
}

// setting is a Setting and its field of a Config.
type setting struct {
	Setting
	set  func(*Config, string) error
	show func(*Config) string
}

// field describes the setting whose value is the field that at returns.
func field[T any](part Part, name, def, usage string, as form[T], at func(*Config) *T) setting {
	return setting{
		Setting: Setting{
			Name:    name,
			Env:     "LAKE_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")),
			Usage:   usage,
			Default: def,
			Allowed: as.allowed,
			Kind:    as.kind,
			Part:    part,
		},
		set: func(c *Config, text string) (err error) {
			*at(c), err = as.parse(text)
			return err
		},
		show: func(c *Config) string { return as.format(*at(c)) },
	}
}

// checkKeys refuses a key that no setting has.
func checkKeys(values map[string]string, source string, settings []setting) error {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !slices.ContainsFunc(settings, func(s setting) bool { return s.Name == key }) {
			return fault.Newf(fault.Invalid, "there is no setting %.80q (from %s); `lake config show` lists them all", key, source)
		}
	}
	return nil
}

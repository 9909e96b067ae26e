package config

import (
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lakeward/lake/fault"
)

// A form reads and writes the text of one kind of value. Its parse returns an
// error that says what is allowed.
type form[T any] struct {
	kind    Kind
	allowed string
	parse   func(string) (T, error)
	format  func(T) string
}

// want is the error for a text that is not of a form.
func want(allowed string) error { return fault.Newf(fault.Invalid, "use %s", allowed) }

func same(s string) string { return s }

var path = form[string]{
	kind:    Text,
	allowed: "a path",
	parse: func(s string) (string, error) {
		if s == "" || strings.ContainsRune(s, 0) || strings.Contains(s, "://") {
			return "", want("a path on this machine; object stores are not supported yet")
		}
		return s, nil
	},
	format: same,
}

var yesNo = form[bool]{
	kind:    Switch,
	allowed: "true or false",
	parse: func(s string) (bool, error) {
		if s != "true" && s != "false" {
			return false, want("true or false")
		}
		return s == "true", nil
	},
	format: strconv.FormatBool,
}

var level = form[slog.Level]{
	kind:    Choice,
	allowed: "debug, info, warn or error",
	parse: func(s string) (l slog.Level, err error) {
		if !slices.Contains([]string{"debug", "info", "warn", "error"}, s) || l.UnmarshalText([]byte(s)) != nil {
			return l, want("debug, info, warn or error")
		}
		return l, nil
	},
	format: func(l slog.Level) string { return strings.ToLower(l.String()) },
}

// loopback is a host:port that only this machine can reach.
// ceiling: no TLS and no identities yet, so nothing else may be listened on or
// dialled; both lift this.
var loopback = form[string]{
	kind:    Address,
	allowed: "host:port on loopback, for example 127.0.0.1:31337 or [::1]:0",
	parse: func(s string) (string, error) {
		const allowed = "host:port on loopback, for example 127.0.0.1:31337 or [::1]:0"
		host, port, err := net.SplitHostPort(s)
		if err != nil {
			return "", want(allowed)
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return "", want(allowed)
		}
		if ip, err := netip.ParseAddr(host); host == "localhost" || err == nil && ip.IsLoopback() {
			return s, nil
		}
		return "", fault.New(fault.Denied, "only loopback addresses are allowed while there is no TLS and no authentication; use 127.0.0.1, and reach it from elsewhere through an SSH tunnel")
	},
	format: same,
}

const uriScheme = "grpc://"

var uri = form[string]{
	kind:    Text,
	allowed: "grpc://host:port on loopback",
	parse: func(s string) (string, error) {
		address, ok := strings.CutPrefix(s, uriScheme)
		if !ok {
			return "", want("grpc://host:port on loopback")
		}
		_, err := loopback.parse(address)
		return s, err
	},
	format: same,
}

// list is several values of a form, separated by commas; none is empty text.
func list(each form[string]) form[[]string] {
	return form[[]string]{
		kind:    Addresses,
		allowed: "a list of " + each.allowed,
		parse: func(s string) ([]string, error) {
			if s == "" {
				return nil, nil
			}
			var out []string
			for part := range strings.SplitSeq(s, ",") {
				v, err := each.parse(strings.TrimSpace(part))
				if err != nil {
					return nil, err
				}
				out = append(out, v)
			}
			return out, nil
		},
		format: func(v []string) string { return strings.Join(v, ",") },
	}
}

// optional lets a text be empty.
func optional(f form[string]) form[string] {
	parse := f.parse
	f.parse = func(s string) (string, error) {
		if s == "" {
			return "", nil
		}
		return parse(s)
	}
	return f
}

// orAuto adds the value auto, which is zero until complete replaces it.
func orAuto[T int | int64](f form[T]) form[T] {
	parse := f.parse
	f.allowed += ", or auto"
	f.parse = func(s string) (T, error) {
		if s == auto {
			return 0, nil
		}
		v, err := parse(s)
		if err != nil {
			return 0, want(f.allowed)
		}
		return v, nil
	}
	return f
}

func choice(values ...string) form[string] {
	last := len(values) - 1
	allowed := strings.Join(values[:last], ", ") + " or " + values[last]
	return form[string]{
		kind:    Choice,
		allowed: allowed,
		parse: func(s string) (string, error) {
			if !slices.Contains(values, s) {
				return "", want(allowed)
			}
			return s, nil
		},
		format: same,
	}
}

func number(least, most int) form[int] {
	allowed := fmt.Sprintf("%d to %d", least, most)
	return form[int]{
		kind:    Number,
		allowed: allowed,
		parse: func(s string) (int, error) {
			n, err := strconv.Atoi(s)
			if err != nil || n < least || n > most {
				return 0, want(allowed)
			}
			return n, nil
		},
		format: strconv.Itoa,
	}
}

func span(least, most time.Duration) form[time.Duration] {
	allowed := fmt.Sprintf("%s to %s", formatSpan(least), formatSpan(most))
	return form[time.Duration]{
		kind:    Span,
		allowed: allowed,
		parse: func(s string) (time.Duration, error) {
			d, err := time.ParseDuration(s)
			if err != nil || d < least || d > most {
				return 0, want(allowed)
			}
			return d, nil
		},
		format: formatSpan,
	}
}

// formatSpan writes 5m0s as 5m and 24h0m0s as 24h.
func formatSpan(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func size(least, most int64) form[int64] {
	allowed := fmt.Sprintf("%s to %s, as 512MB or 2GiB", formatSize(least), formatSize(most))
	return form[int64]{
		kind:    Size,
		allowed: allowed,
		parse: func(s string) (int64, error) {
			n, ok := parseSize(s)
			if !ok || n < least || n > most {
				return 0, want(allowed)
			}
			return n, nil
		},
		format: formatSize,
	}
}

var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"PiB", 1 << 50},
	{"PB", 1e15},
	{"TiB", 1 << 40},
	{"TB", 1e12},
	{"GiB", 1 << 30},
	{"GB", 1e9},
	{"MiB", 1 << 20},
	{"MB", 1e6},
	{"KiB", 1 << 10},
	{"KB", 1e3},
	{"B", 1},
}

// parseSize reads a whole number of bytes or of a unit.
func parseSize(s string) (int64, bool) {
	unit := int64(1)
	for _, u := range sizeUnits {
		if digits, ok := strings.CutSuffix(s, u.name); ok {
			s, unit = strings.TrimRight(digits, " "), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return 0, false
	}
	return n * unit, true
}

// formatSize writes a number of bytes in the greatest unit that it is a whole
// number of.
func formatSize(n int64) string {
	if n != 0 {
		for _, u := range sizeUnits {
			if n%u.bytes == 0 {
				return strconv.FormatInt(n/u.bytes, 10) + u.name
			}
		}
	}
	return strconv.FormatInt(n, 10)
}

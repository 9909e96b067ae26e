package telemetry

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFormat(t *testing.T) {
	for _, tt := range []struct {
		name     string
		terminal bool
		options  Options
		json     bool
		colour   bool
	}{
		{"a machine reads JSON", false, Options{Color: true}, true, false},
		{"a terminal shows text in colours", true, Options{Color: true}, false, true},
		{"a terminal shows no colours that are off", true, Options{}, false, false},
		{"a terminal shows the JSON that was asked for", true, Options{Format: JSON, Color: true}, true, false},
		{"a file gets the text that was asked for, without colours", false, Options{Format: Text, Color: true}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			slog.New(newHandler(&out, tt.terminal, tt.options)).Info("table created", "table", "demo.flights")
			if got := json.Valid(out.Bytes()); got != tt.json {
				t.Errorf("JSON is %v: %s", got, out.String())
			}
			if got := strings.Contains(out.String(), "\x1b["); got != tt.colour {
				t.Errorf("colour is %v: %q", got, out.String())
			}
			if !strings.Contains(out.String(), "table created") || !strings.Contains(out.String(), "demo.flights") {
				t.Errorf("message or attribute is missing: %s", out.String())
			}
		})
	}
}

func TestSetup(t *testing.T) {
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	var out bytes.Buffer
	l := Setup(&out, Options{Level: slog.LevelWarn})
	l.Info("not this")
	slog.Warn("but this")
	if s := out.String(); strings.Contains(s, "not this") || !strings.Contains(s, "but this") {
		t.Errorf("logged %q", s)
	}
}

func TestAFileIsNoTerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if isTerminal(f) || isTerminal(&bytes.Buffer{}) {
		t.Error("taken for a terminal")
	}
}

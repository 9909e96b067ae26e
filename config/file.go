package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lakeward/lake/fault"
)

// fileBytesMax bounds a configuration file.
const fileBytesMax = 1 << 20

// readFile returns what a YAML file sets as text by key. It holds one mapping,
// of keys that occur once to scalars or lists of scalars.
func readFile(file string) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fault.Newf(fault.Invalid, "configuration file: %v; name one that exists with --config or %s", err, FileEnv)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, fileBytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration file: %w", err)
	}
	if len(raw) > fileBytesMax {
		return nil, fault.Newf(fault.Invalid, "configuration file %s is over %s", file, formatSize(fileBytesMax))
	}
	values, err := parseFile(raw)
	if err != nil {
		return nil, fault.Newf(fault.Invalid, "configuration file %s: %v", file, err)
	}
	return values, nil
}

func parseFile(raw []byte) (map[string]string, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	values := map[string]string{}
	if doc.Kind == 0 {
		return values, nil // nothing but comments
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: write settings as key: value", top.Line)
	}
	for i := 0; i < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		if _, ok := values[key.Value]; ok {
			return nil, fmt.Errorf("line %d: %.80q is set a second time; keep one", key.Line, key.Value)
		}
		text, ok := scalars(value)
		if !ok {
			return nil, fmt.Errorf("line %d: %.80q has no single value or list of values", value.Line, key.Value)
		}
		values[key.Value] = text
	}
	return values, nil
}

// scalars returns a scalar's text, or that of a list of scalars, with commas.
func scalars(n *yaml.Node) (string, bool) {
	switch n.Kind {
	case yaml.ScalarNode:
		return n.Value, n.ShortTag() != "!!null"
	case yaml.SequenceNode:
		var parts []string
		for _, c := range n.Content {
			if c.Kind != yaml.ScalarNode || strings.Contains(c.Value, ",") {
				return "", false
			}
			parts = append(parts, c.Value)
		}
		return strings.Join(parts, ","), true
	}
	return "", false
}

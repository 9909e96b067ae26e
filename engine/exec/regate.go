package exec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// regate puts the text that is about to be bound through the gate once more,
// and wants it to read the given views and nothing else: what runs is what the
// gate has read, not only made from it.
func regate(sql, parsed string, views []view) (*tree, error) {
	t, err := readTree(sql, []byte(parsed))
	if err != nil {
		return nil, fmt.Errorf("the regenerated statement: %w", err)
	}
	r := resolver{views: map[string]bool{}}
	for _, v := range views {
		r.views[v.Name] = true
	}
	if _, err := r.query(t.node, nil, &scope{}); err != nil {
		return nil, fmt.Errorf("the regenerated statement: %w", err)
	}
	return t, nil
}

// relocate turns the position in a failure of the regenerated text into the
// one in the caller's text: both trees have the same shape, and each node says
// where it stood.
func relocate(err error, again *tree, original json.RawMessage) error {
	f, ok := errors.AsType[*failure](err)
	if !ok || f.Position < 0 {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(original))
	d.UseNumber()
	var root map[string]any
	if d.Decode(&root) != nil {
		return err
	}
	moved := *f
	moved.Position = -1
	if p, ok := sameNode(again.root, root, json.Number(fmt.Sprint(f.Position))); ok {
		moved.Position = p
	}
	return &moved
}

// locationKey is where a node says its position; nowhere is that of a node
// which the parser made up.
const (
	locationKey = "query_location"
	nowhere     = json.Number("18446744073709551615")
)

// sameNode finds the node of a that stands at position at, and returns the
// position of its counterpart in b.
func sameNode(a, b any, at json.Number) (int, bool) {
	switch a := a.(type) {
	case []any:
		b, _ := b.([]any)
		for i := range min(len(a), len(b)) {
			if p, ok := sameNode(a[i], b[i], at); ok {
				return p, true
			}
		}
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			return 0, false
		}
		if there, ok := b[locationKey].(json.Number); ok && a[locationKey] == at && there != nowhere {
			if p, err := there.Int64(); err == nil {
				return int(p), true
			}
		}
		for _, k := range slices.Sorted(maps.Keys(a)) {
			if p, ok := sameNode(a[k], b[k], at); ok {
				return p, true
			}
		}
	}
	return 0, false
}

package sdk

import (
	"context"
	"time"

	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/flight/wire/wirepb"
)

// Contents is how much a table's present version holds.
type Contents struct {
	Table Table
	Rows  int64 // -1 if another writer of the table has not said it
	Files int64
	Bytes int64
}

// Contents returns a table and how much it holds, without reading its rows.
func (c *Client) Contents(ctx context.Context, name string) (Contents, error) {
	var p wirepb.Contents
	err := c.action(ctx, wire.GetContents, &wirepb.GetContents{Table: name}, func(b []byte) error { return wire.Decode(b, &p) })
	if err != nil {
		return Contents{}, err
	}
	t, err := decodeTable(p.GetTable())
	return Contents{Table: t, Rows: p.GetRows(), Files: p.GetFiles(), Bytes: p.GetBytes()}, err
}

// A Change is what made a version of a table.
type Change struct {
	Version   int64
	Time      time.Time // zero if not known
	Operation string    // in the words of the table's format
	OpID      string    // the operation's id; empty if it was not lake's
	Rows      int64     // that it added; -1 if not known
}

// History returns what made a table's newest versions, newest first and limit
// at most, from 1 to 1000.
func (c *Client) History(ctx context.Context, name string, limit int) ([]Change, error) {
	var p wirepb.History
	req := &wirepb.GetHistory{Table: name, Limit: int64(limit)}
	err := c.action(ctx, wire.GetHistory, req, func(b []byte) error { return wire.Decode(b, &p) })
	if err != nil {
		return nil, err
	}
	out := make([]Change, len(p.GetChanges()))
	for i, ch := range p.GetChanges() {
		out[i] = Change{Version: ch.GetVersion(), Operation: ch.GetOperation(), OpID: ch.GetOp(), Rows: ch.GetRows()}
		if ms := ch.GetTime(); ms != 0 {
			out[i].Time = time.UnixMilli(ms).UTC()
		}
	}
	return out, nil
}

package control

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/wire"
	"github.com/lakeward/lake/flight/wire/wirepb"
	"github.com/lakeward/lake/ident"
)

func (s *Server) contents(ctx context.Context, body []byte, send func(proto.Message) error) error {
	var r wirepb.GetContents
	if err := wire.Decode(body, &r); err != nil {
		return err
	}
	t, err := ident.ParseTable(r.GetTable())
	if err != nil {
		return err
	}
	reg, c, err := s.authority.Contents(ctx, t)
	if err != nil {
		return err
	}
	return send(&wirepb.Contents{Table: encodeTable(reg), Rows: c.Rows, Files: c.Files, Bytes: c.Bytes})
}

var errLimit = fault.Newf(fault.Invalid, "a history has 1 to %d versions; give --limit in between", wire.HistoryMax)

func (s *Server) history(ctx context.Context, body []byte, send func(proto.Message) error) error {
	var r wirepb.GetHistory
	if err := wire.Decode(body, &r); err != nil {
		return err
	}
	t, err := ident.ParseTable(r.GetTable())
	if err != nil {
		return err
	}
	if n := r.GetLimit(); n < 1 || n > wire.HistoryMax {
		return errLimit
	}
	changes, err := s.authority.History(ctx, t, int(r.GetLimit()))
	if err != nil {
		return err
	}
	out := &wirepb.History{}
	for _, c := range changes {
		p := &wirepb.Change{Version: int64(c.Version), Operation: c.Operation, Rows: c.Rows}
		if !c.Time.IsZero() {
			p.Time = c.Time.UnixMilli()
		}
		if c.Op != (ident.OperationID{}) {
			p.Op = c.Op.String()
		}
		out.Changes = append(out.Changes, p)
	}
	return send(out)
}

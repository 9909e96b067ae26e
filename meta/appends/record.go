package appends

import (
	"fmt"
	"strings"
	"time"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta"
	"github.com/lakeward/lake/meta/appends/appendspb"
)

var errRecord = fault.New(fault.Corrupt, "an operation's record does not decode; restore the metastore from a backup")

func encode(o Operation) ([]byte, error) {
	return meta.Encode(formatNumber, &appendspb.Operation{
		State:          appendspb.State(o.State),
		Digest:         o.Digest[:],
		Tenant:         string(o.Tenant),
		Base:           int64(o.Base),
		Version:        int64(o.Version),
		Rows:           o.Rows,
		ReservedUnixMs: o.ReservedAt.UnixMilli(),
	})
}

func decode(i ident.Incarnation, id ident.OperationID, b []byte) (Operation, error) {
	var p appendspb.Operation
	if err := meta.Decode("the record of operation "+id.String(), formatNumber, b, &p); err != nil {
		return Operation{}, err
	}
	o := Operation{
		Incarnation: i,
		ID:          id,
		Base:        ident.Version(p.GetBase()),
		Version:     ident.Version(p.GetVersion()),
		Rows:        p.GetRows(),
		ReservedAt:  time.UnixMilli(p.GetReservedUnixMs()),
		stored:      b,
	}
	switch p.GetState() {
	case appendspb.State_STATE_RESERVED:
		o.State = Reserved
	case appendspb.State_STATE_DONE:
		o.State = Done
	default:
		return Operation{}, fmt.Errorf("operation %s is in state %d: %w", id, p.GetState(), errRecord)
	}
	if copy(o.Digest[:], p.GetDigest()) != len(o.Digest) {
		return Operation{}, fmt.Errorf("operation %s has no digest: %w", id, errRecord)
	}
	var err error
	if o.Tenant, err = ident.ParseTenant(p.GetTenant()); err != nil {
		return Operation{}, fmt.Errorf("operation %s: %w: %v", id, errRecord, err)
	}
	return o, nil
}

func splitKey(key string) (ident.Incarnation, ident.OperationID, error) {
	i, id, _ := strings.Cut(strings.TrimPrefix(key, opPrefix), "/")
	inc, err := ident.ParseIncarnation(i)
	if err != nil {
		return "", ident.OperationID{}, fmt.Errorf("%w: %v", errRecord, err)
	}
	op, err := ident.ParseOperation(id)
	if err != nil {
		return "", ident.OperationID{}, fmt.Errorf("%w: %v", errRecord, err)
	}
	return inc, op, nil
}

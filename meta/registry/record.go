package registry

import (
	"fmt"
	"strings"
	"time"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/meta"
	"github.com/lakeward/lake/meta/registry/registrypb"
)

func encode(r Registration) ([]byte, error) {
	return meta.Encode(formatNumber, &registrypb.Registration{
		Incarnation:   string(r.Incarnation),
		Engine:        r.Engine,
		Location:      r.Location,
		Version:       int64(r.Version),
		Schema:        r.Schema,
		NextFieldId:   int32(r.NextFieldID),
		Tenant:        string(r.Tenant),
		CreatedBy:     r.CreatedBy.String(),
		CreatedDigest: r.CreatedFor[:],
		CreatedUnixMs: r.CreatedAt.UnixMilli(),
	})
}

func decode(t ident.Table, b []byte) (Registration, error) {
	var p registrypb.Registration
	what := "the registration of " + t.String()
	if err := meta.Decode(what, formatNumber, b, &p); err != nil {
		return Registration{}, err
	}
	r := Registration{
		Table:       t,
		Engine:      p.GetEngine(),
		Location:    p.GetLocation(),
		Version:     ident.Version(p.GetVersion()),
		Schema:      p.GetSchema(),
		NextFieldID: int(p.GetNextFieldId()),
		CreatedAt:   time.UnixMilli(p.GetCreatedUnixMs()),
		stored:      b,
	}
	var errs [3]error
	r.Incarnation, errs[0] = ident.ParseIncarnation(p.GetIncarnation())
	r.Tenant, errs[1] = ident.ParseTenant(p.GetTenant())
	r.CreatedBy, errs[2] = ident.ParseOperation(p.GetCreatedBy())
	for _, err := range errs {
		if err != nil {
			return Registration{}, fmt.Errorf("%w: %v", fault.Newf(fault.Corrupt, "%s does not decode; restore the metastore from a backup", what), err)
		}
	}
	if copy(r.CreatedFor[:], p.GetCreatedDigest()) != len(r.CreatedFor) {
		return Registration{}, fault.Newf(fault.Corrupt, "%s has no digest; restore the metastore from a backup", what)
	}
	return r, nil
}

func splitKey(key string) (ident.Namespace, string, error) {
	ns, name, ok := strings.Cut(strings.TrimPrefix(key, tablePrefix), "/")
	t, err := ident.NewTable(ns, name)
	if !ok || err != nil || tableKey(t) != key {
		return "", "", fault.New(fault.Corrupt, "the metastore has a table under a name that is not valid; restore it from a backup")
	}
	return t.Namespace, t.Name, nil
}

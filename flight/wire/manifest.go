package wire

import (
	"iter"

	"google.golang.org/protobuf/proto"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/wire/wirepb"
	"github.com/lakeward/lake/ident"
)

// partBytes is the size at which a manifest's next part begins. One file's
// statistics are far below what is left to MessageBytesMax.
const partBytes = 1 << 20

// Parts returns a manifest as messages of bounded size, the last one marked.
func Parts(m engine.Manifest) iter.Seq[*wirepb.ManifestPart] {
	return func(yield func(*wirepb.ManifestPart) bool) {
		part, bytes := &wirepb.ManifestPart{}, 0
		for _, f := range m.Files {
			p := encodeFile(f)
			n := proto.Size(p)
			if bytes > 0 && bytes+n > partBytes {
				if !yield(part) {
					return
				}
				part, bytes = &wirepb.ManifestPart{}, 0
			}
			part.Files = append(part.Files, p)
			bytes += n
		}
		part.Last = true
		yield(part)
	}
}

var (
	errManifestBytes = fault.Newf(fault.Exhausted, "the manifest is over %d bytes; load fewer files at once", engine.ManifestBytesMax)
	errManifestEnd   = fault.New(fault.Invalid, "the manifest ended before its last part; send it again")
	errManifestMore  = fault.New(fault.Invalid, "the manifest goes on after its last part; use a client of the same lake version")
)

// A ManifestReader puts a manifest together from its parts.
type ManifestReader struct {
	m     engine.Manifest
	bytes int
	last  bool
}

// Add takes the next part, as encoded.
func (r *ManifestReader) Add(b []byte) error {
	if r.last {
		return errManifestMore
	}
	if r.bytes += len(b); r.bytes > engine.ManifestBytesMax {
		return errManifestBytes
	}
	var part wirepb.ManifestPart
	if err := Decode(b, &part); err != nil {
		return err
	}
	for _, p := range part.GetFiles() {
		f, err := decodeFile(p)
		if err != nil {
			return err
		}
		r.m.Files = append(r.m.Files, f)
	}
	r.last = part.GetLast()
	return nil
}

// Manifest returns the whole manifest, or an error if parts are missing.
func (r *ManifestReader) Manifest() (engine.Manifest, error) {
	if !r.last {
		return engine.Manifest{}, errManifestEnd
	}
	return r.m, nil
}

func encodeFile(f engine.File) *wirepb.File {
	p := &wirepb.File{Name: f.Name, Rows: f.Rows, Bytes: f.Bytes, Sha256: f.SHA256[:]}
	for _, s := range f.Stats {
		p.Stats = append(p.Stats, &wirepb.ColumnStats{Path: s.Path, Nulls: s.Nulls, Min: encodeValue(s.Min), Max: encodeValue(s.Max)})
	}
	return p
}

func decodeFile(p *wirepb.File) (engine.File, error) {
	f := engine.File{Name: p.GetName(), Rows: p.GetRows(), Bytes: p.GetBytes()}
	if f.Rows < 0 || f.Bytes < 0 || len(p.GetSha256()) != len(f.SHA256) {
		return f, fault.Newf(fault.Invalid, "the manifest's file %.80q has no valid size, row count or digest", f.Name)
	}
	f.SHA256 = ident.Digest(p.GetSha256())
	for _, s := range p.GetStats() {
		f.Stats = append(f.Stats, engine.ColumnStats{Path: s.GetPath(), Nulls: s.GetNulls(), Min: decodeValue(s.GetMin()), Max: decodeValue(s.GetMax())})
	}
	return f, nil
}

func encodeValue(v engine.Value) *wirepb.Value {
	switch v.Kind {
	case engine.BoolValue:
		return &wirepb.Value{Value: &wirepb.Value_Bool{Bool: v.Int != 0}}
	case engine.IntValue:
		return &wirepb.Value{Value: &wirepb.Value_Int{Int: v.Int}}
	case engine.FloatValue:
		return &wirepb.Value{Value: &wirepb.Value_Float{Float: v.Float}}
	case engine.TextValue:
		return &wirepb.Value{Value: &wirepb.Value_Text{Text: v.Text}}
	case engine.DecimalValue:
		return &wirepb.Value{Value: &wirepb.Value_Decimal{Decimal: v.Text}}
	case engine.DateValue:
		return &wirepb.Value{Value: &wirepb.Value_Date{Date: v.Int}}
	case engine.TimestampValue:
		return &wirepb.Value{Value: &wirepb.Value_Timestamp{Timestamp: v.Int}}
	}
	return nil
}

func decodeValue(p *wirepb.Value) engine.Value {
	switch v := p.GetValue().(type) {
	case *wirepb.Value_Bool:
		out := engine.Value{Kind: engine.BoolValue}
		if v.Bool {
			out.Int = 1
		}
		return out
	case *wirepb.Value_Int:
		return engine.Value{Kind: engine.IntValue, Int: v.Int}
	case *wirepb.Value_Float:
		return engine.Value{Kind: engine.FloatValue, Float: v.Float}
	case *wirepb.Value_Text:
		return engine.Value{Kind: engine.TextValue, Text: v.Text}
	case *wirepb.Value_Decimal:
		return engine.Value{Kind: engine.DecimalValue, Text: v.Decimal}
	case *wirepb.Value_Date:
		return engine.Value{Kind: engine.DateValue, Int: v.Date}
	case *wirepb.Value_Timestamp:
		return engine.Value{Kind: engine.TimestampValue, Int: v.Timestamp}
	}
	return engine.Value{}
}

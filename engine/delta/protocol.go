package delta

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
)

// featureNTZ is the table feature of timestamps without a zone.
const featureNTZ = "timestampNtz"

// Features that ask nothing of a reader, or nothing as long as a table does not
// make use of them, which is looked for where it would show.
var readerFeatures = []string{featureNTZ, "timestampWithoutTimezone", "columnMapping", "deletionVectors", "v2Checkpoint", "vacuumProtocolCheck"}

// Features that ask nothing of an appender, or nothing as long as a table does
// not make use of them.
var writerFeatures = append([]string{
	"appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns",
	"identityColumns", "allowColumnDefaults", "inCommitTimestamp", "domainMetadata",
}, readerFeatures...)

// Protocol versions. From readerListed and writerListed on, a table lists its
// features.
const (
	readerListed = 3
	writerListed = 7
)

// checkReadable refuses a table that this reader could misread.
func checkReadable(p *protocol, m *metaData) error {
	switch {
	case p == nil:
		return fault.New(fault.Corrupt, "the table's log has no protocol")
	case m == nil:
		return fault.New(fault.Corrupt, "the table's log has no metaData")
	case p.MinReader < 1 || p.MinWriter < 1:
		return fault.New(fault.Corrupt, "the table's protocol has no versions")
	case p.MinReader > readerListed:
		return fault.Detail(engine.ErrUnsupported, "the table needs Delta reader version %d, and this lake has %d; upgrade it", p.MinReader, readerListed)
	case p.MinReader < readerListed && len(p.ReaderFeatures) > 0:
		return fault.Newf(fault.Corrupt, "the table's protocol lists reader features at reader version %d", p.MinReader)
	case m.Format.Provider != "" && m.Format.Provider != "parquet":
		return fault.Detail(engine.ErrUnsupported, "the table's data files are %.40q; only parquet can be read", m.Format.Provider)
	case len(m.PartitionColumns) > 0:
		return fault.Detail(engine.ErrUnsupported, "the table is partitioned by %.80q, which cannot be read yet; rewrite it without partitions", strings.Join(m.PartitionColumns, ", "))
	}
	if f := unknown(p.ReaderFeatures, readerFeatures); f != "" {
		return fault.Detail(engine.ErrUnsupported, "the table uses the Delta feature %.80q, which cannot be read yet; turn it off", f)
	}
	if mode := m.Configuration["delta.columnMapping.mode"]; mode != "" && mode != "none" && p.MinReader >= 2 {
		return fault.Detail(engine.ErrUnsupported, "the table uses the Delta feature columnMapping (mode %.20q), which cannot be read yet; rewrite it without", mode)
	}
	return nil
}

// checkAppendable refuses to append to a table whose rules this writer would
// break. fields are its top-level columns.
func checkAppendable(p *protocol, m *metaData, fields []deltaField) error {
	if p.MinWriter > writerListed {
		return refuseAppend("needs Delta writer version %d", p.MinWriter)
	}
	if f := unknown(p.WriterFeatures, writerFeatures); f != "" {
		return refuseAppend("uses the Delta feature %.80q", f)
	}
	for key, value := range m.Configuration {
		switch {
		case strings.HasPrefix(key, "delta.constraints."):
			return refuseAppend("has the check constraint %.80q", strings.TrimPrefix(key, "delta.constraints."))
		case key == "delta.enableInCommitTimestamps" && value == "true",
			key == "delta.enableRowTracking" && value == "true",
			strings.HasPrefix(key, "delta.enableIcebergCompat") && value == "true":
			return refuseAppend("sets %s", key)
		}
	}
	for _, f := range fields {
		if key := activeRule(f); key != "" {
			return refuseAppend("has a rule on column %.80q (%s)", f.Name, key)
		}
	}
	return nil
}

// activeRule returns the metadata key of a rule that a writer of a column, or of
// a field below it, would have to follow.
func activeRule(f deltaField) string {
	for key := range f.Metadata {
		if key == "delta.invariants" || key == "delta.generationExpression" || key == "CURRENT_DEFAULT" || strings.HasPrefix(key, "delta.identity.") {
			return key
		}
	}
	var s deltaStruct
	if json.Unmarshal(f.Type, &s) == nil && s.Type == "struct" {
		for _, c := range s.Fields {
			if key := activeRule(c); key != "" {
				return key
			}
		}
	}
	return ""
}

func refuseAppend(format string, args ...any) error {
	return fault.Detail(engine.ErrUnsupported, "the table "+format+", which this lake cannot write to; it stays readable", args...)
}

// unknown returns the first of the features that is not known, or "".
func unknown(features, known []string) string {
	for _, f := range features {
		if !slices.Contains(known, f) {
			return f
		}
	}
	return ""
}

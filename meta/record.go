package meta

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/lakeward/lake/fault"
)

// Encode returns a record as it is stored: the format number, then m. The
// bytes of equal messages are equal, so that they can be guards.
func Encode(format byte, m proto.Message) ([]byte, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend([]byte{format}, m)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", m, err)
	}
	return b, nil
}

// Decode reads a record of the given format into m. What names the record to
// an operator; a format of later software is refused by number.
func Decode(what string, format byte, b []byte, m proto.Message) error {
	switch {
	case len(b) == 0:
		return fault.Newf(fault.Corrupt, "%s is empty in the metastore; restore it from a backup", what)
	case b[0] != format:
		return fault.Newf(fault.Unsupported, "%s has format %d in the metastore and this lake reads %d; run the lake that wrote it, or a newer one", what, b[0], format)
	}
	if err := proto.Unmarshal(b[1:], m); err != nil {
		return fmt.Errorf("%w: %v", fault.Newf(fault.Corrupt, "%s does not decode; restore the metastore from a backup", what), err)
	}
	return nil
}

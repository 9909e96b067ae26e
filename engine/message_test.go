package engine

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// Tables of a message may be shared. Thirty structs, each of which has the one
// below it as both of its fields, are a thousand million fields in two thousand
// bytes.
func TestVerifySchemaCountsSharedTables(t *testing.T) {
	const deep = 30
	typ := arrow.DataType(arrow.PrimitiveTypes.Int8)
	for range deep {
		typ = arrow.StructOf(arrow.Field{Name: "a", Type: typ}, arrow.Field{Name: "b", Type: arrow.PrimitiveTypes.Int8})
	}
	b := EncodeSchema(arrow.NewSchema([]arrow.Field{{Name: "c", Type: typ}}, nil))
	if err := VerifySchema(b); err != nil {
		t.Fatal(err)
	}
	v := schemaVerifier{b: b[8:]}
	schema := v.at(v.at(0).field(messageHeader))
	for at := schema.field(schemaFields); ; {
		n, first := v.vector(at, 4)
		if n == 0 {
			break
		}
		child := v.at(first)
		if n == 2 { // the second field is the first
			binary.LittleEndian.PutUint32(v.b[first+4:], uint32(child.pos-(first+4)))
		}
		at = child.field(fieldChildren)
	}
	if err := VerifySchema(b); !errors.Is(err, errSchemaBytes) {
		t.Errorf("VerifySchema = %v", err)
	}
	if _, err := DecodeSchema(b); !errors.Is(err, errSchemaBytes) {
		t.Errorf("DecodeSchema = %v", err)
	}
}

package engine

import (
	"encoding/binary"
	"fmt"
)

// Places of what is read of an Arrow IPC message: slots of its flatbuffers
// tables (Message.fbs and Schema.fbs of the format).
const (
	messageHeaderType = 1
	messageHeader     = 2
	messageBodyLength = 3
	headerIsSchema    = 1

	schemaFields   = 1
	schemaMetadata = 2

	fieldName     = 0
	fieldTypeKind = 2
	fieldType     = 3
	fieldChildren = 5
	fieldMetadata = 6
	typeIsUnion   = 14
	unionTypeIDs  = 1
)

// VerifySchema checks that bytes from outside are one Arrow IPC schema message
// that states no more than it holds. arrow-go believes the lengths in a message
// and the process then dies for lack of memory, which nothing can recover from.
func VerifySchema(b []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errSchemaBytes, p)
		}
	}()
	const continuation = 0xFFFFFFFF
	n := binary.LittleEndian.Uint32(b)
	b = b[4:]
	if n == continuation {
		n = binary.LittleEndian.Uint32(b)
		b = b[4:]
	}
	if n < 8 || uint64(n) > uint64(len(b)) {
		return fmt.Errorf("%w: a message of %d bytes in %d", errSchemaBytes, n, len(b))
	}
	v := schemaVerifier{b: b[:n], left: len(b)}
	message := v.at(0)
	if k := message.field(messageHeaderType); k == 0 || v.b[k] != headerIsSchema {
		return fmt.Errorf("%w: another kind of message", errSchemaBytes)
	}
	if p := message.field(messageBodyLength); p != 0 && binary.LittleEndian.Uint64(v.b[p:]) != 0 {
		return fmt.Errorf("%w: a schema with a body", errSchemaBytes)
	}
	header := message.field(messageHeader)
	if header == 0 {
		return fmt.Errorf("%w: no schema", errSchemaBytes)
	}
	schema := v.at(header)
	v.fields(schema.field(schemaFields), 0)
	v.metadata(schema.field(schemaMetadata))
	return nil
}

// A schemaVerifier walks the tables of a message. What does not fit panics, as
// an index out of range does. Tables may be shared, so that a few bytes could
// stand for any number of fields: what is walked is counted against the bytes.
type schemaVerifier struct {
	b    []byte
	left int
}

// flatTable is the place of a flatbuffers table.
type flatTable struct {
	v   *schemaVerifier
	pos int
}

// at returns the table that the offset at p leads to.
func (v *schemaVerifier) at(p int) flatTable { return flatTable{v, v.indirect(p)} }

func (v *schemaVerifier) indirect(p int) int {
	q := p + int(binary.LittleEndian.Uint32(v.b[p:]))
	_ = v.b[q]
	return q
}

// field returns where a table has the field of a slot, or 0 if it has none.
func (t flatTable) field(slot int) int {
	vtable := t.pos - int(int32(binary.LittleEndian.Uint32(t.v.b[t.pos:])))
	size := int(binary.LittleEndian.Uint16(t.v.b[vtable:]))
	if at := 4 + 2*slot; at < size { // as flatbuffers has it, of odd sizes too
		if offset := int(binary.LittleEndian.Uint16(t.v.b[vtable+at:])); offset != 0 {
			return t.pos + offset
		}
	}
	return 0
}

// vector returns the length and the first element of the vector at p, whose
// elements have a size, after it has made sure that they are there.
func (v *schemaVerifier) vector(p, size int) (n, first int) {
	if p == 0 {
		return 0, 0
	}
	p = v.indirect(p)
	n = int(binary.LittleEndian.Uint32(v.b[p:]))
	first = p + 4
	if n > (len(v.b)-first)/size {
		panic(fmt.Sprintf("a vector of %d in %d bytes", n, len(v.b)))
	}
	return n, first
}

// spend counts what was walked.
func (v *schemaVerifier) spend(n int) {
	if v.left -= n; v.left < 0 {
		panic("more fields than bytes")
	}
}

func (v *schemaVerifier) fields(p, depth int) {
	if depth > 2*nestingMax { // an Arrow map is two deep
		panic("nested too deep")
	}
	n, first := v.vector(p, 4)
	for i := range n {
		v.spend(8)
		f := v.at(first + 4*i)
		if name := f.field(fieldName); name != 0 {
			n, _ := v.vector(name, 1)
			v.spend(n)
		}
		if kind := f.field(fieldTypeKind); kind != 0 && v.b[kind] == typeIsUnion {
			if typ := f.field(fieldType); typ != 0 {
				n, _ := v.vector(v.at(typ).field(unionTypeIDs), 4)
				v.spend(4 * n)
			}
		}
		v.metadata(f.field(fieldMetadata))
		v.fields(f.field(fieldChildren), depth+1)
	}
}

func (v *schemaVerifier) metadata(p int) {
	n, first := v.vector(p, 4)
	for i := range n {
		v.spend(8)
		pair := v.at(first + 4*i)
		for slot := range 2 {
			if text := pair.field(slot); text != 0 {
				n, _ := v.vector(text, 1)
				v.spend(n)
			}
		}
	}
}

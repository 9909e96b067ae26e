package exec

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// toDictionary encodes plain values. The dictionary is that of one batch, in
// the order of first use; so types that promise an order are not rebuilt.
func toDictionary(from arrow.DataType, to *arrow.DictionaryType) (recast, bool) {
	if _, ok := from.(*arrow.DictionaryType); ok || to.Ordered {
		return nil, false
	}
	values, ok := recastTo(from, to.ValueType)
	if !ok {
		return nil, false
	}
	width := 0 // of a value in bytes; 0 for texts
	switch t := from.(type) {
	case *arrow.StringType, *arrow.BinaryType:
	case *arrow.BooleanType:
		return nil, false
	case arrow.FixedWidthDataType:
		width = t.Bytes()
	default:
		return nil, false
	}
	indexBytes := to.IndexType.(arrow.FixedWidthDataType).Bytes()
	most := uint64(1)<<(8*indexBytes-1) - 1 // a signed index; an unsigned one could have twice that
	return func(d arrow.ArrayData) (arrow.ArrayData, error) {
		var value func(i int) []byte
		if width == 0 {
			value = bytesOf(d)
		} else {
			b := d.Buffers()[1].Bytes()
			value = func(i int) []byte { return b[i*width : (i+1)*width] }
		}
		index := make([]byte, d.Len()*indexBytes)
		seen := map[string]uint64{}
		var distinct [][]byte
		valid := validity(d)
		for i := range d.Len() {
			if !valid(i) {
				continue
			}
			v := value(i)
			k, ok := seen[string(v)]
			if !ok {
				if k = uint64(len(distinct)); k > most {
					return nil, errDictionaryFull
				}
				seen[string(v)] = k
				distinct = append(distinct, v)
			}
			var le [8]byte
			binary.LittleEndian.PutUint64(le[:], k)
			copy(index[i*indexBytes:(i+1)*indexBytes], le[:])
		}
		plain := valuesData(from, width, distinct)
		defer plain.Release()
		dict, err := values(plain)
		if err != nil {
			return nil, err
		}
		defer dict.Release()
		out := array.NewData(to, d.Len(), []*memory.Buffer{d.Buffers()[0], memory.NewBufferBytes(index)}, nil, d.NullN(), 0)
		out.SetDictionary(dict)
		return out, nil
	}, true
}

// valuesData is an array of the values, none null.
func valuesData(t arrow.DataType, width int, values [][]byte) arrow.ArrayData {
	var data []byte
	offsets := make([]byte, 4, 4*(len(values)+1))
	for _, v := range values {
		data = append(data, v...)
		offsets = binary.LittleEndian.AppendUint32(offsets, uint32(len(data)))
	}
	buffers := []*memory.Buffer{nil, memory.NewBufferBytes(data)}
	if width == 0 {
		buffers = []*memory.Buffer{nil, memory.NewBufferBytes(offsets), memory.NewBufferBytes(data)}
	}
	return array.NewData(t, len(values), buffers, nil, 0, 0)
}

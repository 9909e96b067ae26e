package engine_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
)

// frame is a message as Flight carries it.
type frame struct{ header, body []byte }

type frames []frame

func (f *frames) Send(d *arrowflight.FlightData) error {
	*f = append(*f, frame{append([]byte{}, d.DataHeader...), append([]byte{}, d.DataBody...)})
	return nil
}

// batchFrames are the messages of a batch with a dictionary: schema, dictionary, rows.
func batchFrames(t testing.TB, o ...ipc.Option) frames {
	t.Helper()
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "d", Type: typ, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range 5 {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		if err := b.Field(1).(*array.BinaryDictionaryBuilder).AppendString(strings.Repeat("x", i)); err != nil {
			t.Fatal(err)
		}
	}
	b.Field(0).AppendNull()
	b.Field(1).AppendNull()
	batch := b.NewRecordBatch()
	defer batch.Release()
	var out frames
	w := arrowflight.NewRecordWriter(&out, append(o, ipc.WithSchema(schema))...)
	if err := w.Write(batch); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestVerifyBatchReadsWhatAMessageSays(t *testing.T) {
	f := batchFrames(t)
	if h, err := engine.VerifyBatch(f[1].header, len(f[1].body)); err != nil || !h.Dictionary || h.Delta {
		t.Errorf("a dictionary: %+v (%v)", h, err)
	}
	if h, err := engine.VerifyBatch(f[2].header, len(f[2].body)); err != nil || h.Dictionary || h.Rows != 6 {
		t.Errorf("rows: %+v (%v)", h, err)
	}
}

func TestBodyBytes(t *testing.T) {
	for i, f := range batchFrames(t) {
		if n, err := engine.BodyBytes(f.header); err != nil || n != int64(len(f.body)) {
			t.Errorf("message %d: %d (%v), want %d", i, n, err, len(f.body))
		}
	}
	if _, err := engine.BodyBytes([]byte("not a message")); fault.KindOf(err) != fault.Invalid {
		t.Errorf("of no message: %v", err)
	}
}

func TestVerifyBatchRefuses(t *testing.T) {
	plain, packed := batchFrames(t), batchFrames(t, ipc.WithZstd())
	// The number of rows lies in the header as it is.
	rows := append([]byte{}, plain[2].header...)
	changed := 0
	for i := 0; i+8 <= len(rows); i++ {
		if binary.LittleEndian.Uint64(rows[i:]) == 6 {
			binary.LittleEndian.PutUint64(rows[i:], 1<<40)
			changed++
		}
	}
	if changed == 0 {
		t.Fatal("the number of rows is not where it was looked for")
	}
	for _, tt := range []struct {
		name   string
		header []byte
		body   int
		kind   fault.Kind
	}{
		{"nothing", nil, 0, fault.Invalid},
		{"a few bytes", []byte{1, 2, 3, 4, 5, 6, 7, 8, 9}, 9, fault.Invalid},
		{"a schema", plain[0].header, 0, fault.Invalid},
		{"a body cut short", plain[2].header, len(plain[2].body) / 2, fault.Invalid},
		{"more rows than bits", rows, len(plain[2].body), fault.Invalid},
		{"compression", packed[2].header, len(packed[2].body), fault.Unsupported},
		{"a compressed dictionary", packed[1].header, len(packed[1].body), fault.Unsupported},
	} {
		if _, err := engine.VerifyBatch(tt.header, tt.body); err == nil || fault.KindOf(err) != tt.kind {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.kind)
		}
	}
}

func FuzzVerifyBatch(f *testing.F) {
	for _, m := range batchFrames(f) {
		f.Add(m.header, len(m.body))
	}
	f.Fuzz(func(t *testing.T, header []byte, body int) {
		h, err := engine.VerifyBatch(header, max(0, body))
		if err == nil && h.Rows > 8*int64(max(0, body)) {
			t.Errorf("%d rows in %d bytes", h.Rows, body)
		}
	})
}

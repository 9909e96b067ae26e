package sdk

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// FuzzArrowRows reads files that may be anything: an error or rows, and no more
// memory than the file has bytes.
func FuzzArrowRows(f *testing.F) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "d", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, Nullable: true},
	}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, bytes.NewReader([]byte(`[{"n":1,"s":"a","d":"x"},{"n":null,"s":null,"d":"y"}]`)))
	if err != nil {
		f.Fatal(err)
	}
	defer batch.Release()
	var stream, file bytes.Buffer
	sw := ipc.NewWriter(&stream, ipc.WithSchema(schema))
	fw, err := ipc.NewFileWriter(&file, ipc.WithSchema(schema))
	if err != nil {
		f.Fatal(err)
	}
	for _, w := range []interface {
		Write(arrow.RecordBatch) error
		Close() error
	}{sw, fw} {
		if err := w.Write(batch); err != nil {
			f.Fatal(err)
		}
		if err := w.Close(); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(stream.Bytes())
	f.Add(file.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		_, rows, done, err := arrowRows(t.Context(), bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		for _, err := range rows {
			if err != nil {
				break
			}
		}
		if err := done(); err != nil {
			t.Error(err)
		}
	})
}

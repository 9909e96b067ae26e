package exec

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeward/lake/fault"
)

// errDictionaryFull says that a batch has more values than its column's
// dictionary index can count: a smaller batch has fewer.
var errDictionaryFull = fault.New(fault.Internal, "more values than a dictionary index can count")

// A converter gives the columns of a result their registered types.
type converter struct {
	schema  *arrow.Schema
	columns []conversion // nil entries stay as they are
}

// A conversion rebuilds an array in another type that holds the same values,
// or fails. The caller releases the result.
type conversion func(arrow.Array) (arrow.Array, error)

// newConverter decides for each column of a result whether it can have its
// registered type. A column whose engine type is not the expected one keeps it.
func newConverter(result *arrow.Schema, st statement) (converter, error) {
	c := converter{columns: make([]conversion, result.NumFields())}
	fields := make([]arrow.Field, result.NumFields())
	for i, f := range result.Fields() {
		fields[i] = arrow.Field{Name: f.Name, Type: engineForm(f.Type), Nullable: true, Metadata: f.Metadata}
	}
	c.schema = arrow.NewSchema(fields, nil)
	return c, nil
}

// engineForm is the type under which a client sees a type of the engine.
func engineForm(t arrow.DataType) arrow.DataType { return t }

// convert returns the batch in the converter's schema. The caller releases it.
func (c converter) convert(b arrow.RecordBatch) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, len(c.columns))
	defer func() {
		for _, a := range columns {
			if a != nil {
				a.Release()
			}
		}
	}()
	for i, conv := range c.columns {
		if conv == nil {
			columns[i] = b.Column(i)
			columns[i].Retain()
			continue
		}
		var err error
		if columns[i], err = conv(b.Column(i)); err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(c.schema, columns, b.NumRows()), nil
}

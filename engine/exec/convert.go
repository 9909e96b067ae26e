package exec

import (
	"bytes"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeward/lake/engine"
)

// A converter gives the columns of a result their registered types.
type converter struct {
	schema  *arrow.Schema
	columns []recast // nil entries stay as they are
}

// newConverter decides for each column of a result whether it can have its
// registered type. A column stays as the engine gives it if its origin is not
// certain, or if the engine's type is not the one that its origin would have.
func newConverter(result *arrow.Schema, st statement) (converter, error) {
	exact, err := trustedSchema(st.Exact)
	if err != nil {
		return converter{}, err
	}
	stored, err := trustedSchema(st.Engine)
	if err != nil {
		return converter{}, err
	}
	origins := st.Origins
	if len(origins) != result.NumFields() {
		origins = nil
	}
	c := converter{columns: make([]recast, result.NumFields())}
	fields := make([]arrow.Field, result.NumFields())
	for i, f := range result.Fields() {
		fields[i] = arrow.Field{Name: st.Spelling.name(f.Name), Type: inUTC(f.Type), Nullable: true, Metadata: f.Metadata}
		if origins != nil && origins[i] >= 0 && engine.SameType(fields[i].Type, stored.Field(origins[i]).Type) {
			to := exact.Field(origins[i])
			if conv, ok := recastTo(f.Type, to.Type); ok {
				fields[i].Type, fields[i].Metadata, c.columns[i] = to.Type, to.Metadata, conv
				continue
			}
		}
		if conv, ok := recastTo(f.Type, fields[i].Type); ok && !arrow.TypeEqual(f.Type, fields[i].Type) {
			c.columns[i] = conv
		} else {
			fields[i].Type = f.Type
		}
	}
	c.schema = arrow.NewSchema(fields, nil)
	return c, nil
}

// trustedSchema reads a schema of the pool, which may be longer than a table's.
func trustedSchema(b []byte) (*arrow.Schema, error) {
	if len(b) == 0 {
		return arrow.NewSchema(nil, nil), nil
	}
	r, err := ipc.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("read the registered types: %w", err)
	}
	defer r.Release()
	return r.Schema(), nil
}

// inUTC is a type of the engine with the name of its time zone as others
// write it.
func inUTC(t arrow.DataType) arrow.DataType {
	switch t := t.(type) {
	case *arrow.TimestampType:
		if t.TimeZone == engineZone {
			return &arrow.TimestampType{Unit: t.Unit, TimeZone: "UTC"}
		}
	case *arrow.ListType:
		return arrow.ListOfField(fieldInUTC(t.ElemField()))
	case *arrow.FixedSizeListType:
		return arrow.FixedSizeListOfField(t.Len(), fieldInUTC(t.ElemField()))
	case *arrow.MapType:
		return arrow.MapOfFields(fieldInUTC(t.KeyField()), fieldInUTC(t.ItemField()))
	case *arrow.StructType:
		fields := make([]arrow.Field, t.NumFields())
		for i, f := range t.Fields() {
			fields[i] = fieldInUTC(f)
		}
		return arrow.StructOf(fields...)
	}
	return t
}

func fieldInUTC(f arrow.Field) arrow.Field {
	f.Type = inUTC(f.Type)
	return f
}

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
		d, err := conv(b.Column(i).Data())
		if err != nil {
			return nil, inColumn(err, c.schema.Field(i).Name)
		}
		columns[i] = array.MakeFromData(d)
		d.Release()
	}
	return array.NewRecordBatch(c.schema, columns, b.NumRows()), nil
}

func inColumn(err error, name string) error {
	if f, ok := err.(*failure); ok {
		g := *f
		g.Message = fmt.Sprintf("column %q: %s", name, f.Message)
		return &g
	}
	return err
}

// compact returns the array with its values at the start of its buffers and
// nothing else in them. The caller releases it.
func compact(a arrow.Array) (arrow.Array, error) {
	return array.Concatenate([]arrow.Array{a}, memory.DefaultAllocator)
}

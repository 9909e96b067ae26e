package sdk

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	flightgen "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/flight/wire"
)

// A Stmt is a prepared query. It may be used by many goroutines at once, for a
// day, and holds nothing on the server: it need not be closed.
type Stmt struct {
	c      *Client
	handle []byte
	result *arrow.Schema
	params *arrow.Schema
}

// createPrepared is the action that prepares a statement, as Flight SQL names it.
const createPrepared = "CreatePreparedStatement"

// Prepare checks a SELECT, whose parameters are written $1, $2, and so on. It
// fixes no snapshot: each Query reads what is there then.
func (c *Client) Prepare(ctx context.Context, sql string) (*Stmt, error) {
	req, err := anypb.New(&flightgen.ActionCreatePreparedStatementRequest{Query: sql})
	if err != nil {
		return nil, err
	}
	var made flightgen.ActionCreatePreparedStatementResult
	err = c.action(ctx, createPrepared, req, func(b []byte) error {
		var a anypb.Any
		if err := wire.Decode(b, &a); err != nil {
			return err
		}
		return a.UnmarshalTo(&made)
	})
	if err != nil {
		return nil, err
	}
	s := &Stmt{c: c, handle: made.GetPreparedStatementHandle()}
	if s.result, err = arrowflight.DeserializeSchema(made.GetDatasetSchema(), memory.DefaultAllocator); err != nil {
		return nil, fmt.Errorf("%w: %w", errAnswer, err)
	}
	if s.params, err = arrowflight.DeserializeSchema(made.GetParameterSchema(), memory.DefaultAllocator); err != nil {
		return nil, fmt.Errorf("%w: %w", errAnswer, err)
	}
	return s, nil
}

// Schema is the schema of the result, as far as it is known without
// parameters.
func (s *Stmt) Schema() *arrow.Schema { return s.result }

// Params is the number of parameters.
func (s *Stmt) Params() int { return s.params.NumFields() }

// Query runs the statement with a value for each parameter: nil, a bool,
// integer, float, string, []byte or time.Time.
func (s *Stmt) Query(ctx context.Context, args ...any) (*Rows, error) {
	if len(args) != s.Params() {
		return nil, fault.Newf(fault.Invalid, "the statement has %d parameters and %d values were given", s.Params(), len(args))
	}
	handle := s.handle
	if len(args) > 0 {
		var err error
		if handle, err = s.bind(ctx, args); err != nil {
			return nil, err
		}
	}
	return s.c.query(ctx, &flightgen.CommandPreparedStatementQuery{PreparedStatementHandle: handle})
}

// bind exchanges the statement's handle for one that has the values too.
func (s *Stmt) bind(ctx context.Context, args []any) ([]byte, error) {
	desc, err := descriptor(&flightgen.CommandPreparedStatementQuery{PreparedStatementHandle: s.handle})
	if err != nil {
		return nil, err
	}
	row, err := s.row(args)
	if err != nil {
		return nil, err
	}
	defer row.Release()
	var messages []*arrowflight.FlightData
	w := newFrameWriter(row.Schema(), func(m *arrowflight.FlightData) error {
		messages = append(messages, &arrowflight.FlightData{DataHeader: append([]byte{}, m.DataHeader...), DataBody: append([]byte{}, m.DataBody...)})
		return nil
	})
	if err := w.write(row); err != nil {
		return nil, err
	}
	if err := w.close(); err != nil {
		return nil, err
	}
	var bound flightgen.DoPutPreparedStatementResult
	if err := s.c.send(ctx, desc, messages, &bound); err != nil {
		return nil, err
	}
	return bound.GetPreparedStatementHandle(), nil
}

// row is values as a batch of one row, each of the type that it has in Go.
func (s *Stmt) row(args []any) (arrow.RecordBatch, error) {
	fields := make([]arrow.Field, len(args))
	cols := make([]arrow.Array, len(args))
	defer func() {
		for _, c := range cols {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i, v := range args {
		f := s.params.Field(i)
		var err error
		if cols[i], err = scalar(v, f.Type); err != nil {
			return nil, fault.Newf(fault.Invalid, "parameter %s: %v", f.Name, err)
		}
		fields[i] = arrow.Field{Name: f.Name, Type: cols[i].DataType(), Nullable: true}
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), cols, 1), nil
}

// scalar is a value as an array of it; nil is a null of a type.
func scalar(v any, null arrow.DataType) (arrow.Array, error) {
	if v == nil {
		return array.MakeArrayOfNull(memory.DefaultAllocator, null, 1), nil
	}
	typ, set := scalarOf(v)
	if set == nil {
		return nil, fmt.Errorf("a %T has no form in SQL; give a bool, integer, float, string, []byte or time.Time", v)
	}
	b := array.NewBuilder(memory.DefaultAllocator, typ)
	defer b.Release()
	set(b)
	return b.NewArray(), nil
}

func scalarOf(v any) (arrow.DataType, func(array.Builder)) {
	integer := func(n int64) (arrow.DataType, func(array.Builder)) {
		return arrow.PrimitiveTypes.Int64, func(b array.Builder) { b.(*array.Int64Builder).Append(n) }
	}
	natural := func(n uint64) (arrow.DataType, func(array.Builder)) {
		return arrow.PrimitiveTypes.Uint64, func(b array.Builder) { b.(*array.Uint64Builder).Append(n) }
	}
	switch v := v.(type) {
	case bool:
		return arrow.FixedWidthTypes.Boolean, func(b array.Builder) { b.(*array.BooleanBuilder).Append(v) }
	case int:
		return integer(int64(v))
	case int8:
		return integer(int64(v))
	case int16:
		return integer(int64(v))
	case int32:
		return integer(int64(v))
	case int64:
		return integer(v)
	case uint:
		return natural(uint64(v))
	case uint8:
		return natural(uint64(v))
	case uint16:
		return natural(uint64(v))
	case uint32:
		return natural(uint64(v))
	case uint64:
		return natural(v)
	case float32:
		return arrow.PrimitiveTypes.Float32, func(b array.Builder) { b.(*array.Float32Builder).Append(v) }
	case float64:
		return arrow.PrimitiveTypes.Float64, func(b array.Builder) { b.(*array.Float64Builder).Append(v) }
	case string:
		return arrow.BinaryTypes.String, func(b array.Builder) { b.(*array.StringBuilder).Append(v) }
	case []byte:
		return arrow.BinaryTypes.Binary, func(b array.Builder) { b.(*array.BinaryBuilder).Append(v) }
	case time.Time:
		return arrow.FixedWidthTypes.Timestamp_us, func(b array.Builder) {
			b.(*array.TimestampBuilder).Append(arrow.Timestamp(v.UnixMicro()))
		}
	}
	return nil, nil
}

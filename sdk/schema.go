package sdk

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeward/lake/fault"
)

// schemaTextMax bounds the text of a schema in bytes, typeDepthMax its nesting.
const (
	schemaTextMax = 64 << 10
	typeDepthMax  = 16
)

// ParseSchema reads a schema in SQL's words, with DuckDB's type names:
//
//	id BIGINT NOT NULL, name VARCHAR, pose DOUBLE[7], tags VARCHAR[], at TIMESTAMP_NS
//
// A column name that is not a plain word stands in double quotes.
func ParseSchema(text string) (*arrow.Schema, error) {
	if len(text) > schemaTextMax {
		return nil, fault.Newf(fault.Exhausted, "a schema of %d bytes is over the bound of %d", len(text), schemaTextMax)
	}
	p := &schemaParser{rest: text}
	fields, err := p.fields(typeDepthMax, true)
	if err != nil {
		return nil, err
	}
	if p.next() != "" {
		return nil, p.fail("a comma or the end")
	}
	return arrow.NewSchema(fields, nil), nil
}

// plainTypes are the types of one word. Time without a zone is Arrow's
// zone-less timestamp.
var plainTypes = map[string]arrow.DataType{
	"BOOLEAN": arrow.FixedWidthTypes.Boolean, "BOOL": arrow.FixedWidthTypes.Boolean,
	"TINYINT": arrow.PrimitiveTypes.Int8, "INT1": arrow.PrimitiveTypes.Int8,
	"SMALLINT": arrow.PrimitiveTypes.Int16, "INT2": arrow.PrimitiveTypes.Int16,
	"INTEGER": arrow.PrimitiveTypes.Int32, "INT": arrow.PrimitiveTypes.Int32, "INT4": arrow.PrimitiveTypes.Int32,
	"BIGINT": arrow.PrimitiveTypes.Int64, "INT8": arrow.PrimitiveTypes.Int64, "LONG": arrow.PrimitiveTypes.Int64,
	"UTINYINT": arrow.PrimitiveTypes.Uint8, "USMALLINT": arrow.PrimitiveTypes.Uint16,
	"UINTEGER": arrow.PrimitiveTypes.Uint32, "UBIGINT": arrow.PrimitiveTypes.Uint64,
	"FLOAT": arrow.PrimitiveTypes.Float32, "REAL": arrow.PrimitiveTypes.Float32, "FLOAT4": arrow.PrimitiveTypes.Float32,
	"DOUBLE": arrow.PrimitiveTypes.Float64, "FLOAT8": arrow.PrimitiveTypes.Float64,
	"VARCHAR": arrow.BinaryTypes.String, "TEXT": arrow.BinaryTypes.String, "STRING": arrow.BinaryTypes.String,
	"BLOB": arrow.BinaryTypes.Binary, "BYTEA": arrow.BinaryTypes.Binary, "BINARY": arrow.BinaryTypes.Binary, "VARBINARY": arrow.BinaryTypes.Binary,
	"DATE":      arrow.FixedWidthTypes.Date32,
	"TIMESTAMP": &arrow.TimestampType{Unit: arrow.Microsecond}, "DATETIME": &arrow.TimestampType{Unit: arrow.Microsecond},
	"TIMESTAMPTZ":  &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
	"TIMESTAMP_NS": &arrow.TimestampType{Unit: arrow.Nanosecond},
}

type schemaParser struct {
	rest string
	tok  string // looked at, not taken
}

// next looks at the next token: a word, a quoted name with its quotes, or one
// other character; "" at the end.
func (p *schemaParser) next() string {
	if p.tok != "" {
		return p.tok
	}
	p.rest = strings.TrimLeftFunc(p.rest, unicode.IsSpace)
	n := 0
	switch {
	case p.rest == "":
		return ""
	case p.rest[0] == '"':
		for n = 1; n < len(p.rest); n++ {
			if p.rest[n] == '"' {
				if n++; n == len(p.rest) || p.rest[n] != '"' {
					break
				}
			}
		}
	default:
		n = strings.IndexFunc(p.rest, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if n < 0 {
			n = len(p.rest)
		}
		n = max(n, 1)
	}
	p.tok, p.rest = p.rest[:n], p.rest[n:]
	return p.tok
}

func (p *schemaParser) take() string {
	t := p.next()
	p.tok = ""
	return t
}

// accept takes the next token if it is t, without regard to case.
func (p *schemaParser) accept(t string) bool {
	if strings.EqualFold(p.next(), t) {
		p.tok = ""
		return true
	}
	return false
}

func (p *schemaParser) fail(want string) error {
	got := "the end"
	if t := p.next(); t != "" {
		got = strconv.Quote(t)
	}
	return fault.Newf(fault.Invalid, "schema: %s where %s should be; write it as \"id BIGINT, name VARCHAR\"", got, want)
}

func (p *schemaParser) fields(depth int, top bool) ([]arrow.Field, error) {
	var out []arrow.Field
	for {
		name := p.take()
		if unquoted, ok := strings.CutPrefix(name, `"`); ok {
			unquoted, ok = strings.CutSuffix(unquoted, `"`)
			if !ok {
				return nil, p.fail("a closing quote")
			}
			name = strings.ReplaceAll(unquoted, `""`, `"`)
		} else if name == "" || strings.ContainsAny(name, `,()[]`) {
			p.tok = name
			return nil, p.fail("a column's name")
		}
		t, err := p.dataType(depth)
		if err != nil {
			return nil, err
		}
		f := arrow.Field{Name: name, Type: t, Nullable: true}
		if top && p.accept("NOT") {
			if !p.accept("NULL") {
				return nil, p.fail("NULL")
			}
			f.Nullable = false
		}
		out = append(out, f)
		if !p.accept(",") {
			return out, nil
		}
	}
}

func (p *schemaParser) dataType(depth int) (arrow.DataType, error) {
	if depth == 0 {
		return nil, fault.Newf(fault.Exhausted, "schema: types are nested more than %d deep", typeDepthMax)
	}
	t, err := p.element(depth)
	for err == nil && p.accept("[") {
		if p.accept("]") {
			t = arrow.ListOf(t)
			continue
		}
		n, nerr := strconv.ParseInt(p.next(), 10, 32)
		if nerr != nil || n <= 0 {
			return nil, p.fail("a length or ]")
		}
		p.take()
		if !p.accept("]") {
			return nil, p.fail("]")
		}
		t = arrow.FixedSizeListOf(int32(n), t)
	}
	return t, err
}

func (p *schemaParser) element(depth int) (arrow.DataType, error) {
	word := strings.ToUpper(p.next())
	switch word {
	case "STRUCT":
		p.take()
		if !p.accept("(") {
			return nil, p.fail("(")
		}
		fields, err := p.fields(depth-1, false)
		if err != nil {
			return nil, err
		}
		if !p.accept(")") {
			return nil, p.fail(")")
		}
		return arrow.StructOf(fields...), nil
	case "MAP":
		p.take()
		var kv [2]arrow.DataType
		for i, open := range []string{"(", ","} {
			if !p.accept(open) {
				return nil, p.fail(open)
			}
			var err error
			if kv[i], err = p.dataType(depth - 1); err != nil {
				return nil, err
			}
		}
		if !p.accept(")") {
			return nil, p.fail(")")
		}
		return arrow.MapOf(kv[0], kv[1]), nil
	case "DECIMAL", "NUMERIC":
		p.take()
		return p.decimal()
	}
	t, ok := plainTypes[word]
	if !ok {
		return nil, p.fail("a type")
	}
	p.take()
	if word == "TIMESTAMP" && p.accept("WITH") {
		for _, w := range []string{"TIME", "ZONE"} {
			if !p.accept(w) {
				return nil, p.fail(w)
			}
		}
		t = plainTypes["TIMESTAMPTZ"]
	}
	return t, nil
}

// decimal reads the precision and scale; DuckDB's default is (18, 3).
func (p *schemaParser) decimal() (arrow.DataType, error) {
	precision, scale := int64(18), int64(3)
	if p.accept("(") {
		var err error
		if precision, err = strconv.ParseInt(p.next(), 10, 32); err != nil {
			return nil, p.fail("a precision")
		}
		p.take()
		scale = 0
		if p.accept(",") {
			if scale, err = strconv.ParseInt(p.next(), 10, 32); err != nil {
				return nil, p.fail("a scale")
			}
			p.take()
		}
		if !p.accept(")") {
			return nil, p.fail(")")
		}
	}
	if precision < 1 || precision > 38 || scale < 0 || scale > precision {
		return nil, fault.Newf(fault.Invalid, "schema: DECIMAL(%d,%d) is not within DECIMAL(1..38, 0..precision)", precision, scale)
	}
	return &arrow.Decimal128Type{Precision: int32(precision), Scale: int32(scale)}, nil
}

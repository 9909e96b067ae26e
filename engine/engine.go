// Package engine is what the rest of lake needs from a table format, and the
// vocabulary of running a query over snapshots of tables.
package engine

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
	"github.com/lakeward/lake/objects"
)

// Errors of engines.
var (
	// ErrUnsupported is the class of what an engine cannot keep or read; the
	// error that has it names the column, type or feature, and a remedy.
	ErrUnsupported = fault.New(fault.Unsupported, "this engine cannot do that")

	// ErrNoVersion says that a table has no such version.
	ErrNoVersion = fault.New(fault.NotFound, "the table has no such version")

	// ErrForeign says that another writer changed the table in a way that
	// this commit cannot be applied after.
	ErrForeign = fault.New(fault.Conflict, "another writer changed the table's schema or protocol; look at it, then load again")

	// ErrSchema says that rows are not of the table's exact schema.
	ErrSchema = fault.New(fault.Invalid, "the rows do not have the table's schema")
)

// An Engine is a table format. Its methods may be called from many goroutines
// and many processes at once.
type Engine interface {
	// Name is the engine's name in registrations.
	Name() string

	// Check refuses a schema that the engine cannot keep exactly, naming the
	// column and a remedy (ErrUnsupported). schema has field ids.
	Check(schema *arrow.Schema) error

	// Create makes version 0 of a table without rows. The location must be
	// new: one that holds a table is fault.Exists.
	Create(ctx context.Context, at objects.Location, schema *arrow.Schema, op Op) (ident.Version, error)

	// Table returns the table at a location. It does no I/O.
	Table(at objects.Location) Table
}

// A Table is one incarnation of a table, of which versions are committed one
// after another and never changed.
type Table interface {
	// Snapshot returns the given version, or ErrNoVersion.
	Snapshot(ctx context.Context, v ident.Version) (Snapshot, error)

	// Stage writes rows as immutable files that no version names yet, and
	// returns what Commit needs to name them. It may run in another process
	// than Commit. The rows must have the types of schema, the table's exact
	// one, which Compatible checks; batches are released by who yields them.
	// On error, what was written is removed if possible.
	Stage(ctx context.Context, schema *arrow.Schema, rows iter.Seq2[arrow.RecordBatch, error]) (Manifest, error)

	// Commit adds the manifest's files in one new version that carries op as
	// evidence, on top of base or of later versions that do not change schema
	// or protocol (else ErrForeign), durably before it returns. A commit whose
	// answer was lost is recognised by op.Attempt. It checks that the files
	// are there with the stated sizes. It does not look for earlier commits of
	// the same operation; that is Find.
	Commit(ctx context.Context, base ident.Version, op Op, m Manifest) (ident.Version, error)

	// Find returns the version after base that carries the operation, if any.
	Find(ctx context.Context, base ident.Version, id ident.OperationID) (v ident.Version, ok bool, err error)
}

// A Snapshot is one version of a table. It stays readable until its files are
// reclaimed.
type Snapshot interface {
	Version() ident.Version

	// Scan describes how to read the rows.
	Scan(ctx context.Context) (Scan, error)
}

// An Op is the evidence that a version carries: whose change it is, which
// operation, over what input, and by which attempt.
type Op struct {
	Tenant  ident.Tenant
	ID      ident.OperationID
	Digest  ident.Digest
	Attempt ident.Attempt
}

// ManifestBytesMax bounds an encoded manifest.
const ManifestBytesMax = 64 << 20

// A Manifest lists staged files, in the order of their rows.
type Manifest struct {
	Files []File
}

// Rows is the number of rows in all files.
func (m Manifest) Rows() (n int64) {
	for _, f := range m.Files {
		n += f.Rows
	}
	return n
}

// Bytes is the size of all files.
func (m Manifest) Bytes() (n int64) {
	for _, f := range m.Files {
		n += f.Bytes
	}
	return n
}

// A File is an immutable data file of a table.
type File struct {
	Name   string // below the table's location
	Rows   int64  // -1 if another writer of the table has not said it
	Bytes  int64
	SHA256 ident.Digest // zero if the file was not staged by lake
	Stats  []ColumnStats
}

// ColumnStats bounds the values of one leaf column in one file. Min and Max
// are bounds, not always values: no value lies outside of them.
type ColumnStats struct {
	Path  []string // names from the top-level column down; structs only
	Nulls int64
	Min   Value // zero if unknown
	Max   Value
}

// A Value is a statistic.
type Value struct {
	Kind  ValueKind
	Int   int64   // Bool (0, 1), Int, Date (days), Timestamp (microseconds since 1970, UTC or zone-less)
	Float float64 // Float
	Text  string  // Text; Decimal in plain notation with the column's scale
}

// ValueKind says which field of a Value holds it.
type ValueKind uint8

// The kinds of statistics. The zero kind is no value.
const (
	NoValue ValueKind = iota
	BoolValue
	IntValue
	FloatValue
	TextValue
	DecimalValue
	DateValue
	TimestampValue
)

// A Scan says how to read a snapshot: which files, and what each column is.
type Scan struct {
	Columns []Column
	Files   []DataFile
}

// A Column is how one column of a table is stored and what readers get.
type Column struct {
	Source string         // its name in the data files
	Stored arrow.DataType // its type in the data files, as a reader of Parquet sees it
	Exact  arrow.Field    // its registered name, type and metadata
}

// A DataFile is a data file of a snapshot.
type DataFile struct {
	Object string // its name in the object store
	File
}

// A Query is one SQL statement and the snapshots that its tables stand for.
type Query struct {
	SQL    string
	Tables []Binding

	// Directory is what the tables of InformationSchema list, in order of name.
	// It is needed only if the statement names one of them.
	Directory []Listed

	// Params are the values of the statement's parameters: an Arrow IPC stream
	// of one row, in the order of their positions. Nil is none.
	Params []byte
}

// A Description is what is known of a query before it runs.
type Description struct {
	Result *arrow.Schema // of its rows
	Params *arrow.Schema // of its parameters, named $1, $2, … ; without fields if there are none
}

// InformationSchema is the namespace of the tables that list tables. A
// statement that names one of them is given a directory, and no binding.
const InformationSchema ident.Namespace = "information_schema"

// A Listed is a table in a directory, with its exact schema.
type Listed struct {
	Table  ident.Table
	Schema *arrow.Schema
}

// A Binding says what a table name in a query stands for, where the query asks
// for that version of it.
type Binding struct {
	Table ident.Table
	At    At
	Scan  Scan
}

// Rows is a running query's result: Arrow Flight messages, ready to be sent.
// It is used by one goroutine and must be closed.
type Rows interface {
	// Next returns the next message, a complete protobuf encoding of one
	// arrow.flight.protocol.FlightData, the schema first. It is valid until
	// the receiver calls Release. After the last one Next returns io.EOF; only
	// then is the result whole.
	Next(ctx context.Context) (Message, error)

	// Close stops the query if it still runs.
	Close()
}

// A Message is a buffer that its holder releases once.
type Message struct {
	Bytes   []byte
	Release func()
}

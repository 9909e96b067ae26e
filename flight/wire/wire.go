// Package wire is what lake's processes say to each other inside Arrow Flight:
// the names of actions, their protobuf bodies (wirepb), and the manifest of an
// append as a stream.
package wire

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lakeward/lake/fault"
)

// Actions. Their bodies and answers are the wirepb messages named here.
const (
	CreateTable = "lake.table.create.v1"   // CreateTable → TableCreated
	PlaceTable  = "lake.table.place.v1"    // CreateTable → TablePlaced
	GetTable    = "lake.table.get.v1"      // GetTable → Table
	GetContents = "lake.table.contents.v1" // GetContents → Contents
	GetHistory  = "lake.table.history.v1"  // GetHistory → History
	ListTables  = "lake.table.list.v1"     // ListTables → TablePage, several
	GetRoot     = "lake.root.get.v1"       // GetRoot → Root
	StageAppend = "lake.append.stage.v1"   // StageAppend → StageTarget
)

// OperationOption is the option of a CommandStatementIngest that makes it
// repeatable: its operation id.
const OperationOption = "lake.operation_id"

// HistoryMax bounds the changes of one History.
const HistoryMax = 1000

// ActionBytesMax bounds the body of an action: a schema and some names.
const ActionBytesMax = 256 << 10

// MessageBytesMax bounds one encoded Flight message, so that the 4 MiB default
// of gRPC receivers is never met.
const MessageBytesMax = 3_500_000

// ReceiveBytesMax bounds a message that a server receives. Peers that know of
// no bound send a table as one message: a million rows of eight numbers fit.
const ReceiveBytesMax = 64 << 20

// Bounds on an append that brings its rows: as many of them, in as many bytes
// and messages.
const (
	RowsMax         = 10_000
	RowsBytesMax    = 64 << 20
	RowsMessagesMax = 170_001
)

// ErrBody says that a body does not decode.
var ErrBody = fault.New(fault.Invalid, "the request does not decode; use a client of the same lake version")

// Decode reads an action's body or an answer into m.
func Decode(b []byte, m proto.Message) error {
	if len(b) > MessageBytesMax {
		return fault.Newf(fault.Exhausted, "a message of %d bytes is over the bound of %d", len(b), MessageBytesMax)
	}
	if err := proto.Unmarshal(b, m); err != nil {
		return fmt.Errorf("%w: %T: %v", ErrBody, m, err)
	}
	return nil
}

// Encode returns m's bytes.
func Encode(m proto.Message) ([]byte, error) {
	b, err := proto.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", m, err)
	}
	return b, nil
}

// EncodeCommand returns the command of an append's FlightDescriptor: an
// AppendCommand, or AppendRows.
func EncodeCommand(c proto.Message) ([]byte, error) {
	a, err := anypb.New(c)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", c, err)
	}
	return Encode(a)
}

// DecodeCommand reads an append's command into c; ok is false if the bytes are
// some other command.
func DecodeCommand(b []byte, c proto.Message) (ok bool, err error) {
	var a anypb.Any
	if err := Decode(b, &a); err != nil {
		return false, err
	}
	if !a.MessageIs(c) {
		return false, nil
	}
	if err := a.UnmarshalTo(c); err != nil {
		return true, fmt.Errorf("%w: %v", ErrBody, err)
	}
	return true, nil
}

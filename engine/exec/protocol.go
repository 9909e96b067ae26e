package exec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"runtime/debug"
)

// protocolVersion changes with the frames. Pool and worker are one build, so
// that it only has to tell a mix-up, not to bridge one.
const protocolVersion = 1

// buildID names the build of this program.
func buildID() string {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:16])
}

// hello is all that a worker is told: it has no environment and no flags.
type hello struct {
	Protocol    int
	Build       string
	Parent      int // process id
	In          string
	Spill       string
	Threads     int
	MemoryBytes int64
	SpillBytes  int64

	// FetchChannels counts sockets for file ranges. None yet: every file of a
	// statement is complete in In.
	FetchChannels int
}

type ready struct {
	Protocol int
	Build    string
	Engine   string // the engine's version
}

type parseRequest struct{ SQL string }

// A statement is a gated tree and what its tables are.
type statement struct {
	Tree  json.RawMessage // as the engine's parser wrote it, tables renamed
	Views []view

	// Origins has for each result column the index in Exact and Engine of the
	// table column that it comes from, or -1. It is empty if the columns of
	// the result could not be counted without the engine.
	Origins []int
	Exact   []byte // IPC schema: the registered fields
	Engine  []byte // IPC schema: what the engine makes of them

	Spelling spelling

	Explain *explain `json:",omitempty"` // the plan is asked for, not the rows

	// ParamNames are the parameters as the caller counts them: the text that
	// is made of the tree may have them in another order.
	ParamNames []string `json:",omitempty"`

	// Params is an Arrow IPC stream of one row, and ParamColumns the column of
	// each parameter's value in it. Both are empty if no values are bound.
	Params       []byte `json:",omitempty"`
	ParamColumns []int  `json:",omitempty"`
}

// A view stands for one table.
type view struct {
	Name string
	SQL  string // the query that it is made of
}

// fin ends a request.
type fin struct {
	Rows    int64
	Batches int64
	Params  []byte   `json:",omitempty"` // PLAN: IPC schema of the parameters, empty if there are none
	Failure *failure `json:",omitempty"`
}

// failure is an error of the engine in its own words, which may hold paths and
// generated names.
type failure struct {
	Class    string // the engine's exception type: "Binder", "Out of Memory"
	Message  string
	Subtype  string `json:",omitempty"`
	Position int    // byte offset in the statement's text, -1 if unknown
	Public   bool   `json:",omitempty"` // the message is lake's own and names no internals
}

func (f *failure) Error() string { return f.Class + " Error: " + f.Message }

package delta

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
)

// evidenceFormat is the format number of what a commit says about its operation.
const evidenceFormat = 1

// commitBytesMax bounds a commit file that is read. One that carries a manifest
// of engine.ManifestBytesMax is far below it.
const commitBytesMax = 256 << 20

// An action is one line of a commit file. One of its fields is set; kinds of
// action that say nothing about rows are left out.
type action struct {
	CommitInfo *commitInfo `json:"commitInfo,omitempty"`
	Protocol   *protocol   `json:"protocol,omitempty"`
	MetaData   *metaData   `json:"metaData,omitempty"`
	Add        *addFile    `json:"add,omitempty"`
	Remove     *removeFile `json:"remove,omitempty"`
}

type commitInfo struct {
	Timestamp  int64             `json:"timestamp"` // milliseconds since 1970
	Operation  string            `json:"operation,omitempty"`
	Parameters map[string]string `json:"operationParameters,omitempty"`
	EngineInfo string            `json:"engineInfo,omitempty"`
	TxnID      string            `json:"txnId,omitempty"`
	Blind      bool              `json:"isBlindAppend,omitempty"`
	Lake       *evidence         `json:"lake,omitempty"`
}

// UnmarshalJSON reads what this package looks at. A commitInfo is free-form: any
// of its fields may be missing or of another type in other writers' commits.
func (c *commitInfo) UnmarshalJSON(b []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(b, &fields); err != nil {
		return err
	}
	*c = commitInfo{}
	for name, to := range map[string]any{"timestamp": &c.Timestamp, "operation": &c.Operation, "txnId": &c.TxnID, "lake": &c.Lake} {
		if json.Unmarshal(fields[name], to) != nil { // then it is not ours
			switch name {
			case "timestamp":
				c.Timestamp = 0
			case "operation":
				c.Operation = ""
			case "txnId":
				c.TxnID = ""
			case "lake":
				c.Lake = nil
			}
		}
	}
	return nil
}

// evidence says which operation a commit belongs to.
type evidence struct {
	Format int    `json:"format"`
	Tenant string `json:"tenant"`
	Op     string `json:"op"`
	Digest string `json:"digest"`
}

type protocol struct {
	MinReader      int      `json:"minReaderVersion"`
	MinWriter      int      `json:"minWriterVersion"`
	ReaderFeatures []string `json:"readerFeatures,omitempty"`
	WriterFeatures []string `json:"writerFeatures,omitempty"`
}

type metaData struct {
	ID               string            `json:"id"`
	Format           format            `json:"format"`
	SchemaString     string            `json:"schemaString"`
	PartitionColumns []string          `json:"partitionColumns"`
	Configuration    map[string]string `json:"configuration"`
	CreatedTime      int64             `json:"createdTime,omitempty"` // milliseconds since 1970
}

type format struct {
	Provider string            `json:"provider"`
	Options  map[string]string `json:"options"`
}

type addFile struct {
	Path             string             `json:"path"` // percent-encoded
	PartitionValues  map[string]*string `json:"partitionValues"`
	Size             int64              `json:"size"`
	ModificationTime int64              `json:"modificationTime"` // milliseconds since 1970
	DataChange       bool               `json:"dataChange"`
	Stats            string             `json:"stats,omitempty"`
	Tags             map[string]*string `json:"tags,omitempty"`
	DeletionVector   *deletionVector    `json:"deletionVector,omitempty"`
}

type removeFile struct {
	Path           string          `json:"path"`
	DeletionVector *deletionVector `json:"deletionVector,omitempty"`
}

type deletionVector struct {
	StorageType    string `json:"storageType"`
	PathOrInlineDv string `json:"pathOrInlineDv"`
	Offset         *int64 `json:"offset,omitempty"`
}

// key tells the deletion vectors of one file apart.
func (d *deletionVector) key() string {
	if d == nil {
		return ""
	}
	k := d.StorageType + d.PathOrInlineDv
	if d.Offset != nil {
		k += fmt.Sprintf("@%d", *d.Offset)
	}
	return k
}

// A commit is the content of one commit file.
type commit struct {
	info     commitInfo // zero if the file has none
	protocol *protocol
	metaData *metaData
	files    []action // adds and removes, in order
}

// errCommit is the class of commit files that do not parse.
var errCommit = fault.New(fault.Corrupt, "a commit file of the table is corrupt")

// parseCommit reads a commit file. Kinds of action and fields that it does not
// know change nothing about the rows unless the protocol names a feature, which
// is where they are refused.
func parseCommit(b []byte) (*commit, error) {
	c := &commit{}
	for n := 1; len(b) > 0; n++ {
		line, rest, _ := bytes.Cut(b, []byte("\n"))
		b = rest
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var a action
		if err := json.Unmarshal(line, &a); err != nil {
			return nil, fmt.Errorf("%w: line %d: %v", errCommit, n, err)
		}
		if err := c.take(a); err != nil {
			return nil, fmt.Errorf("%w: line %d: %v", errCommit, n, err)
		}
	}
	return c, nil
}

func (c *commit) take(a action) error {
	if a.CommitInfo != nil {
		c.info = *a.CommitInfo
	}
	if a.Protocol != nil {
		if c.protocol != nil {
			return fmt.Errorf("a second protocol")
		}
		c.protocol = a.Protocol
	}
	if a.MetaData != nil {
		if c.metaData != nil {
			return fmt.Errorf("a second metaData")
		}
		c.metaData = a.MetaData
	}
	if a.Add != nil {
		if a.Add.Path == "" || a.Add.Size < 0 {
			return fmt.Errorf("an add without a path or of a negative size")
		}
		c.files = append(c.files, action{Add: a.Add})
	}
	if a.Remove != nil {
		if a.Remove.Path == "" {
			return fmt.Errorf("a remove without a path")
		}
		c.files = append(c.files, action{Remove: a.Remove})
	}
	return nil
}

// encodeCommit returns a commit file of the actions, commitInfo first.
func encodeCommit(actions ...action) []byte {
	var b bytes.Buffer
	for _, a := range actions {
		b.Write(mustJSON(a))
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// decodePath returns the name of a data file below the table's location.
func decodePath(path string) (string, error) {
	name, err := url.PathUnescape(path)
	if err != nil {
		return "", fault.New(fault.Corrupt, "a data file's path in the table's log is not percent-encoded as it should be")
	}
	if strings.HasPrefix(name, "/") || strings.Contains(name, "://") || strings.HasPrefix(name, "file:") {
		return "", fault.New(fault.Unsupported, "the table names data files outside of its own location (a shallow clone), which cannot be read; copy the table")
	}
	return name, nil
}

// attempt is the commit's attempt, as ident has it.
func (c *commit) attempt() ident.Attempt { return ident.Attempt(c.info.TxnID) }

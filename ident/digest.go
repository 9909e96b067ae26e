package ident

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"hash"

	"github.com/gowebpki/jcs"

	"github.com/lakeward/lake/fault"
)

// Domains of the digests: each begins what is hashed, so that no digest of one
// thing is a digest of another.
const (
	appendDomain  = "lake.append.v1\x00"
	ingestDomain  = "lake.ingest.v1\x00"
	loadDomain    = "lake.load.v1\x00"
	perFileDomain = "lake.perfile.v1\x00"
	createDomain  = "lake.create.v1\x00"
)

// A FrameDigest hashes an append's control stream: for each FlightData in
// order, the length (u32, little-endian) and bytes of its header, body and
// application metadata. The descriptor is not hashed.
type FrameDigest struct{ h hash.Hash }

// NewAppendDigest returns the running digest of a typed append.
func NewAppendDigest() FrameDigest { return newFrameDigest(appendDomain) }

// NewIngestDigest returns the running digest of an ADBC ingest.
func NewIngestDigest() FrameDigest { return newFrameDigest(ingestDomain) }

func newFrameDigest(domain string) FrameDigest {
	h := sha256.New()
	h.Write([]byte(domain))
	return FrameDigest{h}
}

// Add hashes one message.
func (d FrameDigest) Add(header, body, appMetadata []byte) {
	for _, b := range [][]byte{header, body, appMetadata} {
		writeBytes(d.h, b)
	}
}

// Sum returns the digest of the messages added so far.
func (d FrameDigest) Sum() Digest { return sum(d.h) }

// A Source is one input file of a bulk load, by content.
type Source struct {
	Bytes  int64
	SHA256 Digest
}

// LoadDigest is the digest of a bulk load: of its input files in the order
// given and of the options that change rows, which must marshal to a JSON
// object. How the rows are encoded when staged has no part in it.
func LoadDigest(files []Source, options any) (Digest, error) {
	raw, err := json.Marshal(options)
	if err != nil {
		return Digest{}, fault.Newf(fault.Invalid, "load options: %v", err)
	}
	canonical, err := jcs.Transform(raw)
	if err != nil {
		return Digest{}, fault.Newf(fault.Invalid, "load options: %v", err)
	}
	h := sha256.New()
	h.Write([]byte(loadDomain))
	writeU32(h, len(files))
	for _, f := range files {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(f.Bytes)))
		h.Write(f.SHA256[:])
	}
	writeBytes(h, canonical)
	return sum(h), nil
}

// CreateDigest is the digest of what a create asks for: the engine's name and
// the encoded schema, as the client sent it.
func CreateDigest(engine string, schema []byte) Digest {
	h := sha256.New()
	h.Write([]byte(createDomain))
	writeBytes(h, []byte(engine))
	writeBytes(h, schema)
	return sum(h)
}

// PerFile derives the id of the i-th file's own operation from the id of a
// load of many: the same time, and random bits that a retry finds again.
func (o OperationID) PerFile(i int) OperationID {
	h := sha256.New()
	h.Write([]byte(perFileDomain))
	h.Write(o[:])
	writeU32(h, i)
	d := sum(h)
	out := o
	copy(out[6:], d[:10])
	out[6] = 0x70 | out[6]&0x0f // version 7
	out[8] = 0x80 | out[8]&0x3f // RFC 9562 variant
	return out
}

func writeU32(h hash.Hash, n int) { h.Write(binary.LittleEndian.AppendUint32(nil, uint32(n))) }

func writeBytes(h hash.Hash, b []byte) {
	writeU32(h, len(b))
	h.Write(b)
}

func sum(h hash.Hash) (d Digest) {
	h.Sum(d[:0])
	return d
}

package engine

import (
	"encoding/binary"
	"fmt"

	"github.com/lakeward/lake/fault"
)

// More places of what is read of an Arrow IPC message.
const (
	messageMetadata  = 4
	headerIsDict     = 2
	headerIsBatch    = 3
	dictionaryID     = 0
	dictionaryData   = 1
	dictionaryDelta  = 2
	batchRows        = 0
	batchNodes       = 1
	batchBuffers     = 2
	batchCompression = 3
	batchVariadic    = 4
	pairBytes        = 16 // of a node or a buffer: two 64-bit numbers
)

// A BatchHeader is what a record batch message says of itself.
type BatchHeader struct {
	Rows       int64
	Dictionary bool  // it is not rows, but the values of a dictionary
	ID         int64 // of the dictionary
	Delta      bool  // its values are added to those that were sent before
}

var (
	errBatchBytes      = fault.New(fault.Invalid, "these bytes are not an Arrow record batch; write rows with an Arrow library")
	errBatchCompressed = fault.New(fault.Unsupported, "compressed record batches are not read; write them without compression")
)

// BodyBytes is how many bytes a message states for its body, which follows the
// header in files and streams.
func BodyBytes(header []byte) (n int64, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errBatchBytes, p)
		}
	}()
	v := schemaVerifier{b: header}
	if n = v.int64(v.at(0).field(messageBodyLength)); n < 0 {
		return 0, fmt.Errorf("%w: a body of %d bytes", errBatchBytes, n)
	}
	return n, nil
}

// VerifyBatch checks that a message from outside, of a header as Flight carries
// it and a body of some bytes, is a record batch or a dictionary that states no
// more than it holds. Compressed ones are refused: a few bytes of them can
// stand for any number.
func VerifyBatch(header []byte, bodyBytes int) (h BatchHeader, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errBatchBytes, p)
		}
	}()
	v := schemaVerifier{b: header, left: len(header)}
	message := v.at(0)
	v.metadata(message.field(messageMetadata))
	kind, at := message.field(messageHeaderType), message.field(messageHeader)
	if kind == 0 || at == 0 {
		return h, fmt.Errorf("%w: no header", errBatchBytes)
	}
	batch := v.at(at)
	switch header[kind] {
	case headerIsBatch:
	case headerIsDict:
		h.Dictionary = true
		h.ID = v.int64(batch.field(dictionaryID))
		if p := batch.field(dictionaryDelta); p != 0 {
			h.Delta = header[p] != 0
		}
		if at = batch.field(dictionaryData); at == 0 {
			return h, fmt.Errorf("%w: a dictionary without values", errBatchBytes)
		}
		batch = v.at(at)
	default:
		return h, fmt.Errorf("%w: a message of kind %d", errBatchBytes, header[kind])
	}
	if batch.field(batchCompression) != 0 {
		return h, errBatchCompressed
	}
	if n, _ := v.vector(batch.field(batchVariadic), 8); n != 0 {
		return h, fmt.Errorf("%w: columns of views", errBatchBytes)
	}
	// A value takes a bit at least, and so does a null, but in a column that has
	// no type: a row of such ones takes nothing.
	valuesMax := max(1, 8*int64(bodyBytes))
	h.Rows = v.int64(batch.field(batchRows))
	if h.Rows < 0 || h.Rows > valuesMax {
		return h, fmt.Errorf("%w: %d rows in %d bytes", errBatchBytes, h.Rows, bodyBytes)
	}
	n, first := v.vector(batch.field(batchNodes), pairBytes)
	for i := range n {
		values, nulls := v.int64(first+i*pairBytes), v.int64(first+i*pairBytes+8)
		if values < 0 || values > valuesMax || nulls < 0 || nulls > values {
			return h, fmt.Errorf("%w: %d values, %d of them null, in %d bytes", errBatchBytes, values, nulls, bodyBytes)
		}
	}
	// Buffers share no bytes, or a thousand columns could be the same megabytes.
	left := int64(bodyBytes)
	n, first = v.vector(batch.field(batchBuffers), pairBytes)
	for i := range n {
		offset, bytes := v.int64(first+i*pairBytes), v.int64(first+i*pairBytes+8)
		if offset < 0 || bytes < 0 || bytes > left || bytes > 0 && offset > int64(bodyBytes)-bytes {
			return h, fmt.Errorf("%w: a buffer of %d bytes at %d of %d", errBatchBytes, bytes, offset, bodyBytes)
		}
		left -= bytes
	}
	return h, nil
}

// int64 returns the number at p, or 0 if the field is absent.
func (v *schemaVerifier) int64(p int) int64 {
	if p == 0 {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(v.b[p:]))
}

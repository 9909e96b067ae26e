package wire

import (
	"bytes"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that Codec stands before
	"google.golang.org/grpc/mem"

	"github.com/lakeward/lake/engine"
)

// A Frame is an encoded FlightData that goes out as it is: handed to SendMsg
// of a stream whose server uses Codec. The transport releases it.
type Frame struct{ engine.Message }

// Codec is gRPC's protobuf codec, but for Frames, which are already encoded.
// It is the one place that uses grpc's experimental codec and buffer API; the
// server is given it by grpc.ForceServerCodecV2.
type Codec struct{}

var _ encoding.CodecV2 = Codec{}

// Name implements encoding.CodecV2.
func (Codec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (Codec) Marshal(v any) (mem.BufferSlice, error) {
	if f, ok := v.(*Frame); ok {
		if mem.IsBelowBufferPoolingThreshold(cap(f.Bytes)) {
			// The transport does not hand small buffers back.
			defer f.Release()
			return mem.BufferSlice{mem.SliceBuffer(bytes.Clone(f.Bytes))}, nil
		}
		return mem.BufferSlice{mem.NewBuffer(&f.Bytes, releaser{f.Release})}, nil
	}
	return encoding.GetCodecV2("proto").Marshal(v)
}

// Unmarshal implements encoding.CodecV2.
func (Codec) Unmarshal(data mem.BufferSlice, v any) error {
	return encoding.GetCodecV2("proto").Unmarshal(data, v)
}

// releaser is a pool of one buffer, to hear when the transport is done.
type releaser struct{ release func() }

func (releaser) Get(int) *[]byte { return nil }
func (r releaser) Put(*[]byte)   { r.release() }

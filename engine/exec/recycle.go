package exec

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Sizes of buffers that a recycler keeps, as powers of two.
const (
	recycledBytesMin = 1 << 10
	recycledBytesMax = 4 << 20
	recycledPerSize  = 64
)

// A recycler is an Arrow allocator for one goroutine that joins one message
// after another: the buffers of a message that was sent are those of the next.
// Without it the garbage collector runs every few messages.
type recycler struct {
	free [32][][]byte // by the power of two of their capacity
}

func (r *recycler) Allocate(size int) []byte {
	if size < recycledBytesMin || size > recycledBytesMax {
		return memory.DefaultAllocator.Allocate(size)
	}
	class := bits.Len(uint(size - 1))
	if kept := r.free[class]; len(kept) > 0 {
		b := kept[len(kept)-1]
		r.free[class] = kept[:len(kept)-1]
		return b[:size]
	}
	return memory.DefaultAllocator.Allocate(1 << class)[:size]
}

func (r *recycler) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:size]
	}
	out := r.Allocate(size)
	copy(out, b)
	r.Free(b)
	return out
}

func (r *recycler) Free(b []byte) {
	class := bits.Len(uint(cap(b))) - 1
	if cap(b) >= recycledBytesMin && cap(b) <= recycledBytesMax && cap(b) == 1<<class && len(r.free[class]) < recycledPerSize {
		r.free[class] = append(r.free[class], b[:cap(b)])
		return
	}
	memory.DefaultAllocator.Free(b)
}

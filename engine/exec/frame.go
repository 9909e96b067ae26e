package exec

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/lakeward/lake/fault"
)

// A frame is a u32 length of its body, a u8 kind and the u32 id of the request
// that it belongs to, all little-endian, then the body.
const frameHeaderBytes = 4 + 1 + 4

// Bounds on a frame's body.
const (
	requestBytesMax = 16 << 20            // pool to worker
	replyBytesMax   = 16 << 20            // AST and SCHEMA
	answerBytesMax  = 256 << 10           // HELLO, READY and FIN
	rowBytesMax     = 16 << 20            // one row, encoded
	dataBytesMax    = rowBytesMax + 4<<20 // DATA: a message and its header, which is large for many columns
	rowsPrefixBytes = 4                   // DATA begins with the u32 count of its rows
	messageBytesMax = 3<<20 + 1<<19       // a message of more than one row, encoded: 3.5 MiB
)

// A frameKind says what a frame's body is. The zero kind is none. Kinds that a
// side does not know end the worker: both sides are one build.
type frameKind uint8

// Frames from the pool to a worker. 8 to 15 are kept for files fetched over
// the socket.
const (
	kindHello  frameKind = iota + 1 // hello: how to start; answered by READY
	kindParse                       // parseRequest: answered by AST and FIN
	kindPlan                        // statement: answered by SCHEMA and FIN
	kindExec                        // statement: answered by DATA... and FIN
	kindCancel                      // no body: stop the request of this id; its FIN says so
	kindReopen                      // no body: a new engine instance; answered by FIN
	kindExit                        // no body
)

// Frames from a worker to the pool.
const (
	kindReady  frameKind = iota + 65 // ready
	kindAST                          // the engine's JSON tree of a statement
	kindSchema                       // an Arrow IPC schema message
	kindData                         // a u32 count of rows, then one FlightData in protobuf
	kindFin                          // fin: the request is over
)

var errProtocol = fault.New(fault.Internal, "an exec worker broke the protocol; the server's log has the details")

// A wire is one end of the socket between the pool and a worker. Frames are
// read by one goroutine at a time and written by any.
type wire struct {
	conn net.Conn
	r    *bufio.Reader

	mu sync.Mutex // guards writes to conn
}

func newWire(c net.Conn) *wire {
	const readAheadBytes = 32 << 10 // whole small frames in one read
	return &wire{conn: c, r: bufio.NewReaderSize(c, readAheadBytes)}
}

// send writes one frame, in one system call where possible.
func (w *wire) send(k frameKind, id uint32, body ...[]byte) error {
	n := 0
	for _, b := range body {
		n += len(b)
	}
	var h [frameHeaderBytes]byte
	binary.LittleEndian.PutUint32(h[:], uint32(n))
	h[4] = byte(k)
	binary.LittleEndian.PutUint32(h[5:], id)
	segments := make(net.Buffers, 0, 1+len(body))
	segments = append(segments, h[:])
	segments = append(segments, body...)
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := segments.WriteTo(w.conn); err != nil {
		return fmt.Errorf("send frame %d: %w", k, err)
	}
	return nil
}

// sendJSON writes a frame whose body is v in JSON.
func (w *wire) sendJSON(k frameKind, id uint32, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode frame %d: %w", k, err)
	}
	return w.send(k, id, b)
}

// A header is a frame whose body has not been read yet.
type header struct {
	kind  frameKind
	id    uint32
	bytes int
}

func (w *wire) header() (header, error) {
	var h [frameHeaderBytes]byte
	if _, err := io.ReadFull(w.r, h[:]); err != nil {
		return header{}, err
	}
	return header{
		kind:  frameKind(h[4]),
		id:    binary.LittleEndian.Uint32(h[5:]),
		bytes: int(binary.LittleEndian.Uint32(h[:])),
	}, nil
}

// body reads the body of the frame h, which may have at most bytesMax.
func (w *wire) body(h header, bytesMax int) ([]byte, error) {
	if h.bytes > bytesMax {
		return nil, fmt.Errorf("%w: frame %d of %d bytes", errProtocol, h.kind, h.bytes)
	}
	b := make([]byte, h.bytes)
	_, err := io.ReadFull(w.r, b)
	return b, err
}

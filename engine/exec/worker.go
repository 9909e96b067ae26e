package exec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/lakeward/lake/engine"
)

// WorkerCommand is the first argument of a worker process.
const WorkerCommand = "exec-worker"

// socketFD is the worker's end of the socket: the first file after standard
// error.
const socketFD = 3

// Exit codes of a worker. The pool only logs them.
const (
	exitOK = iota
	exitStart
	exitProtocol
)

// interruptEvery is how often a cancelled statement is interrupted again: the
// engine may clear an interrupt before it looks at it.
const interruptEvery = 250 * time.Millisecond

// WorkerMain is the worker role: it serves one pool over the socket that it
// inherited and returns the exit code when the pool has gone or said so.
func WorkerMain() int {
	conn, err := workerSocket()
	if err != nil {
		fmt.Fprintln(os.Stderr, "exec worker:", err)
		return exitStart
	}
	w := &worker{wire: newWire(conn), requests: make(chan request, 1)}
	if err := w.start(); err != nil {
		fmt.Fprintln(os.Stderr, "exec worker:", err)
		return exitStart
	}
	if err := w.serve(); err != nil {
		fmt.Fprintln(os.Stderr, "exec worker:", err)
		return exitProtocol
	}
	return exitOK
}

func workerSocket() (net.Conn, error) {
	f := os.NewFile(socketFD, "pool")
	if f == nil {
		return nil, errProtocol
	}
	defer f.Close()
	return net.FileConn(f)
}

// A worker runs one request at a time.
type worker struct {
	wire     *wire
	hello    hello
	inst     *instance
	requests chan request

	mu        sync.Mutex // guards what cancel looks at
	current   uint32     // id of the request that runs
	cancelled uint32     // id of the newest request that was cancelled
	conn      *conn      // what to interrupt, while there is something
}

// A request is a frame of the pool with its body.
type request struct {
	kind frameKind
	id   uint32
	body []byte
}

// start takes the pool's hello, confines the process and opens the engine.
func (w *worker) start() error {
	h, err := w.wire.header()
	if err != nil {
		return fmt.Errorf("read hello: %w", err)
	}
	body, err := w.wire.body(h, answerBytesMax)
	if err != nil {
		return fmt.Errorf("read hello: %w", err)
	}
	if h.kind != kindHello {
		return fmt.Errorf("%w: frame %d before hello", errProtocol, h.kind)
	}
	if err := json.Unmarshal(body, &w.hello); err != nil {
		return fmt.Errorf("read hello: %w", err)
	}
	if w.hello.Protocol != protocolVersion || w.hello.Build != buildID() {
		return fmt.Errorf("%w: the pool is of build %s, protocol %d", errProtocol, w.hello.Build, w.hello.Protocol)
	}
	// A worker's Go heap is a few MB beside the engine's memory; the default
	// would collect it every few batches.
	const collectPercent, goThreads = 400, 2
	debug.SetGCPercent(collectPercent)
	runtime.GOMAXPROCS(goThreads)
	if err := confine(w.hello); err != nil {
		return fmt.Errorf("confine: %w", err)
	}
	if w.inst, err = openInstance(w.hello); err != nil {
		return err
	}
	return w.wire.sendJSON(kindReady, 0, ready{Protocol: protocolVersion, Build: buildID(), Engine: engineVersion})
}

// serve runs requests until the pool says exit.
func (w *worker) serve() error {
	go w.read()
	for r := range w.requests {
		if r.kind == kindExit {
			w.inst.close()
			return nil
		}
		w.begin(r.id)
		f, err := w.handle(r)
		w.begin(0)
		if err != nil {
			f.Failure = asFailure(err)
		}
		if err := w.wire.sendJSON(kindFin, r.id, f); err != nil {
			return err
		}
	}
	return nil
}

// read takes frames as they come, so that a cancel is seen while a statement
// runs. It is not waited for: it ends with the process.
func (w *worker) read() {
	for {
		h, err := w.wire.header()
		if err != nil {
			// The pool is gone. A statement may be deep in the engine, where
			// no Go code can stop it, so the process ends here and now.
			code := exitOK
			if !errors.Is(err, io.EOF) {
				code = exitProtocol
			}
			syscall.Exit(code)
		}
		body, err := w.wire.body(h, requestBytesMax)
		if err != nil {
			syscall.Exit(exitProtocol)
		}
		switch h.kind {
		case kindCancel:
			w.cancel(h.id)
		case kindParse, kindPlan, kindExec, kindReopen, kindExit:
			select {
			case w.requests <- request{h.kind, h.id, body}:
			default: // the pool sends one at a time
				syscall.Exit(exitProtocol)
			}
		default:
			syscall.Exit(exitProtocol)
		}
	}
}

func (w *worker) handle(r request) (fin, error) {
	switch r.kind {
	case kindReopen:
		return fin{}, w.reopen()
	case kindParse:
		var p parseRequest
		if err := json.Unmarshal(r.body, &p); err != nil {
			return fin{}, err
		}
		row, err := w.scribe(w.inst.parse, p.SQL)
		if err != nil {
			return fin{}, err
		}
		if len(row[0]) > replyBytesMax {
			return fin{}, &failure{Class: "Out of Memory", Position: -1, Public: true, Message: "the statement has too many parts; load its values as a table and join it"}
		}
		return fin{}, w.wire.send(kindAST, r.id, []byte(row[0]))
	case kindPlan, kindExec:
		var st statement
		if err := json.Unmarshal(r.body, &st); err != nil {
			return fin{}, err
		}
		sql, again, err := w.text(st)
		if err != nil {
			return fin{}, err
		}
		f, err := w.statement(r, st, sql)
		return f, relocate(err, again, st.Tree)
	}
	return fin{}, errProtocol
}

// scribe runs a statement about texts, which a cancel interrupts.
func (w *worker) scribe(s *stream, parameter string) ([]string, error) {
	w.hold(w.inst.scribe)
	defer w.hold(nil)
	return s.texts(parameter)
}

// text writes the statement's tree as SQL, and returns that and its own tree.
func (w *worker) text(st statement) (string, *tree, error) {
	row, err := w.scribe(w.inst.regenerate, string(st.Tree))
	if err != nil {
		return "", nil, err
	}
	again, err := regate(row[0], row[1], st.Views)
	return row[0], again, err
}

// statement plans or runs a statement on a fresh connection.
func (w *worker) statement(r request, st statement, sql string) (fin, error) {
	c, err := w.inst.connect()
	if err != nil {
		return fin{}, err
	}
	w.hold(c)
	defer func() {
		w.hold(nil)
		c.close()
	}()
	for _, v := range st.Views {
		if err := c.run("CREATE TEMP VIEW " + quoteName(v.Name) + " AS " + v.SQL); err != nil {
			return fin{}, w.cause(r.id, elsewhere(err))
		}
		if err := w.stopped(r.id); err != nil {
			return fin{}, err
		}
	}
	s, err := c.prepare(sql)
	if err != nil {
		return fin{}, w.cause(r.id, err)
	}
	defer s.close()
	if !s.isSelect() {
		return fin{}, fmt.Errorf("%w: the statement is not a query", errProtocol)
	}
	var values binding
	if st.Params != nil {
		if values, err = newBinding(st.Params, st.ParamColumns); err != nil {
			return fin{}, err
		}
		defer values.close()
	}
	if r.kind == kindPlan {
		f, err := w.plan(r.id, c, s, st, sql, values)
		return f, w.cause(r.id, err)
	}
	if err := w.stopped(r.id); err != nil {
		return fin{}, err
	}
	if st.Explain != nil {
		f, err := w.explain(r, c, st, sql, values)
		return f, w.cause(r.id, err)
	}
	if err := s.begin(st.ParamNames, values); err != nil {
		return fin{}, w.cause(r.id, err)
	}
	columns, err := newConverter(s.schema, st)
	if err != nil {
		return fin{}, err
	}
	e, err := newEncoder(w.wire, r.id, columns)
	if err != nil {
		return fin{}, err
	}
	err = w.cause(r.id, e.run(s))
	return fin{Rows: e.rows, Batches: e.batches}, err
}

// plan answers with the schemas of a statement's result and of its parameters.
func (w *worker) plan(id uint32, c *conn, s *stream, st statement, sql string, values binding) (fin, error) {
	params, err := s.params(st.ParamNames)
	if err != nil {
		return fin{}, err
	}
	result := s.schema
	switch {
	case values != nil:
		result, err = c.resultOf(sql, st.ParamNames, values)
	case result == nil:
		result, err = c.guess(s, st.ParamNames, sql)
	}
	if err != nil {
		return fin{}, err
	}
	columns, err := newConverter(result, st)
	if err != nil {
		return fin{}, err
	}
	if st.Explain != nil {
		columns.schema = explainSchema
	}
	var f fin
	if params.NumFields() > 0 {
		f.Params = engine.EncodeSchema(params)
	}
	return f, w.wire.send(kindSchema, id, engine.EncodeSchema(columns.schema))
}

func (w *worker) begin(id uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.current = id
}

func (w *worker) hold(c *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conn = c
}

// cancel interrupts the request id now and again until it is over.
func (w *worker) cancel(id uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancelled = id
	if w.current != id {
		return // over, or about to begin: it looks at cancelled
	}
	if w.conn != nil {
		w.conn.interrupt()
	}
	time.AfterFunc(interruptEvery, func() { w.cancel(id) })
}

var errInterrupted = &failure{Class: "INTERRUPT", Message: "Interrupted!", Position: -1}

// stopped returns an error if the request id was cancelled.
func (w *worker) stopped(id uint32) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancelled == id {
		return errInterrupted
	}
	return nil
}

// cause returns the reason for err: after an interrupt the engine may say
// something else.
func (w *worker) cause(id uint32, err error) error {
	if err == nil {
		return nil
	}
	if stopped := w.stopped(id); stopped != nil {
		return stopped
	}
	return err
}

// reopen replaces the engine instance, which gives its memory back.
func (w *worker) reopen() error {
	w.inst.close()
	debug.FreeOSMemory()
	trimHeap()
	var err error
	if w.inst, err = openInstance(w.hello); err != nil {
		w.inst = &instance{}
	}
	return err
}

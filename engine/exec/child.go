package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/ident"
)

// Bounds on a worker's life.
const (
	startMax       = 10 * time.Second // from fork to READY
	exitMax        = 2 * time.Second  // from EXIT, or the end of its socket, to its death
	workerQueries  = 1000
	workerAge      = 10 * time.Minute
	growthBytesMax = 64 << 20 // private memory over what it had when it was new
	stderrBytesMax = 8 << 10  // kept for the log
)

// A child is the pool's handle on one worker. Between take and put it belongs
// to one request.
type child struct {
	cmd    *exec.Cmd
	wire   *wire
	dir    string // its own directory
	in     string
	stderr *head
	dead   chan struct{} // closed when it has been reaped
	state  *os.ProcessState
	killed atomic.Bool // the pool ended it on purpose

	born     time.Time
	baseline int64         // private bytes when new
	requests atomic.Uint32 // id of the newest
	queries  int
	files    int // names used in in/, never again
	linked   []string
}

// head keeps the first bytes written to it.
type head struct {
	mu sync.Mutex
	b  []byte
}

func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.b = append(h.b, p[:min(len(p), stderrBytesMax-len(h.b))]...)
	return len(p), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.b)
}

// A nursery starts workers from one thread that lives as long as the pool: the
// system ends a child with the thread that started it, not with the process.
type nursery struct {
	starts chan func()
	done   chan struct{}
}

func newNursery() *nursery {
	n := &nursery{starts: make(chan func()), done: make(chan struct{})}
	go func() {
		defer close(n.done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for f := range n.starts {
			f()
		}
	}()
	return n
}

func (n *nursery) start(cmd *exec.Cmd) error {
	errs := make(chan error)
	n.starts <- func() { errs <- cmd.Start() }
	return <-errs
}

func (n *nursery) close() {
	close(n.starts)
	<-n.done
}

// spawn starts a worker and waits until it is ready.
func (p *Pool) spawn(ctx context.Context) (*child, error) {
	name, err := ident.NewObjectName()
	if err != nil {
		return nil, err
	}
	c := &child{
		dir:    filepath.Join(p.run, name),
		stderr: &head{},
		dead:   make(chan struct{}),
		born:   time.Now(),
	}
	c.in = filepath.Join(c.dir, "in")
	spill := filepath.Join(c.dir, "spill")
	for _, d := range []string{c.dir, c.in, filepath.Join(c.dir, "out"), spill} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, fmt.Errorf("make a worker's directory: %w", err)
		}
	}
	conn, theirs, err := socketPair()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a worker's socket: %w", err), os.RemoveAll(c.dir))
	}
	c.wire = newWire(conn)
	c.cmd = exec.Command(p.o.Executable, WorkerCommand)
	c.cmd.Dir = c.dir
	c.cmd.Env = []string{} // nil would pass ours on
	c.cmd.ExtraFiles = []*os.File{theirs}
	c.cmd.Stderr = c.stderr
	separate(c.cmd)
	err = p.nursery.start(c.cmd)
	theirs.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a worker: %w", err), c.release())
	}
	p.stats.spawns.Add(1)
	p.mu.Lock()
	p.all[c] = true
	if p.closed {
		c.kill()
	}
	p.mu.Unlock()
	p.tasks.Add(1)
	go func() {
		defer p.tasks.Done()
		_ = c.cmd.Wait() // the state says it all
		c.state = c.cmd.ProcessState
		p.mourn(c)
		close(c.dead)
		p.bury(c)
	}()
	if err := c.greet(ctx, hello{
		Protocol: protocolVersion, Build: buildID(), Parent: os.Getpid(),
		In: c.in, Spill: spill,
		Threads: p.o.Threads, MemoryBytes: p.o.MemoryBytes, SpillBytes: p.o.SpillBytes,
	}); err != nil {
		c.kill()
		<-c.dead
		return nil, fmt.Errorf("worker did not start: %w (%v, stderr %q)", err, c.state, c.stderr)
	}
	c.baseline = privateBytes(c.cmd.Process.Pid)
	return c, nil
}

// socketPair returns both ends of a socket that no other child inherits.
func socketPair() (net.Conn, *os.File, error) {
	syscall.ForkLock.RLock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "worker"), os.NewFile(uintptr(fds[1]), "pool")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return conn, theirs, nil
}

func (c *child) greet(ctx context.Context, h hello) error {
	ctx, cancel := context.WithTimeout(ctx, startMax)
	defer cancel()
	defer context.AfterFunc(ctx, c.kill)()
	if err := c.wire.sendJSON(kindHello, 0, h); err != nil {
		return err
	}
	head, err := c.wire.header()
	if err != nil {
		return fmt.Errorf("read ready: %w", err)
	}
	body, err := c.wire.body(head, answerBytesMax)
	if err != nil {
		return fmt.Errorf("read ready: %w", err)
	}
	var r ready
	if err := json.Unmarshal(body, &r); err != nil || head.kind != kindReady {
		return fmt.Errorf("%w: frame %d before ready", errProtocol, head.kind)
	}
	if r.Protocol != h.Protocol || r.Build != h.Build || r.Engine != engineVersion {
		return fmt.Errorf("%w: the worker is of build %s, protocol %d", errProtocol, r.Build, r.Protocol)
	}
	return nil
}

// kill ends the process at once. It may be called at any time.
func (c *child) kill() {
	c.killed.Store(true)
	_ = c.cmd.Process.Kill() // it may be dead already
}

// retire asks the process to end and sees to it that it does.
func (c *child) retire() {
	c.killed.Store(true)
	_ = c.wire.send(kindExit, 0)
	t := time.AfterFunc(exitMax, c.kill)
	defer t.Stop()
	<-c.dead
}

// release gives back what a dead worker had.
func (c *child) release() error {
	c.wire.conn.Close()
	return os.RemoveAll(c.dir)
}

// death describes how a worker died whose socket ended with cause. For logs.
func (c *child) death(cause error) error {
	t := time.AfterFunc(exitMax, func() { _ = c.cmd.Process.Kill() }) // it is still a death of its own
	defer t.Stop()
	<-c.dead
	return fmt.Errorf("worker %d died: %v, stderr %q: %w", c.cmd.Process.Pid, c.state, c.stderr, cause)
}

// place links a statement's files into in/. It returns their paths.
func (c *child) place(ctx context.Context, objects []string, place func(ctx context.Context, object, path string) error) ([]string, error) {
	if place == nil && len(objects) > 0 {
		return nil, fault.New(fault.Internal, "the query engine was not told where objects are")
	}
	paths := make([]string, len(objects))
	for i, object := range objects {
		c.files++
		paths[i] = filepath.Join(c.in, strconv.Itoa(c.files)+".parquet")
		c.linked = append(c.linked, paths[i])
		if err := place(ctx, object, paths[i]); err != nil {
			return nil, fmt.Errorf("place a data file: %w", err)
		}
	}
	return paths, nil
}

// unlink removes what place made.
func (c *child) unlink() error {
	var errs []error
	for _, p := range c.linked {
		if err := os.Remove(p); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	c.linked = nil
	return errors.Join(errs...)
}

// A reply is what a request was answered with, other than data.
type reply struct {
	body []byte // of the last frame of the kind that was asked for
	fin  fin
}

// A lostError is a worker that died or talks nonsense.
type lostError struct {
	cause  error
	unsent bool // it was gone before the request reached it
}

func (e *lostError) Error() string { return "exec worker lost: " + e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

// ask sends a request and reads up to its FIN, however long that takes.
func (c *child) ask(kind frameKind, v any, answer frameKind) (reply, error) {
	id, err := c.request(kind, v)
	if err != nil {
		return reply{}, err
	}
	var r reply
	for {
		h, err := c.header(id)
		if err != nil {
			return reply{}, err
		}
		switch {
		case h.kind == kindFin:
			if r.fin, err = c.fin(h); err != nil {
				return reply{}, err
			}
			return r, nil
		case h.kind == answer && answer != 0:
			if r.body, err = c.wire.body(h, replyBytesMax); err != nil {
				return reply{}, &lostError{cause: err}
			}
		default:
			return reply{}, c.nonsense(h)
		}
	}
}

func (c *child) request(kind frameKind, v any) (uint32, error) {
	var b []byte
	if v != nil {
		var err error
		if b, err = json.Marshal(v); err != nil {
			return 0, err
		}
	}
	if len(b) > requestBytesMax {
		return 0, fault.Newf(fault.Exhausted, "the statement and its files take %d bytes, more than the %d that a worker is sent; query fewer tables or compact them", len(b), requestBytesMax)
	}
	id := c.requests.Add(1)
	if err := c.wire.send(kind, id, b); err != nil {
		return 0, &lostError{cause: err, unsent: true}
	}
	return id, nil
}

// header reads the next frame's header, which must be of request id.
func (c *child) header(id uint32) (header, error) {
	h, err := c.wire.header()
	if err != nil {
		return h, &lostError{cause: err}
	}
	if h.id != id {
		return h, c.nonsense(h)
	}
	return h, nil
}

func (c *child) nonsense(h header) error {
	return &lostError{cause: fmt.Errorf("%w: frame %d of request %d while %d runs", errProtocol, h.kind, h.id, c.requests.Load())}
}

func (c *child) fin(h header) (fin, error) {
	body, err := c.wire.body(h, answerBytesMax)
	if err != nil {
		return fin{}, &lostError{cause: err}
	}
	var f fin
	if err := json.Unmarshal(body, &f); err != nil {
		return fin{}, &lostError{cause: fmt.Errorf("%w: FIN: %w", errProtocol, err)}
	}
	return f, nil
}

// graceMax is how long a cancelled worker may take to answer.
const graceMax = 500 * time.Millisecond

// A watch stops what a worker does when a context ends: it asks, and kills a
// worker that does not obey.
type watch struct {
	release func() bool

	mu    sync.Mutex
	fired time.Time // zero if the context has not ended in time
	kill  *time.Timer
	over  bool
}

func (c *child) watch(ctx context.Context) *watch {
	w := &watch{}
	w.release = context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.over {
			return
		}
		w.fired = time.Now()
		w.kill = time.AfterFunc(graceMax, c.kill)      // also frees a send that blocks
		_ = c.wire.send(kindCancel, c.requests.Load()) // a worker that is gone needs none
	})
	return w
}

// stop ends the watch and reports how long ago it fired, or 0.
func (w *watch) stop() time.Duration {
	w.release()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.fired.IsZero() {
		return 0
	}
	w.kill.Stop()
	return time.Since(w.fired)
}

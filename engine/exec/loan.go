package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
)

// sqlBytesMax bounds a statement's text. The parser's time grows with its
// square: this much takes it 0.2 s and 140 MB at worst.
const sqlBytesMax = 64 << 10

// Bounds on the time for parsing and for planning. Among texts of the allowed
// size are some that hold the parser for long, such as nested comments.
const (
	parseMax = 3 * time.Second
	planMax  = 10 * time.Second
)

// stopMax is how soon a cancelled worker must have stopped to be used again.
const stopMax = 250 * time.Millisecond

func checkText(sql string) error {
	switch {
	case len(sql) > sqlBytesMax:
		return fault.Newf(fault.Exhausted, "the statement has %d bytes, more than the %d allowed; load the values as a table and join it", len(sql), sqlBytesMax)
	case !utf8.ValidString(sql):
		return fault.New(fault.Invalid, "the statement is not valid UTF-8; send it as UTF-8")
	}
	for i := range len(sql) {
		if sql[i] == 0 {
			return fault.New(fault.Invalid, "the statement holds a NUL byte; take it out")
		}
	}
	return nil
}

// A loan is a worker lent to one statement.
type loan struct {
	p    *Pool
	c    *child
	sql  string
	plan *plan // once the statement has been resolved

	ended  func() error // why the statement's context ended, or nil
	cancel context.CancelFunc
	watch  *watch
	sent   bool // rows have gone to the caller
}

// begin checks a text, lends it a worker and has it parsed. The returned
// context has the statement's deadline. The caller calls end.
func (p *Pool) begin(ctx context.Context, sql string, most time.Duration) (context.Context, *loan, *tree, error) {
	if err := checkText(sql); err != nil {
		return nil, nil, nil, err
	}
	if err := p.quarantine.check(sql, time.Now()); err != nil {
		return nil, nil, nil, err
	}
	for again := false; ; again = true {
		c, err := p.lend(ctx)
		if err != nil {
			return nil, nil, nil, err
		}
		within, cancel := context.WithTimeout(ctx, most)
		l := &loan{p: p, c: c, sql: sql}
		t, err := l.parse(within)
		if err == nil {
			l.ended, l.cancel, l.watch = within.Err, cancel, c.watch(within)
			return within, l, t, nil
		}
		lost, ok := errors.AsType[*lostError](err)
		err = l.end(err)
		cancel()
		if ok && lost.unsent && !again && ctx.Err() == nil {
			continue // it had died idle, before it saw the text
		}
		return nil, nil, nil, err
	}
}

// end gives the worker back, or ends it if err says so, and returns what the
// caller may see of err.
func (l *loan) end(err error) error {
	why := l.ended()
	stopping := l.watch.stop()
	l.cancel()
	if lost, ok := errors.AsType[*lostError](err); ok {
		return l.lost(why, lost)
	}
	if err := l.c.unlink(); err != nil {
		l.p.log.Warn("exec worker's input was not removed", "error", err)
	}
	l.c.queries++
	f, failed := errors.AsType[*failure](err)
	switch {
	case failed && f.broken():
		l.p.log.Error("engine failed", "class", f.Class, "message", f.Message)
		l.p.drop(l.c)
	case stopping > stopMax:
		l.p.drop(l.c)
	default:
		l.p.put(l.c)
	}
	switch {
	case why != nil && err != nil:
		return l.p.over(why)
	case failed:
		return l.translate(f)
	}
	return err
}

// ask sends the worker a request, unless the statement's time is over.
func (l *loan) ask(kind frameKind, v any, answer frameKind) (reply, error) {
	if err := l.ended(); err != nil {
		return reply{}, err
	}
	r, err := l.c.ask(kind, v, answer)
	if err != nil {
		return reply{}, err
	}
	if r.fin.Failure != nil {
		return reply{}, r.fin.Failure
	}
	return r, nil
}

// over is the error of a statement whose context has ended.
func (p *Pool) over(why error) error {
	if errors.Is(why, context.DeadlineExceeded) {
		return fault.Detail(errDeadline, "the statement ran out of time (this server gives one %v at most); select less, or narrow it with WHERE", p.o.DeadlineMax)
	}
	return why
}

var (
	errDeadline = fault.New(fault.Deadline, "the statement ran out of time")
	errDied     = fault.New(fault.Unavailable, "the query's worker died before it gave any row; the same statement is not run again for a while: change it, or report it with the server's log")
	errCut      = fault.New(fault.Internal, "stream lost, not resumable: the query's worker died after it had given rows; those are not the whole result")
)

// lost accounts for a worker that is dead or must die. Its errors do not wrap
// the cause, which may be io.EOF: to callers that is the end of a whole result.
func (l *loan) lost(why error, lost *lostError) error {
	asked := l.c.killed.Load()
	if errors.Is(lost.cause, errProtocol) {
		l.c.kill()
	}
	death := l.c.death(lost.cause)
	l.p.drop(l.c)
	if why != nil {
		return fmt.Errorf("%w: %v", l.p.over(why), death)
	}
	l.p.mu.Lock()
	closed := l.p.closed
	l.p.mu.Unlock()
	if closed {
		return fmt.Errorf("%w: %v", ErrClosed, death)
	}
	if !asked && !lost.unsent {
		l.p.quarantine.add(l.sql, time.Now())
	}
	l.p.log.Error("statement lost its worker", "error", death, "sent", l.sent)
	if l.sent {
		return fmt.Errorf("%w: %v", errCut, death)
	}
	return fmt.Errorf("%w: %v", errDied, death)
}

// parse returns the statement's tree, which has passed the gate. If it fails,
// the caller ends the loan.
func (l *loan) parse(ctx context.Context) (*tree, error) {
	ctx, cancel := context.WithTimeout(ctx, parseMax)
	l.ended, l.cancel, l.watch = ctx.Err, cancel, l.c.watch(ctx)
	sql, explain, err := cutExplain(l.sql)
	if err != nil {
		return nil, err
	}
	r, err := l.ask(kindParse, parseRequest{sql}, kindAST)
	if err != nil {
		return nil, err
	}
	t, err := readTree(sql, r.body)
	if err != nil {
		return nil, err
	}
	t.explain = explain
	l.watch.stop()
	cancel()
	return t, nil
}

// statement binds the tables of a tree and returns what the worker is asked,
// with the tables' files in place if they are to be read.
func (l *loan) statement(ctx context.Context, t *tree, q engine.Query, files bool) (statement, error) {
	var columns []int
	var err error
	if q.Params != nil {
		if columns, err = checkParams(t.params, q.Params); err != nil {
			return statement{}, err
		}
	}
	if l.plan, err = t.resolve(q.Tables); err != nil {
		return statement{}, err
	}
	tree, err := json.Marshal(l.plan.tree)
	if err != nil {
		return statement{}, err
	}
	st := statement{Tree: tree, Spelling: l.plan.spelling, ParamNames: t.params, Params: q.Params, ParamColumns: columns, Explain: t.explain}
	st.Origins, st.Exact, st.Engine = l.plan.origins()
	for i := range l.plan.tables {
		t := &l.plan.tables[i]
		if files {
			l.prune(t)
			objects := make([]string, len(t.scan.Files))
			for k, f := range t.scan.Files {
				objects[k] = f.Object
			}
			if t.paths, err = l.c.place(ctx, objects, l.p.o.Place); err != nil {
				return statement{}, err
			}
		}
		var sql string
		switch {
		case t.list == "":
			sql, err = viewSQL(t.scan.Columns, t.paths)
		case files:
			sql, err = listings[t.list].sql(q.Directory)
		default:
			sql, err = listings[t.list].sql(nil)
		}
		if err != nil {
			return statement{}, err
		}
		st.Views = append(st.Views, view{Name: t.view, SQL: sql})
	}
	return st, nil
}

// prune leaves files of a table out that hold no row which the statement asks
// for.
func (l *loan) prune(t *planTable) {
	if t.may == nil || t.uses != 1 {
		return
	}
	kept := prune(t.scan.Files, t.may)
	l.p.stats.pruned.Add(int64(len(t.scan.Files) - len(kept)))
	t.scan.Files = kept
}

package exec

import (
	"github.com/apache/arrow-go/v18/arrow"
	duckdb "github.com/duckdb/duckdb-go-bindings"
)

// InstancesOpened is how many engine instances this process has opened as a
// worker would.
func InstancesOpened() int64 { return instancesOpened.Load() }

// Plain is an engine without a gate, a pool or a lock: what lake's answers are
// held against.
type Plain struct {
	inst *instance
	conn *conn
}

// OpenPlain opens the engine in this process.
func OpenPlain() (*Plain, error) {
	p := &Plain{inst: &instance{}}
	if duckdb.Open(":memory:", &p.inst.db) == duckdb.StateError {
		return nil, errEngine
	}
	var err error
	if p.conn, err = p.inst.connect(); err != nil {
		return nil, err
	}
	return p, p.Exec("SET GLOBAL errors_as_json = true")
}

// Exec runs a statement for its effect.
func (p *Plain) Exec(sql string) error { return p.conn.run(sql) }

// Query returns all rows of a statement.
func (p *Plain) Query(sql string) (*arrow.Schema, []arrow.RecordBatch, error) {
	s, err := p.conn.prepare(sql)
	if err != nil {
		return nil, nil, err
	}
	defer s.close()
	if err := s.begin(nil, nil); err != nil {
		return nil, nil, err
	}
	c, err := newConverter(s.schema, statement{})
	if err != nil {
		return nil, nil, err
	}
	var all []arrow.RecordBatch
	for {
		b, err := s.next()
		if b == nil || err != nil {
			return c.schema, all, err
		}
		out, err := c.convert(b)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, out)
	}
}

// Close closes the engine.
func (p *Plain) Close() {
	p.conn.close()
	p.inst.close()
}

// FunctionVerdicts is functions.txt: kind and name to what is said of it.
func FunctionVerdicts() string { return functionsText }

// WorkerPIDs are the pool's processes.
func (p *Pool) WorkerPIDs() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	var pids []int
	for c := range p.all {
		pids = append(pids, c.cmd.Process.Pid)
	}
	return pids
}

package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lakeward/lake/engine"
	"github.com/lakeward/lake/fault"
)

// RogueCommand is the role of a worker that has been taken over. Its second
// argument says what it does.
const RogueCommand = "rogue-worker"

const oneRow = `{"error":false,"statements":[{"node":{"type":"SELECT_NODE","modifiers":[],"cte_map":{"map":[]},"select_list":[],"from_table":{"type":"EMPTY","alias":"","sample":null},"where_clause":null,"group_expressions":[],"group_sets":[],"aggregate_handling":"STANDARD_HANDLING","having":null,"sample":null,"qualify":null},"named_param_map":[]}]}`

// rogues answer EXEC, PLAN and, if they say so, PARSE.
var rogues = map[string]func(w *wire, k frameKind, id uint32){
	"claims more bytes than a frame may have": func(w *wire, _ frameKind, id uint32) {
		_, _ = w.conn.Write([]byte{0xff, 0xff, 0xff, 0xff, byte(kindData), byte(id), 0, 0, 0})
	},
	"sends a frame of an unknown kind": func(w *wire, _ frameKind, id uint32) { _ = w.send(99, id) },
	"answers another request":          func(w *wire, _ frameKind, id uint32) { _ = w.send(kindData, id+1, make([]byte, 8)) },
	"answers READY again":              func(w *wire, _ frameKind, id uint32) { _ = w.sendJSON(kindReady, id, ready{}) },
	"sends a message that is none":     func(w *wire, _ frameKind, id uint32) { _ = w.send(kindData, id, []byte("\x00\x00\x00\x00nonsense")) },
	"sends an empty message":           func(w *wire, _ frameKind, id uint32) { _ = w.send(kindData, id) },
	"adds a field to a message": func(w *wire, _ frameKind, id uint32) {
		_ = w.send(kindData, id, []byte("\x00\x00\x00\x00\x12\x01x\x1a\x01y"))
	},
	"sends a FIN that is no JSON": func(w *wire, _ frameKind, id uint32) { _ = w.send(kindFin, id, []byte("{")) },
	"sends a FIN of a gigabyte": func(w *wire, _ frameKind, id uint32) {
		_, _ = w.conn.Write([]byte{0, 0, 0, 0x40, byte(kindFin), byte(id), 0, 0, 0})
	},
	"finishes without a schema": func(w *wire, _ frameKind, id uint32) { _ = w.sendJSON(kindFin, id, fin{}) },
	"finishes with other counts": func(w *wire, k frameKind, id uint32) {
		if k == kindPlan {
			_ = w.send(99, id)
			return
		}
		_ = w.send(kindData, id, []byte("\x00\x00\x00\x00\x12\x01x"))
		_ = w.send(kindData, id, []byte("\x05\x00\x00\x00\x12\x01x\xc2\x3e\x01y"))
		_ = w.sendJSON(kindFin, id, fin{Rows: 4, Batches: 2})
	},
	"ends without FIN": func(w *wire, k frameKind, id uint32) {
		_ = w.send(kindData, id, []byte("\x00\x00\x00\x00\x12\x01x"))
		syscall.Exit(0)
	},
	"sends a schema that is none": func(w *wire, k frameKind, id uint32) {
		if k == kindExec {
			_ = w.send(99, id)
			return
		}
		_ = w.send(kindSchema, id, []byte("\xff\xff\xff\xff\x10\x00\x00\x00nonsense that is no schema"))
		_ = w.sendJSON(kindFin, id, fin{})
	},
	"never answers":                       func(*wire, frameKind, uint32) {},
	"parse: sends a tree that is no tree": func(w *wire, _ frameKind, id uint32) { rogueTree(w, id, `[1, 2]`) },
	"parse: sends a tree without a node":  func(w *wire, _ frameKind, id uint32) { rogueTree(w, id, `{"error":false,"statements":[7]}`) },
	"parse: sends a tree of unknown nodes": func(w *wire, _ frameKind, id uint32) {
		rogueTree(w, id, `{"error":false,"statements":[{"node":{"type":"DROP_NODE"}}]}`)
	},
	"parse: sends a tree that is too deep": func(w *wire, _ frameKind, id uint32) {
		rogueTree(w, id, `{"error":false,"statements":`+strings.Repeat("[", 1<<20)+`}`)
	},
	"parse: sends no tree": func(w *wire, _ frameKind, id uint32) { _ = w.sendJSON(kindFin, id, fin{}) },
}

func rogueTree(w *wire, id uint32, tree string) {
	_ = w.send(kindAST, id, []byte(tree))
	_ = w.sendJSON(kindFin, id, fin{})
}

// RogueMain is the role itself.
func RogueMain(name string) int {
	conn, err := workerSocket()
	if err != nil {
		return 1
	}
	w := newWire(conn)
	for {
		h, err := w.header()
		if err != nil {
			return 0
		}
		if _, err := w.body(h, requestBytesMax); err != nil {
			return 1
		}
		switch {
		case h.kind == kindHello:
			_ = w.sendJSON(kindReady, 0, ready{Protocol: protocolVersion, Build: buildID(), Engine: engineVersion})
		case h.kind == kindExit:
			return 0
		case h.kind == kindParse && !strings.HasPrefix(name, "parse: "):
			rogueTree(w, h.id, oneRow)
		case h.kind == kindParse || h.kind == kindPlan || h.kind == kindExec:
			rogues[name](w, h.kind, h.id)
		}
	}
}

// Whatever a worker says, the pool answers with an error, in time, and goes on.
func TestAWorkerIsNotTrusted(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name := range rogues {
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "rogue")
			script := fmt.Sprintf("#!/bin/sh\nexec '%s' %s '%s'\n", self, RogueCommand, name)
			if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			p, err := Open(t.Context(), Options{Dir: t.TempDir(), Executable: program, Slots: 1, Warm: 1, MemoryBytes: 512 << 20, DeadlineMax: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if strings.HasPrefix(name, "parse: ") {
				if _, err := p.Tables(t.Context(), "SELECT 1"); err == nil {
					t.Error("Tables believed it")
				}
				return
			}
			for i, ask := range []func(engine.Query) error{
				func(q engine.Query) error { _, err := p.Describe(t.Context(), q); return err },
				func(q engine.Query) error { return rogueRows(t.Context(), p, q) },
			} {
				err := ask(engine.Query{SQL: fmt.Sprintf("SELECT %d", i)})
				switch k := fault.KindOf(err); {
				case err == nil, errors.Is(err, io.EOF), k != fault.Internal && k != fault.Unavailable && k != fault.Deadline:
					t.Errorf("request %d: %v (%v)", i, err, k)
				}
			}
		})
	}
}

func rogueRows(ctx context.Context, p *Pool, q engine.Query) error {
	r, err := p.Query(ctx, q)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		m, err := r.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		m.Release()
	}
}

// What is run must be what the gate has read: a text that reads anything else
// than the statement's views does not pass, however it came to be.
func TestARegeneratedTextIsReadAgain(t *testing.T) {
	p, err := OpenPlain()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	views := []view{{Name: "__lake_0"}}
	for sql, ok := range map[string]bool{
		`SELECT t.a FROM temp.main.__lake_0 AS t`:                    true,
		`WITH c AS (SELECT 1) SELECT * FROM c, temp.main.__lake_0 x`: true,
		`SELECT * FROM temp.main.__lake_1`:                           false,
		`SELECT * FROM __lake_0`:                                     false,
		`SELECT * FROM main.t`:                                       false,
		`SELECT * FROM 'x.parquet'`:                                  false,
		`SELECT * FROM read_text('x')`:                               false,
		`SELECT 1; SELECT 2`:                                         false,
		`SELECT getvariable('x')`:                                    false,
	} {
		_, batches, err := p.Query("SELECT json_serialize_sql(" + quoteText(sql) + ")")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := regate(sql, batches[0].Column(0).ValueStr(0), views); (err == nil) != ok {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// A worker that finds its engine open refuses to serve.
func TestAnUnlockedEngineFailsTheSelfTest(t *testing.T) {
	p, err := OpenPlain()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.conn.selfTest(); err == nil || !strings.Contains(err.Error(), "not locked") {
		t.Errorf("got %v", err)
	}
}

func TestALockedEngine(t *testing.T) {
	dir := t.TempDir()
	h := hello{In: filepath.Join(dir, "in"), Spill: filepath.Join(dir, "spill"), Threads: 1, MemoryBytes: 256 << 20, SpillBytes: 1 << 30}
	for _, d := range []string{h.In, h.Spill} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(dir, "outside.csv")
	if err := os.WriteFile(outside, []byte("a\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(h.In, "inside.csv")
	if err := os.WriteFile(inside, []byte("a\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	i, err := openInstance(h)
	if err != nil {
		t.Fatal(err)
	}
	defer i.close()
	c, err := i.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	for sql, ok := range map[string]bool{
		"SELECT * FROM read_csv(" + quoteText(inside) + ")":                 true,
		"SELECT * FROM read_csv(" + quoteText(outside) + ")":                false,
		"SELECT * FROM read_csv(" + quoteText(h.In+"/../outside.csv") + ")": false,
		"SELECT * FROM read_text('/proc/self/fd/0')":                        false,
		"SELECT * FROM glob(" + quoteText(dir+"/*") + ")":                   false,
		"SELECT * FROM read_csv('https://example.org/x.csv')":               false,
		"COPY (SELECT 1) TO " + quoteText(dir+"/new.csv"):                   false,
		"ATTACH " + quoteText(dir+"/new.db"):                                false,
		"SET temp_directory = '/tmp'":                                       false,
		"SET allowed_directories = ['/']":                                   false,
		"SET enable_external_access = true":                                 false,
		"RESET lock_configuration":                                          false,
		"SET memory_limit = '300MB'":                                        true, // the pool's own lever
		"INSTALL httpfs":                                                    false,
		"LOAD httpfs":                                                       false,
	} {
		if err := c.run(sql); (err == nil) != ok {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func FuzzReadTree(f *testing.F) {
	f.Add([]byte(oneRow))
	f.Add([]byte(`{"error":true,"error_type":"parser","error_message":"x","position":"3"}`))
	p, err := OpenPlain()
	if err != nil {
		f.Fatal(err)
	}
	defer p.Close()
	cases, err := os.ReadFile("testdata/sql/select.sql")
	if err != nil {
		f.Fatal(err)
	}
	for sql := range strings.Lines(string(cases)) {
		_, batches, err := p.Query("SELECT json_serialize_sql(" + quoteText(sql) + ")")
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(batches[0].Column(0).ValueStr(0)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tree, err := readTree("SELECT 1", b)
		if err != nil {
			return
		}
		names, err := tree.tables()
		if err != nil {
			return
		}
		var bindings []engine.Binding
		for _, n := range names {
			bindings = append(bindings, engine.Binding{Table: n.Table, At: n.At})
		}
		plan, err := tree.resolve(bindings)
		if err != nil {
			return
		}
		plan.origins()
		if _, err := json.Marshal(tree.root); err != nil {
			t.Error(err)
		}
	})
}

func FuzzCheckFlight(f *testing.F) {
	f.Add([]byte("\x12\x01x\xc2\x3e\x01y"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if checkFlight(b) == nil && b[0] != 0x12 {
			t.Errorf("%x passed", b)
		}
	})
}

func FuzzParseFailure(f *testing.F) {
	f.Add(`Parser Error: {"exception_type":"Parser","exception_message":"x","position":"7"}`)
	f.Fuzz(func(t *testing.T, s string) {
		if parseFailure(s) == nil {
			t.Error("no failure")
		}
	})
}

package sdk_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/lakeward/lake/sdk"
)

// writeFile makes a file of n rows, of a format by its extension.
func writeFile(t testing.TB, path string, first, n int64, o ...ipc.Option) string {
	t.Helper()
	var b bytes.Buffer
	o = append(o, ipc.WithSchema(schema))
	var w interface {
		Write(arrow.RecordBatch) error
		Close() error
	}
	var err error
	switch filepath.Ext(path) {
	case ".parquet":
		w, err = pqarrow.NewFileWriter(schema, &b, nil, pqarrow.DefaultWriterProps())
	case ".arrow":
		w, err = ipc.NewFileWriter(&b, o...)
	case ".arrows":
		w = ipc.NewWriter(&b, o...)
	}
	if err != nil {
		t.Fatal(err)
	}
	for at := int64(0); at < n; at += 1000 {
		if err := w.Write(numbers(first+at, min(1000, n-at))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoadReadsEachFormat(t *testing.T) {
	l := open(t)
	dir := t.TempDir()
	for i, tt := range []struct {
		name   string
		files  []string
		format sdk.Format
		rows   int64
	}{
		{name: "Parquet", files: []string{writeFile(t, filepath.Join(dir, "a.parquet"), 0, 2500)}, rows: 2500},
		{name: "an Arrow file", files: []string{writeFile(t, filepath.Join(dir, "a.arrow"), 0, 2500)}, rows: 2500},
		{name: "an Arrow stream", files: []string{writeFile(t, filepath.Join(dir, "a.arrows"), 0, 2500)}, format: sdk.Arrow, rows: 2500},
		{name: "an Arrow file without rows", files: []string{writeFile(t, filepath.Join(dir, "empty.arrow"), 0, 0)}, rows: 0},
		{name: "both kinds of Arrow", files: []string{filepath.Join(dir, "a.arrow"), filepath.Join(dir, "a.arrows")}, rows: 5000},
	} {
		table := fmt.Sprint("demo.t", i)
		var told int64
		load := sdk.Load{Table: table, Files: tt.files, Format: tt.format, Create: true, Operation: newOp(t), Progress: func(n int64) { told = n }}
		done, err := l.Load(t.Context(), load)
		if err != nil || done.Rows != tt.rows || done.Version != 1 || told != tt.rows || l.count(t, table) != tt.rows {
			t.Errorf("%s: %+v, %d rows told (%v)", tt.name, done, told, err)
			continue
		}
		if again, err := l.Load(t.Context(), load); err != nil || !again.Replayed || again.Rows != tt.rows {
			t.Errorf("%s again: %+v (%v)", tt.name, again, err)
		}
	}
}

func TestLoadTakesPatternsInBytewiseOrder(t *testing.T) {
	l := open(t)
	dir := t.TempDir()
	for i, name := range []string{"b", "B", "a10", "a9"} {
		writeFile(t, filepath.Join(dir, name+".arrow"), 0, int64(10*(i+1)))
	}
	writeFile(t, filepath.Join(dir, "[x].arrow"), 0, 1)
	done, err := l.Load(t.Context(), sdk.Load{Table: "demo.t", Files: []string{filepath.Join(dir, "[aBb]*.arrow")}, Create: true, PerFile: true})
	if err != nil || done.Rows != 100 || len(done.Each) != 4 || done.Version != 4 {
		t.Fatalf("%+v (%v)", done, err)
	}
	var rows []int64
	for _, d := range done.Each {
		rows = append(rows, d.Rows)
	}
	if fmt.Sprint(rows) != "[20 30 40 10]" { // B a10 a9 b
		t.Errorf("files of %v rows, in this order", rows)
	}
	if done, err := l.Load(t.Context(), sdk.Load{Table: "demo.t", Files: []string{filepath.Join(dir, "[x].arrow")}}); err != nil || done.Rows != 1 {
		t.Errorf("a file of the very name: %+v (%v)", done, err)
	}
}

// A load per file that fails in the middle goes on where it was.
func TestLoadPerFileGoesOn(t *testing.T) {
	l := open(t)
	dir := t.TempDir()
	files := []string{
		writeFile(t, filepath.Join(dir, "1.arrow"), 0, 10),
		filepath.Join(dir, "2.arrow"),
		writeFile(t, filepath.Join(dir, "3.arrow"), 0, 30),
	}
	load := sdk.Load{Table: "demo.t", Files: files, Create: true, PerFile: true, Operation: newOp(t)}
	done, err := l.Load(t.Context(), load)
	if !errors.Is(err, sdk.ErrNotFound) || done.Rows != 10 {
		t.Fatalf("%+v (%v)", done, err)
	}
	writeFile(t, files[1], 0, 20)
	for again := range 2 {
		done, err = l.Load(t.Context(), load)
		if err != nil || done.Rows != 60 || len(done.Each) != 3 || !done.Each[0].Replayed || done.Replayed != (again == 1) {
			t.Errorf("%+v (%v)", done, err)
		}
	}
	if n := l.count(t, "demo.t"); n != 60 {
		t.Errorf("%d rows", n)
	}
}

func TestLoadOfStandardInput(t *testing.T) {
	l := open(t)
	path := writeFile(t, filepath.Join(t.TempDir(), "a.arrows"), 0, 2500)
	op := newOp(t)
	load := func() (sdk.Loaded, error) {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		stdin := os.Stdin
		os.Stdin = f
		defer func() { os.Stdin = stdin }()
		return l.Load(t.Context(), sdk.Load{Table: "demo.t", Files: []string{"-"}, Create: true, Operation: op})
	}
	if done, err := load(); err != nil || done.Rows != 2500 {
		t.Errorf("%+v (%v)", done, err)
	}
	if done, err := load(); err != nil || !done.Replayed {
		t.Errorf("again: %+v (%v)", done, err)
	}
}

func TestLoadsThatAreRefused(t *testing.T) {
	l := open(t)
	dir := t.TempDir()
	file := writeFile(t, filepath.Join(dir, "a.arrow"), 0, 2500)
	stream := writeFile(t, filepath.Join(dir, "a.arrows"), 0, 2500)
	whole, err := os.ReadFile(stream)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct {
		name   string
		files  []string
		format sdk.Format
		err    error
		says   string
	}{
		{"no file", nil, "", sdk.ErrInvalid, "no file"},
		{"no such file", []string{filepath.Join(dir, "nothing.parquet")}, "", sdk.ErrNotFound, "nothing.parquet"},
		{"no match", []string{filepath.Join(dir, "*.csv")}, "", sdk.ErrNotFound, "*.csv"},
		{"no pattern", []string{filepath.Join(dir, "[")}, "", sdk.ErrInvalid, "pattern"},
		{"a folder", []string{dir}, "", sdk.ErrInvalid, "regular file"},
		{"another format than named", []string{file}, sdk.Parquet, sdk.ErrInvalid, "a.arrow is arrow"},
		{"a format that is none", []string{file}, "xlsx", sdk.ErrUnsupported, "xlsx"},
		{"two formats", []string{file, writeFile(t, filepath.Join(dir, "a.parquet"), 0, 1)}, "", sdk.ErrInvalid, "on its own"},
		{"text", []string{write("a.txt", []byte("id\n1\n"))}, "", sdk.ErrUnsupported, "a.txt"},
		{"nothing", []string{write("empty", nil)}, "", sdk.ErrUnsupported, "empty"},
		{"a stream cut between messages", []string{write("cut.arrows", whole[:len(whole)-8])}, "", sdk.ErrInvalid, "cut short"},
		{"a stream cut in a message", []string{write("cut2.arrows", whole[:len(whole)/2])}, "", sdk.ErrInvalid, "cut short"},
		{"a stream cut in its schema", []string{write("cut3.arrows", whole[:20])}, "", sdk.ErrInvalid, "cut short"},
		{"a compressed file", []string{writeFile(t, filepath.Join(dir, "z.arrow"), 0, 2500, ipc.WithLZ4())}, "", sdk.ErrUnsupported, "without compression"},
		{"standard input twice", []string{"-", "-"}, "", sdk.ErrInvalid, "once"},
	} {
		_, err := l.Load(t.Context(), sdk.Load{Table: "demo.t", Files: tt.files, Format: tt.format, Create: true})
		if !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %v that says %q", tt.name, err, tt.err, tt.says)
		}
	}
	if n := l.files(t); n != 0 {
		t.Errorf("%d data files after refusals", n)
	}
}

package roles_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/lakeward/lake/fault"
	"github.com/lakeward/lake/roles"
)

func TestReadyFile(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ready roles.Ready
		want  string
	}{
		{
			"every role and address",
			roles.Ready{PID: 1, Roles: []string{"query", "meta"}, Flight: "grpc://127.0.0.1:31337", Meta: "grpc://127.0.0.1:41000", HTTP: "http://127.0.0.1:8080"},
			`{"pid":1,"roles":["query","meta"],"flight":"grpc://127.0.0.1:31337","meta":"grpc://127.0.0.1:41000","http":"http://127.0.0.1:8080"}` + "\n",
		},
		{
			"an address that there is not is absent",
			roles.Ready{PID: 2, Roles: []string{"meta"}, Meta: "grpc://127.0.0.1:41000"},
			`{"pid":2,"roles":["meta"],"meta":"grpc://127.0.0.1:41000"}` + "\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "run", "ready.json")
			stop := announce(t, tt.ready, file)
			if got, err := os.ReadFile(file); err != nil || string(got) != tt.want {
				t.Errorf("%s (%v), want %s", got, err, tt.want)
			}
			if got, err := roles.ReadReady(file); err != nil || !reflect.DeepEqual(got, tt.ready) {
				t.Errorf("read %+v (%v), want %+v", got, err, tt.ready)
			}
			stop()
			if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 0 {
				t.Errorf("left after the stop: %v (%v)", left, err)
			}
			if _, err := roles.ReadReady(file); fault.KindOf(err) != fault.NotFound {
				t.Errorf("read after the stop: %v, want kind %v", err, fault.NotFound)
			}
		})
	}
}

func TestStopLeavesTheReadyFileOfASuccessor(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ready.json")
	stopOld := announce(t, roles.Ready{PID: 1}, file)
	stopNew := announce(t, roles.Ready{PID: 2}, file)
	stopOld()
	if r, err := roles.ReadReady(file); err != nil || r.PID != 2 {
		t.Errorf("%+v (%v), want the successor's", r, err)
	}
	stopNew()
}

func TestReadyFileThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	first := filepath.Join(dir, "ready.json")
	inTheWay := filepath.Join(dir, "file")
	if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := roles.Announce(func() roles.Ready { return roles.Ready{PID: 1} }, first, filepath.Join(inTheWay, "ready.json"))
	if err := roles.Run(t.Context(), time.Minute, s); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(first); !os.IsNotExist(err) {
		t.Errorf("the first file is left: %v", err)
	}
}

func TestReadyFileOfSomethingElse(t *testing.T) {
	for name, text := range map[string]string{"not JSON": "ready", "JSON of another kind": `{"state":"ready"}`, "empty": ""} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "ready.json")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := roles.ReadReady(file); fault.KindOf(err) != fault.Corrupt {
				t.Errorf("%v, want kind %v", err, fault.Corrupt)
			}
		})
	}
}

// announce runs a stage that announces r in file, and returns once it is up.
func announce(t *testing.T, r roles.Ready, file string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	up, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- roles.Announce(func() roles.Ready { return r }, file).Run(ctx, func() { close(up) })
	}()
	select {
	case <-up:
	case err := <-done:
		t.Fatal(err)
	}
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

package roles

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lakeward/lake/fault"
)

// readyBytesMax bounds a ready file.
const readyBytesMax = 64 << 10

// Ready says where a process serves. It is what a ready file holds, as JSON.
type Ready struct {
	PID    int      `json:"pid"`
	Roles  []string `json:"roles"`
	Flight string   `json:"flight,omitempty"` // grpc://host:port, like Meta
	Meta   string   `json:"meta,omitempty"`
	HTTP   string   `json:"http,omitempty"` // http://host:port
}

// ReadReady reads a ready file. One that does not exist is fault.NotFound.
func ReadReady(file string) (Ready, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return Ready{}, errNotReady
	}
	if err != nil {
		return Ready{}, err
	}
	defer f.Close()
	var r Ready
	if err := json.NewDecoder(io.LimitReader(f, readyBytesMax)).Decode(&r); err != nil || r.PID == 0 {
		return Ready{}, fmt.Errorf("%w: %v", errReadyBytes, err)
	}
	return r, nil
}

var (
	errNotReady   = fault.New(fault.NotFound, "no running server was found; start one with `lake dev`")
	errReadyBytes = fault.New(fault.Corrupt, "the ready file is not one of lake; remove it and start the server again")
)

// Announce is the last stage of a process: while it runs, that is while all
// stages before it are up, each file holds what ready returns. A file appears
// as a whole; its directory is made if it does not exist. At the stop, before
// the other stages are stopped, a file is removed unless another process has
// announced itself in it since.
func Announce(ready func() Ready, files ...string) Stage {
	return Stage{Name: "announce", Run: func(ctx context.Context, up func()) error {
		r := ready()
		data, err := json.Marshal(r)
		if err != nil {
			return err
		}
		data = append(data, '\n')
		for _, file := range files {
			defer withdraw(file, data)
			if err := replace(file, data); err != nil {
				return fmt.Errorf("write ready file: %w", err)
			}
		}
		up()
		<-ctx.Done()
		return nil
	}}
}

// replace puts data into file, all of it at once. It need not outlive a crash
// of the machine.
func replace(file string, data []byte) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

func withdraw(file string, data []byte) {
	if found, err := os.ReadFile(file); err == nil && bytes.Equal(found, data) {
		os.Remove(file)
	}
}

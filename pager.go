package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// heldBytesMax bounds what is held back to see whether it fits the screen.
const heldBytesMax = 1 << 20

// A pager holds text back until it is longer than the screen, and then shows
// all of it in another program.
type pager struct {
	to      io.Writer
	height  int // of the screen; 0: there is no pager
	command string

	held  bytes.Buffer
	lines int
	cmd   *exec.Cmd
	pipe  io.WriteCloser
}

func (p *pager) Write(b []byte) (int, error) {
	if p.height <= 0 || p.command == "" {
		return p.to.Write(b)
	}
	if p.pipe == nil {
		p.held.Write(b)
		if p.lines += bytes.Count(b, []byte("\n")); p.lines < p.height && p.held.Len() < heldBytesMax {
			return len(b), nil
		}
		if err := p.start(); err != nil {
			p.height = 0
			_, err := p.held.WriteTo(p.to)
			return len(b), err
		}
		_, err := p.held.WriteTo(p.pipe)
		return len(b), err
	}
	return p.pipe.Write(b)
}

func (p *pager) start() (err error) {
	// It ends when its user says so, whatever becomes of the query.
	p.cmd = exec.CommandContext(context.Background(), "sh", "-c", p.command)
	p.cmd.Stdout, p.cmd.Stderr = p.to, os.Stderr
	p.cmd.Env = append([]string{"LESS=FRX"}, p.cmd.Environ()...) // colours, unless the user says otherwise
	if p.pipe, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		p.pipe = nil
		return err
	}
	return nil
}

// end shows what is held, or waits for the program to end.
func (p *pager) end() error {
	if p.pipe == nil {
		_, err := p.held.WriteTo(p.to)
		return err
	}
	_ = p.pipe.Close()
	_ = p.cmd.Wait() // what it made of the text is between it and its user
	return nil
}

// left says that err is only the user's having left the pager.
func left(err error) bool { return errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) }

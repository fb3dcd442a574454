package main

import (
	"context"
	"io"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

// input opens the regular file that a person names, or the standard input for -. Reading from it ends with ctx, even if
// a process holds the other end of a pipe open.
func (a *app) input(ctx context.Context, file string) (io.ReadCloser, error) {
	if file == "-" {
		return &interruptible{ctx: ctx, from: io.NopCloser(a.Stdin)}, nil
	}
	f, err := foreign.Open(file)
	if err != nil {
		return nil, err
	}
	return &interruptible{ctx: ctx, from: f}, nil
}

// interruptible is a reader that stops waiting when its context ends. The pending read ends with the process.
type interruptible struct {
	ctx  context.Context
	from io.ReadCloser
}

// Read reads at most 64 KiB at once.
func (r *interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	type piece struct {
		text []byte
		err  error
	}
	read := make(chan piece, 1)
	buf := make([]byte, min(len(p), 64<<10)) // not p, which is the caller's again when we give up
	go func() {
		n, err := r.from.Read(buf)
		read <- piece{buf[:n], err}
	}()
	select {
	case got := <-read:
		return copy(p, got.text), got.err
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	}
}

// Close closes the underlying reader.
func (r *interruptible) Close() error { return r.from.Close() }

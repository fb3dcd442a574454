package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// maxHanded is more bytes than a line of a terminal has.
const maxHanded = 64 << 10

// handOver passes what a popup was told to the command of another key, and so lets the popup close at once: while it is
// open it swallows what is typed, and if it closes in the middle of that, the rest goes into the pane below. The text
// goes through a pipe, since anybody may read a command line.
func (a *app) handOver(o origin, use, text string) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("hand over from the popup: %w", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("hand over from the popup: %w", err)
	}
	defer w.Close()
	defer r.Close()
	if _, err := io.WriteString(w, text[:min(len(text), maxHanded)]); err != nil { // a pipe holds so much
		return fmt.Errorf("hand over from the popup: %w", err)
	}
	cmd := &exec.Cmd{
		Path: exe, Args: []string{"intercom", "plugin", use, "--server=" + a.tmuxServer(), "--origin", o.Client + " " + o.Pane},
		Dir: "/", Stdin: r, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if a.Environ != nil {
		cmd.Env = a.Environ()
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("hand over from the popup: %w", err)
	}
	// The command reads all of the text first, so it does nothing before the sidecar knows it as the successor of this
	// one.
	a.pressed(context.Background(), o, api.PressedRequest{Successor: cmd.Process.Pid})
	return cmd.Process.Release()
}

// handed returns what handOver passed.
func (a *app) handed() string {
	text, _ := io.ReadAll(io.LimitReader(a.Stdin, maxHanded))
	return string(text)
}

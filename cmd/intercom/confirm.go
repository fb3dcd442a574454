package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// errUndone says that a person did not say yes. No is an answer: it is told in a note, and the exit code says that
// nothing was done.
var errUndone = api.Errorf(api.CodeRefused, "nothing was done: y was not pressed")

// confirm asks a person at the terminal itself: whatever standard input is, no flag and no pipe can answer. It discards
// what was typed before the question. Only y is a yes.
func (a *app) confirm(ctx context.Context, question string) error {
	refused := api.Errorf(api.CodeRefused, "only a person at a terminal may do that").WithHint("run it at a terminal of your own, in tmux in a pane that is not adopted, and press y there")
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return refused
	}
	defer tty.Close()
	fd := int(tty.Fd())
	found, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return refused
	}
	raw := *found
	raw.Lflag &^= unix.ECHO | unix.ICANON
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, setTermiosFlush, &raw); err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	defer func() { _ = unix.IoctlSetTermios(fd, setTermios, found) }()
	a.told()
	if _, err := fmt.Fprintf(tty, "%s [y/N] ", question); err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	pressed := make(chan byte, 1)
	go func() {
		key := make([]byte, 1)
		if _, err := tty.Read(key); err != nil {
			key[0] = 0
		}
		pressed <- key[0]
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(tty)
		if errors.Is(ctx.Err(), context.Canceled) { // C-c
			return errUndone
		}
		return ctx.Err()
	case key := <-pressed:
		if key != 'y' && key != 'Y' {
			fmt.Fprintln(tty, "no")
			return errUndone
		}
		fmt.Fprintln(tty, "yes")
		return nil
	}
}

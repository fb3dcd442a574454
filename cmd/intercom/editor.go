package main

import (
	"cmp"
	"context"
	"os"
	"os/exec"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// terminal opens the terminal of the person who runs this, whatever standard input is.
func terminal() (*os.File, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, api.Errorf(api.CodeRefused, "only a person at a terminal may do that").WithHint("run it in a pane that is not adopted")
	}
	return tty, nil
}

// edit opens a file in the person's editor, at the terminal, and waits for its end.
func (a *app) edit(ctx context.Context, path string) error {
	tty, err := terminal()
	if err != nil {
		return err
	}
	defer tty.Close()
	editor := cmp.Or(a.Getenv("VISUAL"), a.Getenv("EDITOR"), "vi")
	// As everywhere, the variable may hold words of a shell: "code --wait".
	run := exec.CommandContext(ctx, "/bin/sh", "-c", editor+` "$1"`, "sh", path)
	run.Stdin, run.Stdout, run.Stderr = tty, tty, tty
	a.told()
	if err := run.Run(); err != nil {
		return api.Errorf(api.CodeFailed, "editor %q: %w; nothing was done", editor, err).WithHint("set $VISUAL or $EDITOR to an editor that waits")
	}
	return nil
}

package main

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"syscall"

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

// editing is true while a person's editor has the terminal: C-c is then meant for the editor, or a program that it runs.
var editing atomic.Bool

// edit opens a file in the person's editor, at the terminal, and waits for its end, also if ctx ends: the editor stays at the
// terminal, and the file is still edited.
func (a *app) edit(ctx context.Context, path string) error {
	tty, err := terminal()
	if err != nil {
		return err
	}
	defer tty.Close()
	editor := cmp.Or(a.Getenv("VISUAL"), a.Getenv("EDITOR"), "vi")
	// As everywhere, the variable may hold words of a shell: "code --wait". The shell survives the keys that are meant for
	// the editor, and the editor gets them as usual.
	run := exec.CommandContext(context.WithoutCancel(ctx), "/bin/sh", "-c", "trap : INT QUIT; "+editor+` "$1"`, "sh", path)
	run.Stdin, run.Stdout, run.Stderr = tty, tty, tty
	a.told()
	editing.Store(true)
	defer editing.Store(false)
	quits := make(chan os.Signal, 1) // nobody reads them: C-\ does not end this program meanwhile
	signal.Notify(quits, syscall.SIGQUIT)
	defer signal.Stop(quits)
	if err := run.Run(); err != nil {
		return api.Errorf(api.CodeFailed, "editor %q: %w; nothing was done", editor, err).WithHint("set $VISUAL or $EDITOR to an editor that waits")
	}
	return nil
}

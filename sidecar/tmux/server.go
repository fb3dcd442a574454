package tmux

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
)

// Window is a program to start in a window of its own.
type Window struct {
	Session       string   // name of the session: StartServer creates it, for NewWindow it must exist
	Name          string   // of the window; "" leaves it to tmux
	Command       []string // required: program and arguments, no shell in between
	Dir           string   // "" is ours
	Env           []string // NAME=value, beside the server's own
	Width, Height int      // for StartServer; 0 is 80 by 24
}

// errNotOwned protects other people's servers.
var errNotOwned = errors.New("not a server that this client started")

// StartServer starts a private server without any configuration file on o.Socket, with one session
// that runs w, and opens it. It is an error if a server runs there already.
func StartServer(ctx context.Context, o Options, w Window) (*Client, string, error) {
	if len(w.Command) == 0 {
		return nil, "", fmt.Errorf("session %q: no command", w.Session)
	}
	if w.Width == 0 || w.Height == 0 {
		w.Width, w.Height = 80, 24
	}
	s := short{bin: o.Bin, socket: o.Socket}
	if s.bin == "" {
		s.bin = "tmux"
	}
	probe, err := Open(ctx, Options{Bin: o.Bin, Socket: o.Socket, Transport: "process", Trigger: "polling"})
	if err == nil {
		_ = probe.Close()
		return nil, "", fmt.Errorf("start tmux server %q: a server is already running there", o.Socket)
	}
	out, stderr, err := s.start(ctx, []string{"-S", o.Socket, "-f", "/dev/null"}, []command.Command{command.NewSession(w.start())}, nil)
	if err != nil {
		return nil, "", fmt.Errorf("start tmux server %q: %w: %s", o.Socket, err, strings.TrimSpace(stderr))
	}
	c, err := Open(ctx, o)
	if err != nil {
		return nil, "", err
	}
	c.owned = true
	return c, strings.TrimSpace(string(out)), nil
}

// NewWindow starts a program in a new window of a session, in the background, so that nobody's
// current window changes. It returns the id of the pane.
func (c *Client) NewWindow(ctx context.Context, w Window) (string, error) {
	if len(w.Command) == 0 {
		return "", fmt.Errorf("window %q: no command", w.Name)
	}
	// By a process, because run may run a command twice, which must not happen here.
	ctx, cancel := context.WithTimeoutCause(ctx, c.deadline, errDeadline)
	defer cancel()
	replies, err := c.short.run(ctx, []command.Command{command.NewWindow(w.start())})
	if err != nil {
		return "", fmt.Errorf("new window in session %q: %w", w.Session, err)
	}
	return strings.TrimSpace(replies[0]), nil
}

// KillPane closes a pane if the process that tmux started in it is still pid, or if that process
// has ended. A server never reuses the id of a pane. If there is no such pane, the error is
// ErrNoPane.
func (c *Client) KillPane(ctx context.Context, pane string, pid int) error {
	if err := checkPane(pane); err != nil {
		return err
	}
	same, err := command.Equal([]command.Format{command.PaneID.Format(), command.PanePID.Format()}, []string{pane, strconv.Itoa(pid)})
	if err != nil {
		return fmt.Errorf("close pane %q: %w", pane, err)
	}
	ended, err := command.Equal([]command.Format{command.PaneID.Format(), command.PaneDead.Format(), command.ServerPID.Format()}, []string{pane, "1", strconv.Itoa(c.info.PID)})
	if err != nil {
		return fmt.Errorf("close pane %q: %w", pane, err)
	}
	const refused = "REFUSED"
	ours := command.Both(command.Either(same, ended), command.ServerPID.Format())
	replies, err := c.run(ctx, command.If(pane, ours, []command.Command{command.KillPane(pane)}, []command.Command{command.Print(refused)}))
	if err == nil && strings.Contains(replies[0], refused) {
		err = ErrNoPane
	}
	if err != nil {
		return fmt.Errorf("close pane %q: %w", pane, err)
	}
	return nil
}

// KillServer ends the server and everything in it, but only if this client started it.
func (c *Client) KillServer(ctx context.Context) error {
	if !c.owned {
		return fmt.Errorf("kill tmux server %q: %w", c.info.Socket, errNotOwned)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.deadline, errDeadline)
	defer cancel()
	_, stderr, err := c.short.start(ctx, []string{"-N", "-S", c.short.socket}, []command.Command{command.KillServer()}, nil)
	if err != nil {
		return fmt.Errorf("kill tmux server %q: %w: %s", c.info.Socket, err, strings.TrimSpace(stderr))
	}
	select {
	case <-c.gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("kill tmux server %q: %w", c.info.Socket, context.Cause(ctx))
	}
}

func (w Window) start() command.Start {
	return command.Start{Session: w.Session, Window: w.Name, Dir: w.Dir, Env: w.Env, Width: w.Width, Height: w.Height, Program: w.Command}
}

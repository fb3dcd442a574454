package tmux

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/native"
)

// MismatchError says that a tmux server runs, but that the tmux program in use is of a version that
// cannot talk to it: programs up to 3.5a take a server of 3.6 or newer for one that has ended.
type MismatchError struct {
	Socket  string // of the server
	Program string // version of our tmux program; "" if it does not tell
	Server  string // version of the server; "" if it cannot be asked
	Path    string // path of the program that the server runs; "" if the system does not tell it
}

func (e *MismatchError) Error() string {
	server, program := "the tmux server at %q runs", "this tmux program"
	if e.Server != "" {
		server += " version " + e.Server
	}
	if e.Program != "" {
		program = "tmux " + e.Program + ", the one in $PATH,"
	}
	return fmt.Sprintf(server+", and "+program+" cannot talk to it", e.Socket)
}

// Remedy says what to do about the mismatch.
func (e *MismatchError) Remedy() string {
	switch {
	case e.Path != "":
		return "put the tmux that this server runs first in $PATH: " + e.Path
	case e.Server != "":
		return "put a tmux of version " + e.Server + ", or newer, first in $PATH"
	}
	return "put a tmux that is not older than the server first in $PATH"
}

// leaves is how long a server that is ending may still accept connections.
const leaves = 100 * time.Millisecond

// there checks a server after our tmux program said that there is none. It returns nil if that is
// true, and a *MismatchError if something still accepts connections on the socket.
func (s short) there(ctx context.Context) error {
	for range 3 {
		pid, err := listener(ctx, s.socket)
		if err != nil {
			return nil
		}
		_, err = s.try(ctx, []command.Command{command.Print("")})
		if ctx.Err() != nil || err == nil || !errors.Is(err, ErrNoServer) {
			return nil // another server runs there by now, or it is silent: not for us to say
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(leaves):
		}
		if again, err := listener(ctx, s.socket); err == nil && again == pid {
			return s.mismatch(ctx, pid)
		}
	}
	return nil
}

// mismatch describes the mismatch with the process pid that listens; pid is 0 if the system does
// not tell it.
func (s short) mismatch(ctx context.Context, pid int) *MismatchError {
	e := &MismatchError{Socket: s.socket}
	e.Program, _ = ProgramVersion(ctx, s.bin)
	if pid == 0 {
		return e
	}
	e.Path = process.Program(pid)
	sep := newNonce()
	asked := command.Argv([]command.Command{command.Expand("", command.Row(sep, serverFields))})
	if reply, err := (native.Server{Socket: s.socket, PID: pid}).Run(ctx, asked, nil); err == nil {
		if info, err := identity(string(reply.Stdout), sep); err == nil {
			e.Server = info.Version
		}
	}
	return e
}

// listener returns the process of this user that accepts connections on a socket, or 0 if the
// system does not tell it.
func listener(ctx context.Context, socket string) (pid int, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	return native.Listener(conn.(*net.UnixConn)), nil
}

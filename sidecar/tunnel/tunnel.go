// Package tunnel keeps a unix socket of this computer forwarded to a port of another one, by the person's own ssh. It
// begins again, later each time, whenever ssh ends.
package tunnel

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

const (
	firstPause  = time.Second
	mostPause   = 30 * time.Second
	lastsLong   = time.Minute     // a connection that did begins again at the first pause
	looksWithin = 5 * time.Second // a server that is reached greets within this
	lookEvery   = 50 * time.Millisecond
	askWithin   = 60 * time.Second // a hub may have to be started
	mostOutput  = 64 << 10
	maxSocket   = 100 // bytes of its path, so that ssh can make it on every system
)

// SSH is how ssh is called: nobody is asked for anything, and a line that is dead is noticed.
type SSH struct {
	Program string   // a path, or a name in PATH
	Flags   []string // the person's own
	Host    string
}

func (s SSH) argv(more ...string) []string {
	argv := append([]string{
		s.Program, "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=2",
		"-o", "ControlMaster=no", "-o", "ControlPath=none",
	}, s.Flags...)
	return append(argv, more...)
}

// Run runs a command there. Its words must need no quoting.
func (s SSH) Run(ctx context.Context, words ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	return process.Run(ctx, process.Command{Argv: s.argv(append([]string{"--", s.Host}, words...)...), Limit: mostOutput})
}

// State is how a tunnel is.
type State struct {
	Up    bool          `json:"up"`
	Why   string        `json:"why,omitempty"`   // it is not
	Again time.Duration `json:"again,omitempty"` // when it is tried next
}

// Tunnel is one socket.
type Tunnel struct {
	SSH    SSH
	Socket string // absolute, in a directory of this user's own
	// Port is asked before each beginning for the port there, on its loopback. An error that is a *FinalError ends it all.
	Port func(context.Context) (int, error)
	// Tell gets each change.
	Tell func(State)
}

// FinalError is one that trying again does not mend.
type FinalError struct{ Err error }

func (e *FinalError) Error() string { return e.Err.Error() }
func (e *FinalError) Unwrap() error { return e.Err }

// Check refuses a socket that ssh could not make.
func Check(socket string) error {
	if len(socket) > maxSocket {
		return fmt.Errorf("the path of a socket has at most %d bytes: %q", maxSocket, socket)
	}
	return nil
}

// Run keeps the tunnel until ctx ends, or it makes no sense any more.
func (t *Tunnel) Run(ctx context.Context) error {
	defer os.Remove(t.Socket)
	pause := firstPause
	for {
		began := time.Now()
		err := t.once(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if final, ok := errors.AsType[*FinalError](err); ok {
			return final.Err
		}
		if time.Since(began) > lastsLong {
			pause = firstPause
		}
		t.Tell(State{Why: err.Error(), Again: pause})
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		pause = min(2*pause, mostPause)
	}
}

// once is one run of ssh. It returns why it ended.
func (t *Tunnel) once(ctx context.Context) error {
	port, err := t.Port(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := process.Run(ctx, process.Command{Limit: mostOutput, Argv: t.SSH.argv("-N", "-o", "ExitOnForwardFailure=yes", "-o", "StreamLocalBindUnlink=yes",
			"-o", "StreamLocalBindMask=0177", "-L", fmt.Sprintf("%s:127.0.0.1:%d", t.Socket, port), "--", t.SSH.Host)})
		if err == nil {
			err = errors.New("ssh has ended")
		}
		ended <- err
	}()
	// Whether it leads anywhere is seen by what is at the other end.
	for up := false; ; {
		select {
		case err := <-ended:
			return err
		case <-time.After(lookEvery):
			if !up {
				if up = greets(ctx, t.Socket); up {
					t.Tell(State{Up: true})
				}
			}
		}
		if up {
			return <-ended
		}
	}
}

// greets reports whether a NATS server is at the other end of a socket.
func greets(ctx context.Context, socket string) bool {
	d := net.Dialer{Timeout: looksWithin}
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return false
	}
	defer conn.Close()
	if conn.SetReadDeadline(time.Now().Add(looksWithin)) != nil {
		return false
	}
	line, err := bufio.NewReader(conn).ReadString(' ')
	return err == nil && strings.HasPrefix(line, "INFO")
}

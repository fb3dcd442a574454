// Package tunnel keeps a unix socket of this computer forwarded to a port of another one, through the person's
// own ssh. Whenever ssh ends, it starts again, after longer and longer pauses.
package tunnel

import (
	"bufio"
	"cmp"
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
	lastsLong   = time.Minute           // after a connection that lasted this long, pauses start from firstPause again
	looksWithin = 5 * time.Second       // a server that is reached greets within this
	lookEvery   = 50 * time.Millisecond // until the server is reached
	lookAgain   = 10 * time.Second      // from then on
	mostMissed  = 2                     // looks in a row without a greeting: a server that is started anew misses one at most
	askWithin   = 60 * time.Second      // a hub may have to be started
	mostOutput  = 64 << 10
	maxSocket   = 100 // bytes of its path, so that ssh can make it on every system
)

// SSH says how ssh is called. It asks nobody for anything, and notices a dead line.
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

// Run runs a command on the host. Its words must need no quoting.
func (s SSH) Run(ctx context.Context, words ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	return process.Run(ctx, process.Command{Argv: s.argv(append([]string{"--", s.Host}, words...)...), Limit: mostOutput})
}

// State is the state of a tunnel.
type State struct {
	Up    bool          `json:"up"`
	Why   string        `json:"why,omitempty"`   // why it is not up
	Again time.Duration `json:"again,omitempty"` // time until the next attempt
}

// Tunnel is one forwarded socket.
type Tunnel struct {
	SSH    SSH
	Socket string // absolute, in a directory of this user's own
	// Port is called before each start, and returns the port on the host's loopback. An error that is a
	// *FinalError ends the tunnel.
	Port func(context.Context) (int, error)
	// Tell is called with each change.
	Tell func(State)

	again time.Duration // for tests; otherwise lookAgain
}

// errSilent says that nothing greets any more at the other end, though ssh goes on.
var errSilent = errors.New("no hub answers there any more")

// FinalError is an error that another attempt does not mend.
type FinalError struct{ Err error }

func (e *FinalError) Error() string { return e.Err.Error() }
func (e *FinalError) Unwrap() error { return e.Err }

// Check returns an error for a socket that ssh could not make.
func Check(socket string) error {
	if len(socket) > maxSocket {
		return fmt.Errorf("the path of a socket has at most %d bytes: %q", maxSocket, socket)
	}
	return nil
}

// Run keeps the tunnel until ctx ends or there is a *FinalError.
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

// once runs ssh once, and returns why it ended. It ends ssh if the server that it leads to has gone: before the next
// start, Port may find it elsewhere.
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
	// Only an answer from the other end shows that the tunnel leads anywhere.
	pause, missed := lookEvery, 0
	for up := false; ; {
		select {
		case err := <-ended:
			return err
		case <-time.After(pause):
		}
		missed++
		switch greeted := greets(ctx, t.Socket); {
		case greeted && !up:
			up, pause, missed = true, cmp.Or(t.again, lookAgain), 0
			t.Tell(State{Up: true})
		case greeted:
			missed = 0
		case up && missed == mostMissed:
			cancel()
			<-ended
			return errSilent
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

package tmux

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/native"
)

// direct is the transport of tmux's own protocol. It opens one connection per batch and starts no
// process. After an unexpected answer it is not used again.
type direct struct {
	server native.Server
	log    *slog.Logger
	off    atomic.Bool
}

// run implements transport.
func (d *direct) run(ctx context.Context, cmds []command.Command) ([]string, error) {
	var failed error
	replies, err := inFrames(ctx, cmds, func(framed []command.Command) ([]byte, string, error) {
		reply, err := d.start(ctx, framed, nil)
		if !hasStatus(err) {
			failed = err
		}
		return reply.Stdout, string(reply.Stderr), err
	})
	if err != nil && failed != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("%w: %w", errConnection, failed)
	}
	return replies, err
}

// start runs one command line to its end. When ctx ends, it closes the connection.
func (d *direct) start(ctx context.Context, cmds []command.Command, stdin []byte) (native.Reply, error) {
	reply, err := d.server.Run(ctx, command.Argv(cmds), stdin)
	if errors.Is(err, native.ErrProtocol) || errors.Is(err, native.ErrPeer) {
		if !d.off.Swap(true) {
			d.log.Warn("tmux is not spoken to in its own protocol any more", "err", err)
		}
	}
	return reply, err
}

// usable reports whether d may be used. It is false for a nil d.
func (d *direct) usable() bool { return d != nil && !d.off.Load() }

// probe uses every kind of message once and asks the server for its identity. Only a server that
// answers exactly that is used by its own protocol.
func (d *direct) probe(ctx context.Context, info Info) error {
	buffer, sep := newNonce(), newNonce()
	reply, err := d.start(ctx, []command.Command{
		command.LoadBuffer(buffer),
		command.Expand("", command.Row(sep, serverFields)),
		command.DeleteBuffer(buffer), // an error if the input did not arrive
	}, []byte("probe"))
	if err != nil {
		return err
	}
	if told, err := identity(string(reply.Stdout), sep); err != nil || told != info || !reply.Sent {
		return fmt.Errorf("answer %q: %w", reply.Stdout, native.ErrProtocol)
	}
	return nil
}

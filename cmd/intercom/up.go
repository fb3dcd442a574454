package main

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
)

// replaceTimeout is how long `up` waits for the end of a sidecar of another version that has agreed to end. It is
// longer than that may take, since neither the sidecar nor its guard is there afterwards.
const replaceTimeout = daemon.EndWithin + 2500*time.Millisecond

// upReply is what `up --json` prints: the status, whether up started the sidecar, and the version of a sidecar that
// made room for it.
type upReply struct {
	StartedNow bool   `json:"started_now"`
	Replaced   string `json:"replaced,omitempty"`
	Warning    string `json:"warning,omitempty"` // why a sidecar of another version was left
	api.Status
}

func (a *app) up() *cobra.Command {
	return &cobra.Command{
		Use:   "up",
		Short: "Start the sidecar of this tmux server, or replace another version",
		Long: `Start the sidecar of this tmux server if it is not running. Every command that
needs it does the same, so this is for checking that it works, and for updates:
a sidecar of another version, older or newer, is replaced by one of this
version. Chats go on, and nothing is typed twice.

A sidecar that dies is restarted within two seconds by its guard, a process that
ends with the tmux server, or with intercom down. If the sidecar dies three
times in a row the guard waits, from a second up to a minute, and
intercom status says so.

Problems, such as a damaged journal, are shown as warnings.`,
		Example: `  intercom up`,
		Args:    between(0, 0, "no arguments"),
		RunE: do(a, func(cmd *cobra.Command, _ []string) (upReply, error) {
			ctx := cmd.Context()
			c, started, err := a.ensure(ctx)
			if err != nil {
				return upReply{}, err
			}
			status, err := quickStatus(ctx, c)
			reply := upReply{StartedNow: started, Status: status}
			if err == nil && !started && !sameBuild(status.Version, built().Version) {
				reply, err = a.replace(ctx, c.Socket, status)
			}
			if reply.Warning != "" {
				a.warn(reply.Warning)
			}
			for _, d := range reply.Degraded {
				a.warn(d)
			}
			return reply, err
		}, func(r upReply) {
			a.noteHeadless(r.Server)
			switch {
			case r.Replaced != "":
				a.say("sidecar %s replaced by %s: pid %d, for %s", plainLine(r.Replaced), plainLine(r.Version), r.PID, serverName(r.Server))
			case r.StartedNow:
				a.say("sidecar started: pid %d, for %s", r.PID, serverName(r.Server))
			default:
				a.say("sidecar already running: pid %d, for %s", r.PID, serverName(r.Server))
			}
		}),
	}
}

// replace ends the sidecar that listens on socket and starts one of this version in its place. If it may not, or cannot
// in time, it leaves the old one and warns.
func (a *app) replace(ctx context.Context, socket string, old api.Status) (upReply, error) {
	left := func(format string, args ...any) (upReply, error) {
		why := fmt.Sprintf(format, args...)
		return upReply{Status: old, Warning: fmt.Sprintf("a sidecar of version %s is still running: %s", cmp.Or(old.Version, "unknown"), why)}, nil
	}
	p, err := api.Places(a.Getenv, a.tmuxServer())
	if err != nil {
		return upReply{Status: old}, err
	}
	if socket != p.Socket {
		// From here it would get another journal, and its chats would not go on.
		return left("it was started in another environment, with its socket at %q; run intercom up there", socket)
	}
	// This client starts no sidecar: a request to end could otherwise start one.
	c := &api.Client{Socket: socket, Key: a.Key, Agent: a.Agent}
	asking, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	done, err := a.unguarded(asking, p)
	if err != nil {
		return left("%v", err)
	}
	guarded := sync.OnceFunc(done)
	defer guarded()
	headless := sync.OnceFunc(a.aloneFor(p))
	defer headless()
	who := resident(p.Lock)
	if _, err := api.Call(asking, c, api.Down, api.None{}); err != nil && !absent(err) {
		return left("%v", err)
	}
	waiting, cancel := context.WithTimeout(ctx, replaceTimeout)
	defer cancel()
	if api.WaitReleased(waiting, p.Lock) != nil {
		return left("it did not end within %v; run intercom up again when it has", replaceTimeout)
	}
	_ = gone(waiting, who) // at its very end, it checks whether a successor is needed
	headless()
	guarded()
	if err := a.start(ctx, p); err != nil {
		return upReply{Status: old}, err
	}
	status, err := quickStatus(ctx, c)
	return upReply{StartedNow: true, Replaced: cmp.Or(old.Version, "unknown"), Status: status}, err
}

func quickStatus(ctx context.Context, c *api.Client) (api.Status, error) {
	return quickly(ctx, c, api.ShowStatus, api.None{})
}

func serverName(server string) string {
	if server == "" {
		return "headless use (no tmux server)"
	}
	return plainLine(server)
}

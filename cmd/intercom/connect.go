package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	plaintext "github.com/tmux-intercom/tmux-intercom/sidecar/plain"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

const (
	startTimeout  = 30 * time.Second // for a sidecar that this command started to answer; a busy machine needs seconds
	othersTimeout = startTimeout     // for a sidecar that another process started first
	quickTimeout  = 10 * time.Second // for an operation that waits for nobody
)

// tmuxServer returns the socket of the tmux server that the command is for; "" if there is none.
func (a *app) tmuxServer() string {
	if a.named {
		return a.server
	}
	if s := a.Getenv("INTERCOM_SERVER"); s != "" {
		return s
	}
	return a.aroundServer()
}

// aroundServer returns the socket of the tmux server that this runs in; "" outside of any.
func (a *app) aroundServer() string {
	// $TMUX is PATH,PID,SESSION, and a path may have commas.
	path := a.Getenv("TMUX")
	for range 2 {
		if i := strings.LastIndexByte(path, ','); i >= 0 {
			path = path[:i]
		}
	}
	return path
}

// running returns a client for the sidecar, the sidecar's places, and whether it runs. If it does not run, client and
// places are for the place where it would listen. There is one exception: if the tmux server names the place of a
// sidecar that has died, and a guard there is about to restart it, the places are those.
func (a *app) running(ctx context.Context) (*api.Client, api.Paths, bool, error) {
	p, err := api.Places(a.Getenv, a.tmuxServer())
	if err != nil {
		return nil, p, false, err
	}
	c := &api.Client{Socket: p.Socket, Key: a.Key, Agent: a.Agent}
	err = c.Ping(ctx)
	if err == nil || !absent(err) {
		return c, p, err == nil, err
	}
	// A program that reaches the tmux server may have another environment than the sidecar, and so compute another
	// place. The server itself knows where its sidecar listens.
	if a.Published == nil || p.Server == "" {
		return c, p, false, nil
	}
	socket, err := a.Published(ctx, p.Server)
	if err != nil || socket == "" || socket == p.Socket {
		return c, p, false, nil
	}
	there, base := p, strings.TrimSuffix(socket, ".sock")
	there.Runtime, there.Socket, there.Lock, there.Guard = filepath.Dir(socket), socket, base+".lock", base+".guard"
	elsewhere := &api.Client{Socket: socket, Key: a.Key, Agent: a.Agent}
	err = elsewhere.Ping(ctx)
	if err == nil || !absent(err) {
		return elsewhere, there, err == nil, err
	}
	if _, guarded := api.GuardOf(there); guarded {
		return c, there, false, nil
	}
	return c, p, false, nil // a sidecar listened there once
}

// client returns a client for the sidecar. It starts a sidecar if none runs, also if the one that runs goes away before
// it has read a request. After an uninstall it starts none until the plugin is loaded again: the start by the plugin
// itself may have to build a program first.
func (a *app) client(ctx context.Context) (*api.Client, error) {
	if p, err := api.Places(a.Getenv, a.tmuxServer()); err == nil && exists(uninstalledFile(p)) {
		if c, _, running, err := a.running(ctx); err != nil || running {
			return c, err
		}
		if !a.pluginLoaded(ctx) {
			return nil, api.Errorf(api.CodeNoSidecar, "intercom was uninstalled for %s", serverName(p.Server)).WithHint("intercom up starts it again")
		}
	}
	c, _, err := a.ensure(ctx)
	return c, err
}

// pluginLoaded reports whether the tmux server has the plugin's keys.
func (a *app) pluginLoaded(ctx context.Context) bool {
	if a.tmuxServer() == "" {
		return false
	}
	options, err := tmux.Ask(ctx, a.tmuxOptions(), rootOption)
	return err == nil && options[rootOption] != ""
}

// uninstalledFile returns the path of a file that marks an uninstall: while it exists, only intercom up and a load of
// the plugin start a sidecar.
func uninstalledFile(p api.Paths) string { return filepath.Join(p.State, "uninstalled") }

// ensure is client for a caller that asks for a sidecar as such. It reports whether it had to start one.
func (a *app) ensure(ctx context.Context) (c *api.Client, started bool, err error) {
	c, p, running, err := a.running(ctx)
	if err != nil {
		return c, false, err
	}
	_ = os.Remove(uninstalledFile(p))
	c.Start = func(ctx context.Context) (string, error) {
		// Not where the sidecar listened: that place may come from another environment.
		p, err := api.Places(a.Getenv, a.tmuxServer())
		if err != nil {
			return "", err
		}
		return p.Socket, a.start(ctx, p)
	}
	if running {
		return c, false, nil
	}
	_, err = c.Start(ctx)
	return c, true, err
}

// tmuxClient is client for a command that is about panes.
func (a *app) tmuxClient(ctx context.Context) (*api.Client, error) {
	if a.tmuxServer() == "" {
		return nil, api.Errorf(api.CodeUsage, "no tmux server: this is not a tmux pane, and none was named").
			WithHint("run it inside tmux, or name the server's socket: --server %s", plaintext.ShellWord(tmux.SocketPath(a.Getenv)))
	}
	return a.client(ctx)
}

// paneClient is tmuxClient for a command in which words name panes. It replaces tmux targets among them with pane ids.
func (a *app) paneClient(ctx context.Context, words ...*string) (*api.Client, error) {
	c, err := a.tmuxClient(ctx)
	if err != nil {
		return nil, err
	}
	return c, a.panes(ctx, c, words...)
}

// request is quickly for a command that sends only one request, to the client that reach returns.
func request[Q, R any](ctx context.Context, reach func(context.Context) (*api.Client, error), op api.Op[Q, R], req Q) (reply R, err error) {
	c, err := reach(ctx)
	if err != nil {
		return reply, err
	}
	return quickly(ctx, c, op, req)
}

// absent reports whether nobody listens, as opposed to a listener that we do not trust.
func absent(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && e.Kind == api.Absent && !e.FromSidecar()
}

// quickly sends a request that waits for nobody.
func quickly[Q, R any](ctx context.Context, c *api.Client, op api.Op[Q, R], req Q) (R, error) {
	ctx, cancel := within(ctx)
	defer cancel()
	return api.Call(ctx, c, op, req)
}

// within bounds an operation that waits for nobody.
func within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, quickTimeout)
}

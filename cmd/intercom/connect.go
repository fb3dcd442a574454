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
	startTimeout  = 30 * time.Second // for a sidecar of ours to answer after it was started; a busy machine needs seconds
	othersTimeout = startTimeout     // for that of somebody else who was quicker
	quickTimeout  = 10 * time.Second // for an operation that waits for nobody
)

// tmuxServer is the socket of the tmux server that is meant, "" for none.
func (a *app) tmuxServer() string {
	if a.named {
		return a.server
	}
	if s := a.Getenv("INTERCOM_SERVER"); s != "" {
		return s
	}
	return a.aroundServer()
}

// aroundServer is the socket of the tmux server that this runs in, "" outside of any.
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

// running reaches the sidecar only if there is one. The client that it returns is for the
// place where there could be one, too; the places are also those of one that has died, and that
// a guard brings back where the tmux server says that it was.
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
	// Not every program that reaches the tmux server has the environment of the sidecar, and
	// so computes the same place; the server itself knows where it listens.
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
	return c, p, false, nil // it listened there once
}

// client reaches the sidecar, and starts it if there is none, also if the one that there
// was goes away before it has read a request. After an uninstall it starts none, until the plugin is loaded again, whose own start
// may have a program to build first.
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

// uninstalledFile is there while no command but up, and no load of the plugin, may start a sidecar.
func uninstalledFile(p api.Paths) string { return filepath.Join(p.State, "uninstalled") }

// ensure is client for who asks for a sidecar as such, and says whether it had to be started.
func (a *app) ensure(ctx context.Context) (c *api.Client, started bool, err error) {
	c, p, running, err := a.running(ctx)
	if err != nil {
		return c, false, err
	}
	_ = os.Remove(uninstalledFile(p))
	c.Start = func(ctx context.Context) (string, error) {
		// Not where it listened: that may have been the place of another environment.
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

// paneClient is tmuxClient for a command in which words name panes, and makes ids of those that are
// targets of tmux.
func (a *app) paneClient(ctx context.Context, words ...*string) (*api.Client, error) {
	c, err := a.tmuxClient(ctx)
	if err != nil {
		return nil, err
	}
	return c, a.panes(ctx, c, words...)
}

// request is quickly for a command that asks but once, by the client that reach returns.
func request[Q, R any](ctx context.Context, reach func(context.Context) (*api.Client, error), op api.Op[Q, R], req Q) (reply R, err error) {
	c, err := reach(ctx)
	if err != nil {
		return reply, err
	}
	return quickly(ctx, c, op, req)
}

// absent reports whether nobody listens, as opposed to somebody whom we do not trust.
func absent(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && e.Kind == api.Absent && !e.FromSidecar()
}

// quickly asks for what waits for nobody.
func quickly[Q, R any](ctx context.Context, c *api.Client, op api.Op[Q, R], req Q) (R, error) {
	ctx, cancel := within(ctx)
	defer cancel()
	return api.Call(ctx, c, op, req)
}

// within bounds an operation that waits for nobody.
func within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, quickTimeout)
}

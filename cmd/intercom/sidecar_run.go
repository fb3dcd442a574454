package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting/trust"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// runSidecar runs the sidecar until ctx ends, somebody asks it to end, or its tmux server ends. An error that wraps
// api.ErrHeld or daemon.ErrJournalHeld says that another one serves.
func runSidecar(ctx context.Context, e env, opts sidecarOptions) error {
	collectSeldom(ctx)
	log, err := daemon.OpenLog(opts.Paths)
	if err != nil {
		return err
	}
	defer log.Close()
	ports, _ := talkHome(e.Getenv) // without a home there are none
	policies := daemon.Policies{Lua: true, Shipped: shipped()}
	if state, err := ourDir(e.Getenv, "XDG_STATE_HOME", filepath.Join(".local", "state")); err == nil {
		policies.Trusted = trust.In(state).Trusted
	}
	succeed := func() { (&app{env: e}).succeed(opts.Paths) }
	guard := &ward{app: &app{env: e}, paths: opts.Paths}
	err = daemon.Run(ctx, daemon.Config{
		Paths: opts.Paths, Version: opts.Version, Person: person(e), Talk: ports, Registry: repository.RegistryPath(e.Getenv),
		Transport: e.Getenv("INTERCOM_TRANSPORT"), Trigger: e.Getenv("INTERCOM_TRIGGER"),
		Log:      slog.New(slog.NewTextHandler(log, nil)),
		Now:      sidecarClock,
		Guard:    guard.keep,
		Policies: policies,
		Abandon: func() {
			succeed()
			os.Exit(exitAbandoned)
		},
	})
	guard.leave()
	switch {
	case errors.Is(err, tmux.ErrNoServer):
		return noServer(opts.Paths)
	case wrongTmux(err) != nil:
		return wrongTmux(err)
	case errors.Is(err, tmux.ErrNoProgram):
		return noTmux(api.CodeNoSidecar)
	case errors.Is(err, api.ErrHeld), errors.Is(err, daemon.ErrJournalHeld): // another one serves
		return err
	}
	succeed()
	return err
}

// sidecarClock is the clock of the sidecar. It is nil, which means time.Now, except in a program that is built for the
// soak.
var sidecarClock func() time.Time

// exitAbandoned is the exit status of a sidecar that did not end in order.
const exitAbandoned = 1

// noTmux returns the error that there is no tmux program.
func noTmux(code api.Code) *api.Error {
	return api.Errorf(code, "no tmux program is in $PATH").WithHint("%s", installTmux)
}

// wrongTmux returns the error that the tmux program cannot talk to the running server; nil if err is not about that.
func wrongTmux(err error) *api.Error {
	other, ok := errors.AsType[*tmux.MismatchError](err)
	if !ok {
		return nil
	}
	return api.Errorf(api.CodeNoSidecar, "%w", other).WithHint("%s", other.Remedy())
}

// installTmux is the hint if there is no tmux program.
const installTmux = "install tmux 3.2a or newer, for example: apt-get install tmux"

// published asks a tmux server where its sidecar listens.
func published(ctx context.Context, server string) (string, error) {
	options, err := tmux.AskServer(ctx, tmux.Options{Socket: server}, daemon.SocketOption)
	return options[daemon.SocketOption], err
}

// person returns the name that signs the words of this user.
func person(e env) string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return e.Getenv("USER")
}

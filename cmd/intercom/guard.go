package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/service"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// A sidecar may be killed, or crash. Each sidecar that serves a tmux server, or ports or repositories without one, has
// a guard: a process that sleeps on the sidecar's lock. The kernel releases the lock however its holder ends, and the
// guard then starts another sidecar. The sidecar in turn makes sure that it has a guard. A guard ends once its server
// has ended or nothing is left to serve. A command that ends a sidecar for good ends its guard first.

// guardEnd is how long a guard may take to end when it is asked to: it may be waiting for a sidecar that it has just
// started.
const guardEnd = 3 * time.Second

func (a *app) guard() *cobra.Command {
	return &cobra.Command{
		Use:    "guard",
		Short:  "Restart a sidecar if it dies (started by the sidecar)",
		Hidden: true,
		Args:   between(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.ran = true
			p, err := api.Places(a.Getenv, a.tmuxServer())
			if err != nil {
				return err
			}
			return a.watchOver(cmd.Context(), p)
		},
	}
}

// watchOver starts a sidecar whenever none runs, until ctx or the tmux server ends. It does not restart a sidecar that
// somebody has ended.
func (a *app) watchOver(ctx context.Context, p api.Paths) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	g, err := api.TakeGuard(p, program)
	if errors.Is(err, api.ErrHeld) {
		return nil // one is enough
	}
	if err != nil {
		return err
	}
	defer g.Release()
	needed, err := a.need(ctx, p)
	if err != nil || inOrder(p) {
		return nil //nolint:nilerr // there is nothing to guard
	}
	var count deaths
	for {
		began := time.Now()
		if err := awaitEnd(ctx, p); err != nil {
			return err
		}
		if g.Intact() != nil || !a.unserved(ctx, p, needed) {
			return nil
		}
		pause := count.died(time.Since(began))
		again, line := time.Now().Add(pause), "sidecar restarting"
		if pause > 0 {
			line = "sidecar down, next start " + again.Format(time.TimeOnly)
			_ = g.Say(fmt.Sprintf("the sidecar has died %d times in a row; it is restarted at %s", count, again.Format(time.TimeOnly)))
		}
		a.line(ctx, p, line)
		for free(p.Lock) && time.Now().Before(again) {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(min(time.Second, time.Until(again))):
			}
			if g.Intact() != nil || !needed(ctx) {
				return nil
			}
		}
		if !free(p.Lock) {
			_ = g.Say("")
			continue // somebody else has started one
		}
		fmt.Fprintf(a.Stderr, "%s the sidecar has died; starting another\n", time.Now().Format(time.DateTime))
		// The end of ctx does not stop this: a command that ends the guard has to find the sidecar that the guard
		// started.
		if err := a.start(context.WithoutCancel(ctx), p); err == nil {
			_ = g.Say("")
		} else {
			_ = g.Say("it cannot be started: " + plainLine(err.Error()))
			a.line(ctx, p, "sidecar down")
		}
	}
}

// inOrder reports whether the last sidecar at p ended in order: then it removed its socket. A sidecar that died leaves
// its socket, even if it died before its guard first looked.
func inOrder(p api.Paths) bool {
	_, err := os.Lstat(p.Socket)
	return free(p.Lock) && errors.Is(err, fs.ErrNotExist)
}

// awaitEnd waits until no sidecar is at p any more, or until ctx ends.
func awaitEnd(ctx context.Context, p api.Paths) error {
	ended := make(chan error, 1)
	go func() { ended <- api.AwaitEnd(p.Lock) }()
	select {
	case <-ctx.Done():
		return nil
	case err := <-ended:
		return err
	}
}

// leaving is how long a tmux server that ends may still answer after its sidecar has noticed.
const leaving = 200 * time.Millisecond

// need returns a function that reports whether a sidecar at p is still needed.
func (a *app) need(ctx context.Context, p api.Paths) (needed func(context.Context) bool, err error) {
	if p.Server == "" {
		return func(ctx context.Context) bool { return ctx.Err() == nil && a.wanted(p) && !anotherServes(ctx, p) }, nil
	}
	server, err := tmux.Inspect(ctx, a.tmuxOptions())
	began, _ := process.Start(server.Info.PID)
	return func(ctx context.Context) bool { return a.answers(ctx, server, began) }, err
}

// unserved reports whether a sidecar is needed, and there is none.
func (a *app) unserved(ctx context.Context, p api.Paths, needed func(context.Context) bool) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(leaving):
	}
	if !needed(ctx) {
		return false
	}
	_, at, running, _ := a.running(ctx)
	return !running || at.Socket == p.Socket // a sidecar of another environment has a guard of its own
}

// answers reports whether the tmux server is still the one in server, whose process began at began. A server that does
// not answer may be busy, or its socket may be missing for a while: it is there as long as its process is.
func (a *app) answers(ctx context.Context, server tmux.Health, began uint64) bool {
	now, err := tmux.Inspect(ctx, a.tmuxOptions())
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		return process.Lives(server.Info.PID, began)
	}
	return now.Info.PID == server.Info.PID && now.Info.Start == server.Info.Start
}

// line writes into the status line what an absent sidecar cannot write itself. The next sidecar writes its own text
// once it serves.
func (a *app) line(ctx context.Context, p api.Paths, text string) {
	if p.Server == "" {
		return
	}
	vacant, ok := api.Vacant(p.Lock)
	if !ok {
		return
	}
	defer vacant.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = tmux.SetOfServer(ctx, a.tmuxOptions(), service.StatusOption, text)
}

// deaths counts how often in a row a process that should stay has died.
type deaths int

const (
	steady    = time.Minute // after a life this long, earlier deaths do not count
	fewDeaths = 3           // from this death on, the next start waits
	maxPause  = time.Minute
)

// died counts a death, and returns how long the next start has to wait.
func (d *deaths) died(lived time.Duration) time.Duration {
	if lived >= steady {
		*d = 0
	}
	*d++
	if *d < fewDeaths {
		return 0
	}
	return min(time.Second<<min(*d-fewDeaths, 6), maxPause)
}

// ward keeps a guard beside a sidecar; the guard runs the sidecar's own program. One goroutine uses it.
type ward struct {
	*app
	paths api.Paths
	count deaths
	began time.Time // when the latest guard was started
	next  time.Time // when another one may be started

	latest *exec.Cmd
	over   chan struct{} // closed when latest has ended
}

// keep starts a guard if there is none. It ends a guard that runs another program, and would restart the sidecar with
// that.
func (w *ward) keep() error {
	if w.paths.Server == "" && !w.wanted(w.paths) {
		return nil
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	there, held := api.GuardOf(w.paths)
	switch {
	case held && there.PID > 0 && there.Program != program:
		return signalGuard(w.paths, there.PID, syscall.SIGTERM)
	case held || time.Now().Before(w.next):
		return nil
	}
	pause := w.count.died(time.Since(w.began))
	w.began = time.Now()
	w.next = w.began.Add(pause)
	told, err := openComplaints(filepath.Join(w.paths.State, complaintsFile))
	if err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	defer told.file.Close()
	cmd, err := w.detached("guard", w.paths, told.file)
	if err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	over := make(chan struct{})
	w.latest, w.over = cmd, over
	go func() { _ = cmd.Wait(); close(over) }()
	return nil
}

// leave kills the latest guard, if it has not become the guard yet, when the sidecar has ended. Nobody else can find a
// process that is just starting, and it would outlive the command that has ended both.
func (w *ward) leave() {
	if w.latest == nil {
		return
	}
	if there, held := api.GuardOf(w.paths); !held || there.PID != w.latest.Process.Pid {
		_ = w.latest.Process.Kill()
		<-w.over
	}
}

// signalGuard sends a signal to the guard of p. If the guard runs in another container that shares the directory, its
// number belongs to another process here, which gets no signal.
func signalGuard(p api.Paths, pid int, sig syscall.Signal) error {
	if holds, told := process.Holds(pid, p.Guard); told && !holds {
		return fmt.Errorf("process %d is no guard here: another container's may be", pid)
	}
	return syscall.Kill(pid, sig)
}

// mayEndTimeout is how long a sidecar may take to say whether it would end. A sidecar that is only slow, and refuses
// later, has lost its guard.
const mayEndTimeout = 5 * time.Second

// endTimeout is how long the end of a sidecar may take, with everything that is asked before.
const endTimeout = 2 * quickTimeout

// unguarded is unguard, if the sidecar would end for the caller. A sidecar that refuses keeps its guard. So does one
// that does not answer: it is not ended, and may die. A sidecar that does not know the question has not refused.
func (a *app) unguarded(ctx context.Context, p api.Paths) (done func(), err error) {
	asking, cancel := context.WithTimeout(ctx, mayEndTimeout)
	defer cancel()
	waits := time.AfterFunc(tellAfter, func() {
		a.progress("waiting for the sidecar of process %d to say whether it ends, for some ten seconds at most", api.Holder(p.Lock))
	})
	defer waits.Stop()
	_, err = api.Call(asking, &api.Client{Socket: p.Socket, Key: a.Key, Agent: a.Agent}, api.MayEnd, api.None{})
	if told, ok := errors.AsType[*api.Error](err); ok && (told.Code == api.CodeRefused || hangs(err)) {
		return func() {}, err
	}
	return unguard(ctx, p)
}

// hangs reports whether err says that a sidecar does not answer.
func hangs(err error) bool {
	told, ok := errors.AsType[*api.Error](err)
	return ok && told.Kind == api.Unanswered
}

// unguard ends the guard of p and waits for the end of its process. It keeps another guard from starting until done is
// called.
func unguard(ctx context.Context, p api.Paths) (done func(), err error) {
	if _, err := os.Stat(p.Runtime); err != nil {
		return func() {}, nil //nolint:nilerr // there was never anything
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		var who process.Process
		if there, held := api.GuardOf(p); held && there.PID > 0 {
			who = resident(p.Guard)
			_ = signalGuard(p, there.PID, sig)
		}
		waiting, cancel := context.WithTimeout(ctx, guardEnd)
		lock, err := api.KeepUnguarded(waiting, p)
		cancel()
		switch {
		case err == nil:
			if err := gone(ctx, who); err != nil {
				return func() {}, errors.Join(err, lock.Release())
			}
			return sync.OnceFunc(func() { _ = lock.Release() }), nil
		case !errors.Is(err, api.ErrHeld) || ctx.Err() != nil:
			return func() {}, err
		}
	}
	there, _ := api.GuardOf(p)
	return func() {}, api.Errorf(api.CodeTimeout, "the guard of process %d does not end", there.PID).WithHint("intercom doctor says more")
}

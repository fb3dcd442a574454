package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// downReply is what `down --json` prints.
type downReply struct {
	Stopped bool       `json:"stopped"` // false: none ran
	PID     int        `json:"pid,omitempty"`
	Forced  bool       `json:"forced,omitempty"`  // it did not answer, and was ended by force
	Goes    *persisted `json:"goes_on,omitempty"` // what goes on: it is the person's, not this tmux server's
}

func (a *app) down() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "End the sidecar of this tmux server",
		Long: `End the sidecar of this tmux server, and the guard that would restart it. Once
this returns nothing is typed any more. Chats do not end: they go on with the
next sidecar, which the next command that needs one starts.
intercom chat stop --all ends them. It is not an error if none runs. A sidecar
that does not answer within some ten seconds cannot tell who asks: you are, at
your terminal, and it is ended by force if you press y. Otherwise it is left as
it is, and so is its guard.

Talk ports that you opened, and repositories whose monitor you started, are not
of one tmux server: another sidecar of yours takes them over, or one without
tmux that is started for them, and down says so. --all ends every sidecar of
yours, that one too; outside tmux, so does down. The next sidecar serves again
what is still wanted: intercom talk listen stop and intercom aea monitor stop
end that.`,
		Example: `  intercom down`,
		Args:    between(0, 0, "no arguments"),
	}
	cmd.Flags().BoolVar(&all, "all", false, "end all your sidecars, on every tmux server")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if all {
			return do(a, func(cmd *cobra.Command, _ []string) ([]downReply, error) { return a.downAll(cmd.Context()) }, func(ended []downReply) {
				for _, r := range ended {
					a.showDown(r)
				}
				if len(ended) == 0 {
					a.say("no sidecar ran")
				}
				if p, err := api.Places(a.Getenv, ""); err == nil {
					if k := a.persists(p); k != nil { // nobody is left to serve it
						a.say("%s", plainLine(k.says(len(ended) > 0)))
					}
				}
			})(cmd, args)
		}
		return do(a, func(cmd *cobra.Command, _ []string) (downReply, error) {
			ctx, cancel := context.WithTimeout(cmd.Context(), endTimeout)
			defer cancel()
			_, p, _, _ := a.running(ctx) //nolint:dogsled // where it is, also if it hangs
			forced := func(cause error) (downReply, error) {
				who := resident(p.Lock)
				kept := a.servedBy(p, who)
				if err := a.overpower(cmd.Context(), p, who, cause); err != nil {
					return downReply{}, err
				}
				return downReply{true, who.PID, true, a.servedOn(cmd.Context(), p, kept, true)}, nil
			}
			done, err := a.unguarded(ctx, p)
			if hangs(err) {
				return forced(err)
			}
			if err != nil {
				return downReply{}, err
			}
			defer done()
			c, p, running, err := a.running(ctx)
			if err != nil {
				return downReply{}, err
			}
			who := resident(p.Lock)
			if !running {
				// A sidecar that has stopped listening may still be ending.
				return downReply{Goes: a.servedOn(ctx, p, a.persists(p), false)}, over(ctx, p, who)
			}
			kept := a.servedBy(p, who)
			quick, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			status, err := api.Call(quick, c, api.ShowStatus, api.None{})
			switch {
			case absent(err):
				return downReply{Goes: a.servedOn(ctx, p, kept, true)}, over(ctx, p, who) // it was ending by itself
			case err != nil: // something in it hangs: all the more reason to end it
				status.PID = who.PID
			}
			if _, err := quickly(ctx, c, api.Down, api.None{}); err != nil && !absent(err) {
				done()
				return forced(err)
			}
			return downReply{true, status.PID, false, a.servedOn(ctx, p, kept, true)}, over(ctx, p, who)
		}, func(r downReply) {
			if r.Stopped {
				a.showDown(r)
			} else {
				a.noteHeadless(a.tmuxServer())
				a.say("no sidecar ran")
			}
			if r.Goes != nil {
				a.say("%s", plainLine(r.Goes.says(r.Stopped)))
			}
		})(cmd, args)
	}
	return cmd
}

// downAll ends every sidecar of this user. It ends the headless one first, and keeps its place meanwhile: otherwise the
// sidecars of tmux servers would start another for what they had served.
func (a *app) downAll(ctx context.Context) (all []downReply, _ error) {
	headless, err := api.Places(a.Getenv, "")
	if err != nil {
		return nil, err
	}
	all = []downReply{}
	free, err := a.alone(ctx, &all)
	if err != nil {
		return all, err
	}
	defer free()
	for _, lock := range own.Glob(headless.Runtime, "*.lock") {
		if lock == headless.Lock {
			continue
		}
		base := strings.TrimSuffix(lock, ".lock")
		p := api.Paths{Server: "any", Runtime: headless.Runtime, Socket: base + ".sock", Lock: lock, Guard: base + ".guard", Log: headless.Log}
		if err := a.downAt(ctx, p, &all); err != nil {
			return all, err
		}
	}
	return all, nil
}

// downAt ends the sidecar at one place, if one runs there, and the guard that would restart it.
func (a *app) downAt(ctx context.Context, p api.Paths, all *[]downReply) error {
	asking, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	if _, guarded := api.GuardOf(p); api.Holder(p.Lock) == 0 && !guarded {
		return nil
	}
	done, err := a.unguarded(asking, p)
	if err != nil && !hangs(err) {
		return err
	}
	defer done()
	who := resident(p.Lock) // not before: the guard may have started another sidecar
	if err == nil {
		_, err = quickly(asking, &api.Client{Socket: p.Socket, Key: a.Key, Agent: a.Agent}, api.Down, api.None{})
	}
	forced := err != nil && !absent(err)
	if forced {
		done()
		if err := a.overpower(ctx, p, who, err); err != nil {
			return err
		}
	}
	if who.PID > 0 {
		*all = append(*all, downReply{Stopped: true, PID: who.PID, Forced: forced})
	}
	if forced {
		return nil
	}
	return over(asking, p, who)
}

func (a *app) showDown(r downReply) {
	how := ""
	if r.Forced {
		how = ", which did not answer"
	}
	a.say("sidecar ended: pid %d%s", r.PID, how)
}

// overpower ends by force a sidecar that did not answer the request to end, and before that its guard; cause is the
// error of that request. Such a sidecar could not check who asks either, so a person at a terminal is asked.
func (a *app) overpower(ctx context.Context, p api.Paths, who process.Process, cause error) error {
	if !hangs(cause) || who.PID == 0 || ctx.Err() != nil {
		return cause
	}
	left := api.Errorf(api.CodeTimeout, "the sidecar of process %d does not answer, and was not ended", who.PID)
	if who.Start == 0 { // not proven to be a process of this computer and container
		return left.WithHint("if it is of this computer, kill -9 %d ends it, and its guard starts another; intercom down ends that", who.PID)
	}
	if err := a.confirm(ctx, fmt.Sprintf("The sidecar of process %d does not answer. End it by force? A message that it is typing right now may become uncertain.", who.PID)); err != nil {
		return left.WithHint("intercom down at a terminal ends it, if you press y; after kill -9 %d its guard starts another", who.PID)
	}
	done, err := unguard(ctx, p)
	if err != nil {
		return err
	}
	defer done()
	return a.force(ctx, p, who)
}

// force ends the process that had the place p. It does not end another process that has the place by now.
func (a *app) force(ctx context.Context, p api.Paths, who process.Process) error {
	// The first round ends a process in order that was only stopped.
	for i, signals := range [][]syscall.Signal{{syscall.SIGTERM, syscall.SIGCONT}, {syscall.SIGKILL}} {
		for _, s := range signals {
			if err := process.Signal(who, s); err != nil {
				return api.Errorf(api.CodeFailed, "end the sidecar: %w", err).WithHint("kill -9 %d", who.PID)
			}
		}
		waiting, cancel := context.WithTimeout(ctx, forceTime)
		err := gone(waiting, who)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && i > 0 {
			a.succeed(p) // as the sidecar would have done itself
		}
		if err == nil {
			return nil
		}
	}
	return api.Errorf(api.CodeTimeout, "the sidecar of process %d does not end, not even by SIGKILL", who.PID).WithHint("intercom doctor says more")
}

// forceTime is how long a sidecar may take to end after a signal: longer than one in which something hangs takes.
const forceTime = 5 * time.Second

// resident returns the process that holds a lock. Start is set only if the process is proven to hold the lock: then a
// reuse of its number is no danger. Otherwise the number may belong to a process of another computer or container. The
// zero value means no process, or that it cannot be told.
func resident(lock string) process.Process {
	pid := api.Holder(lock)
	start, err := process.Start(pid)
	if errors.Is(err, process.ErrNoProcess) || pid != api.Holder(lock) {
		return process.Process{}
	}
	if holds, _ := process.Holds(pid, lock); !holds {
		start = 0
	}
	return process.Process{PID: pid, Start: start}
}

// over waits until the sidecar at p has ended, and its process too.
func over(ctx context.Context, p api.Paths, who process.Process) error {
	if err := ended(ctx, p); err != nil {
		return err
	}
	return gone(ctx, who)
}

// lingers is how long gone waits for a process that may only have the same number.
const lingers = time.Second

// gone waits until a process that has released its lock no longer exists. The last thing that a sidecar does is to
// check whether a successor is needed, and the caller may be about to remove the program and the files that it uses.
func gone(ctx context.Context, who process.Process) error {
	for end := time.Now().Add(lingers); who.PID > 0 && process.Lives(who.PID, who.Start); {
		if who.Start == 0 && time.Now().After(end) {
			return nil
		}
		if err := pause(ctx, startPause); err != nil {
			return api.Errorf(api.CodeTimeout, "process %d has nothing more to do, and does not end", who.PID).WithHint("kill -9 %d ends it", who.PID)
		}
	}
	return nil
}

// alone ends the headless sidecar and keeps its place until free is called. A sidecar that ends meanwhile then starts
// none for the ports and repositories that it served.
func (a *app) alone(ctx context.Context, all *[]downReply) (free func(), err error) {
	free = func() {}
	headless, err := api.Places(a.Getenv, "")
	if err != nil {
		return free, err
	}
	if err := a.downAt(ctx, headless, all); err != nil {
		return free, err
	}
	if _, err := os.Stat(headless.Runtime); err != nil {
		return free, nil //nolint:nilerr // there was never any
	}
	place, err := api.Listen(headless.Runtime, headless.Key)
	if err != nil {
		return free, err
	}
	return func() { place.Release() }, nil
}

// aloneFor keeps the place of the headless sidecar until free is called, if none runs. The sidecar at p, which ends to
// be replaced, then starts none for what its successor serves.
func (a *app) aloneFor(p api.Paths) (free func()) {
	headless, err := api.Places(a.Getenv, "")
	if err != nil || headless.Lock == p.Lock {
		return func() {}
	}
	place, err := api.Listen(headless.Runtime, headless.Key)
	if err != nil { // one runs
		return func() {}
	}
	return func() { _ = place.Release() }
}

// ended waits until the sidecar at p has released its place, and does nothing there any more.
func ended(ctx context.Context, p api.Paths) error {
	if err := api.WaitReleased(ctx, p.Lock); err != nil {
		if held, ok := errors.AsType[*api.HeldError](err); ok && held.PID > 0 {
			return api.Errorf(api.CodeTimeout, "the sidecar of process %d does not end", held.PID).
				WithHint("intercom doctor says why, and so may its log, %s; kill -9 %d ends it", p.Log, held.PID)
		}
		return api.Errorf(api.CodeTimeout, "the sidecar does not end").WithHint("its log may say why: %s", p.Log)
	}
	return nil
}

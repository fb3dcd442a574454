package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// Guard is the lock of the process that brings the sidecar of a tmux server back when it has
// died, for as long as that process lives. Its file says who that is, and why there is no
// sidecar where it waits before it starts another.
type Guard struct {
	lock    *os.File
	program string
}

// Guarding is what the lock's file says of a guard that lives. The zero value is none.
type Guarding struct {
	PID     int    // 0: somebody holds the lock and is no guard, or has not said yet who it is
	Program string // that it runs
	Says    string // why no sidecar runs now, "" where one does
}

// TakeGuard makes this process, which runs that program, the guard of p. The error is a
// *HeldError if there is one. The directory must be private (see Private).
func TakeGuard(p Paths, program string) (*Guard, error) {
	if err := Private(p.Runtime); err != nil {
		return nil, err
	}
	lock, err := takeLock(p.Guard)
	if err != nil {
		return nil, err
	}
	g := &Guard{lock: lock, program: program}
	if err := g.Say(""); err != nil {
		lock.Close()
		return nil, err
	}
	return g, nil
}

// Say writes down why there is no sidecar, "" for nothing to say.
func (g *Guard) Say(why string) error {
	text := fmt.Sprintf("%d\n%s\n%s\n", os.Getpid(), g.program, strings.ReplaceAll(why, "\n", " "))
	if _, err := g.lock.WriteAt([]byte(text), 0); err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	if err := g.lock.Truncate(int64(len(text))); err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	return nil
}

// Intact reports an error once another process could be a guard beside this one, since the
// lock's file was taken away.
func (g *Guard) Intact() error { return samePlace(g.lock) }

// Release lets another process be the guard.
func (g *Guard) Release() error { return g.lock.Close() }

// KeepUnguarded takes the lock as TakeGuard does, and waits for it until ctx ends: for as long as
// it is held no guard starts, and nothing is said to guard.
func KeepUnguarded(ctx context.Context, p Paths) (*Guard, error) {
	for {
		lock, err := takeLock(p.Guard)
		if err == nil {
			return &Guard{lock: lock}, lock.Truncate(0)
		}
		if !errors.Is(err, ErrHeld) {
			return nil, err
		}
		if waited := WaitReleased(ctx, p.Guard); waited != nil {
			return nil, waited
		}
	}
}

// GuardOf is the guard of p, and whether anybody holds its lock.
func GuardOf(p Paths) (Guarding, bool) {
	f, err := own.Open(p.Guard)
	if err != nil {
		return Guarding{}, false
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		return Guarding{}, false
	}
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	lines := strings.Split(string(text), "\n")
	if err != nil || len(lines) < 4 {
		return Guarding{}, true
	}
	pid, err := strconv.Atoi(lines[0])
	if err != nil {
		return Guarding{}, true
	}
	return Guarding{PID: pid, Program: lines[1], Says: lines[2]}, true
}

// Vacant reports whether no sidecar has the lock. Until what it returns is closed, one that starts
// waits; it is nil where there is a sidecar.
func Vacant(lock string) (io.Closer, bool) {
	f, err := own.OpenFile(lock, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil {
		f.Close()
		return nil, false
	}
	return f, true
}

// AwaitEnd returns when nobody holds the lock of a sidecar, at once where nobody does. It sleeps
// until then, and cannot be woken.
func AwaitEnd(lock string) error {
	f, err := own.Open(lock)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	defer f.Close()
	for {
		// Shared: whoever takes the lock now finds it taken for a moment by nobody, and tries again.
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

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

// Guard is the lock of the process that restarts the sidecar of a tmux server when it has died; the process
// holds it as long as it lives. The lock's file names the process and says why no sidecar runs while the guard
// waits before it starts another.
type Guard struct {
	lock    *os.File
	program string
}

// Guarding is what the lock's file says of a live guard. The zero value means that there is none.
type Guarding struct {
	PID     int    // 0: the holder of the lock is no guard, or has not written its pid yet
	Program string // the program that it runs
	Says    string // why no sidecar runs now, "" if one does
}

// TakeGuard makes this process, which runs program, the guard of p. If there is a guard already, it returns a
// *HeldError. The directory must be private (see Private).
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

// Say writes into the lock's file why there is no sidecar; "" means that there is nothing to say.
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

// Intact returns an error if the lock's file was removed or replaced, since another process could then be a
// guard as well.
func (g *Guard) Intact() error { return samePlace(g.lock) }

// Release lets another process be the guard.
func (g *Guard) Release() error { return g.lock.Close() }

// KeepUnguarded takes the lock as TakeGuard does, and waits for it until ctx ends. While it is held no guard
// starts, and its file names none.
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

// GuardOf returns the guard of p, and reports whether any process holds its lock.
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

// Vacant reports whether no sidecar has the lock. A sidecar that starts waits until the returned closer is
// closed. The closer is nil if a sidecar has the lock.
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

// AwaitEnd returns when no process holds the lock of a sidecar, at once if none does. It sleeps until then and
// cannot be interrupted.
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
		// A shared lock: a sidecar that tries to take the lock at this moment finds it held by no live sidecar,
		// and tries again.
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

package persona

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// loop waits for input, timers and functions that other goroutines post, and runs them one at a time on the goroutine
// that called run. Only post may be called from other goroutines.
type loop struct {
	timers  []*timer // by time
	sources []*source
	ended   bool
	code    int

	wakeRead, wakeWrite int // a pipe: post makes poll return

	mu     sync.Mutex
	posted []func() // guarded by mu
}

// timer is a function to be called later.
type timer struct {
	at time.Time
	do func()
}

// source is a descriptor that the loop waits for while wanted returns true.
type source struct {
	fd     int
	wanted func() bool
	ready  func()
}

func newLoop() (*loop, error) {
	var fds [2]int
	if err := unix.Pipe(fds[:]); err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
		if err := unix.SetNonblock(fd, true); err != nil {
			return nil, fmt.Errorf("make a pipe: %w", err)
		}
	}
	return &loop{wakeRead: fds[0], wakeWrite: fds[1]}, nil
}

// close closes the descriptors of the loop. Nothing may be posted after it.
func (l *loop) close() {
	unix.Close(l.wakeRead)
	unix.Close(l.wakeWrite)
}

// post makes the loop call f. It may be called from any goroutine.
func (l *loop) post(f func()) {
	l.mu.Lock()
	l.posted = append(l.posted, f)
	l.mu.Unlock()
	// If the pipe is full, the loop is awake already.
	unix.Write(l.wakeWrite, []byte{0})
}

// after makes the loop call f after d.
func (l *loop) after(d time.Duration, f func()) {
	t := &timer{at: time.Now().Add(d), do: f}
	i, _ := slices.BinarySearchFunc(l.timers, t, func(a, b *timer) int {
		if a.at.After(b.at) {
			return 1
		}
		return -1 // timers for the same time keep their order
	})
	l.timers = slices.Insert(l.timers, i, t)
}

// watch makes the loop call ready whenever fd can be read and wanted returns true.
func (l *loop) watch(fd int, wanted func() bool, ready func()) *source {
	s := &source{fd: fd, wanted: wanted, ready: ready}
	l.sources = append(l.sources, s)
	return s
}

// forget ends a watch.
func (l *loop) forget(s *source) {
	l.sources = slices.DeleteFunc(l.sources, func(x *source) bool { return x == s })
}

// quit ends run with that exit code. Only the first call counts.
func (l *loop) quit(code int) {
	if !l.ended {
		l.ended, l.code = true, code
	}
}

// run runs the loop until quit is called and returns the exit code.
func (l *loop) run() int {
	for !l.ended {
		l.due()
		if l.ended {
			break
		}
		fds := []unix.PollFd{{Fd: int32(l.wakeRead), Events: unix.POLLIN}}
		asked := []*source{nil}
		for _, s := range l.sources {
			if s.wanted == nil || s.wanted() {
				fds = append(fds, unix.PollFd{Fd: int32(s.fd), Events: unix.POLLIN})
				asked = append(asked, s)
			}
		}
		if _, err := unix.Poll(fds, l.patience()); err != nil {
			if errors.Is(err, unix.EINTR) {
				continue
			}
			l.quit(1)
			break
		}
		if fds[0].Revents != 0 {
			l.wake()
		}
		for i, s := range asked {
			// An earlier function may have removed the source or its interest.
			if i > 0 && fds[i].Revents != 0 && !l.ended && slices.Contains(l.sources, s) && (s.wanted == nil || s.wanted()) {
				s.ready()
			}
		}
	}
	return l.code
}

// due runs the timers that are due. A timer set for now by another timer waits until the descriptors have been polled,
// so that input is handled even during an endless flood.
func (l *loop) due() {
	now := time.Now()
	for len(l.timers) > 0 && !l.timers[0].at.After(now) && !l.ended {
		t := l.timers[0]
		l.timers = l.timers[1:]
		t.do()
	}
}

// patience returns how long poll may wait, in milliseconds, rounded up; -1 means for ever.
func (l *loop) patience() int {
	if len(l.timers) == 0 {
		return -1
	}
	wait := time.Until(l.timers[0].at)
	if wait <= 0 {
		return 0
	}
	return int((wait + time.Millisecond - 1) / time.Millisecond)
}

func (l *loop) wake() {
	var sink [64]byte
	for {
		if n, err := unix.Read(l.wakeRead, sink[:]); n <= 0 || err != nil {
			break
		}
	}
	l.mu.Lock()
	posted := l.posted
	l.posted = nil
	l.mu.Unlock()
	for _, f := range posted {
		if !l.ended {
			f()
		}
	}
}

// onSignals passes each signal to heard on the loop, until the returned function is called.
func (l *loop) onSignals(heard func(os.Signal)) (stop func()) {
	ch := make(chan os.Signal, 8)
	signal.Notify(ch, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGWINCH)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s := range ch {
			l.post(func() { heard(s) })
		}
	}()
	return func() {
		signal.Stop(ch)
		close(ch)
		<-done
	}
}

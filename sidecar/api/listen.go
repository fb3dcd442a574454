package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// ErrHeld is the error that a HeldError wraps.
var ErrHeld = errors.New("another sidecar serves this server")

// HeldError says that another process has the lock.
type HeldError struct {
	Lock string
	PID  int // of the holder; 0 if it has not written its pid yet
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("lock %q: %v", e.Lock, ErrHeld)
	}
	return fmt.Sprintf("lock %q: %v (pid %d)", e.Lock, ErrHeld, e.PID)
}

// Unwrap makes errors.Is(err, ErrHeld) true.
func (e *HeldError) Unwrap() error { return ErrHeld }

// Listener is the socket of a sidecar, and the lock that makes it the only one. Close stops listening and
// removes the socket; Release gives the lock back.
type Listener struct {
	net.Listener
	lock   *os.File
	socket string
}

// Listen makes this process the sidecar called name. It takes the lock dir/name.lock for as long as the process
// lives, or returns a *HeldError. Only then does it replace dir/name.sock, which no live sidecar can own any
// more, and listen there. The directory must be private (see Private); Listen makes it if it does not exist.
// The kernel gives the lock back however the process ends; until then the caller keeps the Listener.
func Listen(dir, name string) (*Listener, error) {
	if err := Private(dir); err != nil {
		return nil, err
	}
	lock, err := takeLock(filepath.Join(dir, name+".lock"))
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, name+".sock")
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		lock.Close()
		return nil, fmt.Errorf("stale socket: %w", err)
	}
	inner, err := net.Listen("unix", socket)
	if err != nil {
		lock.Close()
		return nil, err
	}
	// Closing the inner listener must not unlink a socket that another process may have put there meanwhile.
	// Close removes it if the place is still ours.
	inner.(*net.UnixListener).SetUnlinkOnClose(false)
	return &Listener{Listener: inner, lock: lock, socket: socket}, nil
}

// Close stops listening, and removes the socket if the lock's file shows that the place still belongs to this
// process.
func (l *Listener) Close() error {
	mine := samePlace(l.lock) == nil
	err := l.Listener.Close()
	if err == nil && mine {
		err = os.Remove(l.socket)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return err
}

// Release gives the lock back, and calls Close first if the listener is still open. It is the last thing that a
// sidecar does: closing the listener alone keeps the lock, so that no other sidecar starts while this one still
// types or writes. The lock's file stays: a process that unlinked it could unlink a file that another process
// has just locked.
func (l *Listener) Release() error {
	err := l.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return errors.Join(err, l.lock.Close())
}

// Intact returns an error if the lock's file or the socket is no longer where it was. A program that clears old
// files may have removed it. A second sidecar could then start beside this one, so this one has to end before
// both type.
func (l *Listener) Intact() error {
	if err := samePlace(l.lock); err != nil {
		return err
	}
	if _, err := os.Lstat(l.socket); err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	return nil
}

// WaitReleased waits until no process has the lock, which means that the sidecar that had it has ended, or
// until ctx ends. A sidecar that starts during one of its checks may find the lock taken by the check; its
// starter has to try again anyway.
func WaitReleased(ctx context.Context, lock string) error {
	for {
		f, err := own.Open(lock)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
		pid := readPID(f)
		f.Close()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(&HeldError{Lock: lock, PID: pid}, ctx.Err())
		case <-time.After(dialPause):
		}
	}
}

// Holder returns the pid of the process that has the lock now; 0 if none has it, or if it is not known.
func Holder(lock string) int {
	look, cancel := context.WithCancel(context.Background())
	cancel() // check once, do not wait
	if held, ok := errors.AsType[*HeldError](WaitReleased(look, lock)); ok {
		return held.PID
	}
	return 0
}

// passingOn is how long a lock may be held by no live process. A process that gave the lock back, or was
// killed, while it started another one leaves it to the child until the child has executed its own program.
const passingOn = time.Second

// takeLock opens the file, creates it if need be, and locks it.
func takeLock(path string) (*os.File, error) {
	const attempts = 10
	patience := time.Now().Add(passingOn)
	for n := 0; n < attempts; n++ {
		f, err := own.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("lock: %w", err)
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			held := &HeldError{Lock: path, PID: readPID(f)}
			f.Close()
			nobody := held.PID == os.Getpid() || held.PID > 0 && errors.Is(syscall.Kill(held.PID, 0), syscall.ESRCH)
			if nobody && time.Now().Before(patience) {
				time.Sleep(dialPause)
				n--
				continue
			}
			return nil, held
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %q: %w", path, err)
		}
		if samePlace(f) != nil {
			// Unlinked between the two calls: the locked file is one that nobody else can find.
			f.Close()
			continue
		}
		if err := writePID(f); err != nil {
			f.Close()
			return nil, fmt.Errorf("lock: %w", err)
		}
		return f, nil
	}
	return nil, fmt.Errorf("lock %q: the file keeps being replaced", path)
}

// samePlace returns an error unless the name of f still leads to it.
func samePlace(f *os.File) error {
	if !own.There(f) {
		return fmt.Errorf("lock %q: it was removed, or another file is there now", f.Name())
	}
	return nil
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func readPID(f *os.File) int {
	text, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return 0
	}
	first, _, _ := bytes.Cut(text, []byte("\n")) // the lock of a guard has more lines
	pid, err := strconv.Atoi(string(bytes.TrimSpace(first)))
	if err != nil {
		return 0
	}
	return pid
}

// Private makes sure that dir is a real directory of this user that nobody else can enter (0700), in a parent
// where nobody else can replace it. It makes both if they do not exist. It changes nothing that exists: if a
// directory was open to others, they may have used it already. An error wraps an *Error with a hint.
func Private(dir string) error {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return Errorf(CodeFailed, "directory %q: %w", dir, err).
			WithHint("set XDG_RUNTIME_DIR and XDG_STATE_HOME to directories of your own")
	}
	if err := checkParent(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return Errorf(CodeFailed, "directory: %w", err)
	}
	return checkOwn(dir)
}

// CheckPrivate is Private for a directory that must exist already; it makes nothing. If the directory does not
// exist, the error wraps fs.ErrNotExist.
func CheckPrivate(dir string) error {
	if err := checkParent(filepath.Dir(dir)); err != nil {
		return err
	}
	return checkOwn(dir)
}

// checkParent refuses a directory whose entries somebody else could replace.
func checkParent(parent string) error {
	info, err := os.Stat(parent)
	if err != nil {
		return Errorf(CodeFailed, "directory %q: %w", parent, err)
	}
	if uid := owner(info); uid != os.Geteuid() && uid != 0 {
		return Errorf(CodeRefused, "directory %q belongs to user %d", parent, uid).
			WithHint("set XDG_RUNTIME_DIR to a directory of your own")
	}
	if info.Mode()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return Errorf(CodeRefused, "directory %q may be written by others (%v)", parent, info.Mode()).
			WithHint("chmod go-w %q", parent)
	}
	return nil
}

// checkOwn refuses anything but a real directory that only this user may enter.
func checkOwn(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return Errorf(CodeFailed, "directory: %w", err)
	}
	switch uid := owner(info); {
	case !info.IsDir():
		return Errorf(CodeRefused, "%q is not a directory (%v)", dir, info.Mode()).
			WithHint("someone else may have created it; look at it, then remove it")
	case uid != os.Geteuid():
		return Errorf(CodeRefused, "directory %q belongs to user %d", dir, uid).
			WithHint("set XDG_RUNTIME_DIR to a directory of your own")
	case info.Mode().Perm() != 0o700:
		return Errorf(CodeRefused, "directory %q is open to others (%v)", dir, info.Mode()).
			WithHint("chmod 700 %q", dir)
	}
	return nil
}

func owner(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// Package claim decides which process serves something that belongs to the person and not to one
// tmux server: a talk port, a repository. A claim is a lock (flock) on a file in the person's state
// directory. The kernel releases it however the process ends, so a dead process never holds a
// claim. The package asks the holder nothing: to learn who serves, read what the holder writes in
// its own protocol.
//
// The package has no goroutine and no state.
package claim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// ErrHeld says that another process, or another claim of this one, has the lock.
var ErrHeld = errors.New("claimed by another process")

// attempts is how often the file may be replaced between opening and locking it.
const attempts = 10

// Claim is a held lock. It lasts until Release or the end of the process. Processes that this one
// starts do not inherit it.
type Claim struct{ file *os.File }

// Take makes the file at path and its directory (0700) if they are missing, and locks the file. It
// does not wait. The error wraps ErrHeld if somebody has the lock.
func Take(path string) (*Claim, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("claim %q: %w", path, err)
	}
	for range attempts {
		f, err := own.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("claim %q: %w", path, err)
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil && own.There(f) {
			return &Claim{f}, nil
		}
		own.Unlock(f)
		f.Close()
		switch {
		case errors.Is(err, syscall.EWOULDBLOCK):
			return nil, fmt.Errorf("claim %q: %w", path, ErrHeld)
		case err != nil:
			return nil, fmt.Errorf("claim %q: %w", path, err)
		}
		// Somebody removed the file between the two calls, so the lock protects nothing.
	}
	return nil, fmt.Errorf("claim %q: the file keeps being replaced", path)
}

// Intact reports whether the claim still keeps others out. Somebody who removes old files may have
// removed the lock file.
func (c *Claim) Intact() bool { return own.There(c.file) }

// Release releases the claim. It leaves the file: removing it could remove one that somebody else
// has just locked.
func (c *Claim) Release() error {
	own.Unlock(c.file)
	return c.file.Close()
}

// Held reports whether some process has the claim at path now. For an instant it may make a Take
// fail, so try again before giving up on a claim.
func Held(path string) bool {
	f, err := own.Open(path)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	defer own.Unlock(f)
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

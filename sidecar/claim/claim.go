// Package claim decides which process serves what belongs to the person and not to one tmux
// server: a talk port, a repository. A claim is a lock (flock) on a file in the person's state
// directory. The kernel gives it back however the process ends, so that nothing is ever claimed
// by the dead. Nothing is asked of the holder: who wants to know who serves reads what that one
// writes in its own protocol.
//
// It has no goroutine and no state.
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

// attempts is how often a file may be replaced between its opening and its locking.
const attempts = 10

// Claim is a lock that is held. It lasts until Release or the end of the process. A process
// that this one starts does not inherit it.
type Claim struct{ file *os.File }

// Take makes the file at path, and its directory (0700), if need be, and locks it. It does not
// wait. The error wraps ErrHeld if somebody has the lock.
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
		// Somebody removed the file between the two calls: what is locked is nobody's any more.
	}
	return nil, fmt.Errorf("claim %q: another file is there each time", path)
}

// Intact reports whether the claim still keeps others out: somebody who clears old files may
// have removed the lock's.
func (c *Claim) Intact() bool { return own.There(c.file) }

// Release gives the claim back. The file stays: whoever removed it could remove one that
// somebody else has just locked.
func (c *Claim) Release() error {
	own.Unlock(c.file)
	return c.file.Close()
}

// Held reports whether some process has the claim at path now. A look may for an instant keep
// Take from succeeding: whoever wants a claim tries again.
func Held(path string) bool {
	f, err := own.Open(path)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	defer own.Unlock(f)
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

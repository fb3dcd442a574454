//go:build !linux

package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// prove can only check that there is such a process, and that it is not us.
func (f *Family) prove() error {
	if f.root.PID <= 1 || f.root.PID == os.Getpid() || !Lives(f.root.PID, 0) {
		return ErrNoProcess
	}
	return nil
}

// grow does nothing here: the system does not tell who started whom.
func (f *Family) grow() error { return nil }

// send sends a signal to the process with that number.
func send(p Process, signal syscall.Signal) error {
	if err := syscall.Kill(p.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %d: %w", p.PID, err)
	}
	return nil
}

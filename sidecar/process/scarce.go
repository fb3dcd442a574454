package process

import (
	"errors"
	"syscall"
)

// Starved reports whether an operation failed because the system had no process, memory or
// descriptor to give.
func Starved(err error) bool {
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOMEM) || starved(err)
}

func starved(err error) bool { return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) }

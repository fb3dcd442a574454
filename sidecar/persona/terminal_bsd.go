//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package persona

import "golang.org/x/sys/unix"

func getTermios(fd int) (*unix.Termios, error) { return unix.IoctlGetTermios(fd, unix.TIOCGETA) }

func setTermios(fd int, s *unix.Termios) error { return unix.IoctlSetTermios(fd, unix.TIOCSETA, s) }

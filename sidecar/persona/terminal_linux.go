package persona

import "golang.org/x/sys/unix"

func getTermios(fd int) (*unix.Termios, error) { return unix.IoctlGetTermios(fd, unix.TCGETS) }

func setTermios(fd int, s *unix.Termios) error { return unix.IoctlSetTermios(fd, unix.TCSETS, s) }

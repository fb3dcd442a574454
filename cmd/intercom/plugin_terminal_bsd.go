//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package main

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
	// What was typed before is thrown away with it.
	setTermiosFlush = unix.TIOCSETAF
)

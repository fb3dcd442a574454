package main

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
	// This also discards what was typed before.
	setTermiosFlush = unix.TCSETSF
)

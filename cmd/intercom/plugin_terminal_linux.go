package main

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
	// What was typed before is thrown away with it.
	setTermiosFlush = unix.TCSETSF
)

//go:build !netbsd

package persona

import "golang.org/x/sys/unix"

const monotonic = unix.CLOCK_MONOTONIC

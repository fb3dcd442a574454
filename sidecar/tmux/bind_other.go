//go:build !linux

package tmux

import "syscall"

// bindToUs has nothing to bind with here: what is left behind ends with the tmux server, or
// when the next sidecar opens.
func bindToUs(*syscall.SysProcAttr) {}

//go:build !linux

package tmux

import "syscall"

// bindToUs does nothing here. A process that is left behind ends with the tmux server, or when the
// next sidecar opens that server.
func bindToUs(*syscall.SysProcAttr) {}

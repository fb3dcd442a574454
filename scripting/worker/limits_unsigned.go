//go:build !linux && !freebsd

package worker

import "syscall"

func rlimit(n uint64) syscall.Rlimit { return syscall.Rlimit{Cur: n, Max: n} }

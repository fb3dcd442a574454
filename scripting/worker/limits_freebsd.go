package worker

import "syscall"

func rlimit(n uint64) syscall.Rlimit { return syscall.Rlimit{Cur: int64(n), Max: int64(n)} }

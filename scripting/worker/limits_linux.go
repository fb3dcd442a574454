package worker

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// What a worker may use.
const (
	maxMemory  = 384 << 20 // beyond what the program reserves when it starts
	softMemory = 64 << 20  // above this, garbage is collected more often
	garbage    = 400       // per cent of the live heap, below softMemory: a script makes much garbage and keeps little
	maxStack   = 64 << 20
	maxFiles   = 16
)

// confine gives up what a worker does not need. The process ends if it exceeds maxMemory.
func confine() error {
	if err := giveUpPrivileges(); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	confineRuntime()
	size, err := addressSpace()
	if err != nil {
		return err
	}
	// Set both: with RLIMIT_DATA alone the resident set can overshoot, and RLIMIT_AS counts reservations that are never
	// used.
	for _, l := range []struct {
		what  int
		limit uint64
	}{
		{unix.RLIMIT_AS, size + maxMemory},
		{unix.RLIMIT_DATA, maxMemory},
		{unix.RLIMIT_NOFILE, maxFiles},
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, 0},
	} {
		if err := unix.Setrlimit(l.what, &unix.Rlimit{Cur: l.limit, Max: l.limit}); err != nil {
			return fmt.Errorf("limit %d to %d: %w", l.what, l.limit, err)
		}
	}
	return nil
}

// giveUpPrivileges gives up the right to gain new privileges, which the kernel keeps per thread. In a program with C
// code, Go cannot set it in threads that already run; then this thread sets it and the program executes itself anew.
func giveUpPrivileges() error {
	_, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0)
	switch errno {
	case 0:
		return nil
	case unix.ENOTSUP:
	default:
		return errno
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if given, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || given == 1 {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return unix.Exec("/proc/self/exe", os.Args, os.Environ())
}

func confineRuntime() {
	runtime.GOMAXPROCS(1)
	debug.SetMemoryLimit(softMemory)
	debug.SetGCPercent(garbage)
	debug.SetMaxStack(maxStack)
}

// addressSpace returns the size of the address space of this process, in bytes.
func addressSpace() (uint64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	pages, _, _ := bytes.Cut(text, []byte(" "))
	n, err := strconv.ParseUint(string(pages), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("/proc/self/statm: %w", err)
	}
	return n * uint64(os.Getpagesize()), nil
}

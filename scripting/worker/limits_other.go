//go:build !linux

package worker

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"time"
)

// What a worker may use.
const (
	maxMemory  = 384 << 20 // checked, not enforced by the system
	softMemory = 64 << 20  // above this, garbage is collected more often
	garbage    = 400       // per cent of the live heap, below softMemory: a script makes much garbage and keeps little
	maxStack   = 64 << 20
	maxFiles   = 16
)

// confine gives up what a worker does not need. These systems have no memory limit that works for a Go program, and do
// not tell a child that its parent has gone. The worker checks both ten times a second instead, so one large allocation
// can overshoot.
func confine() error {
	runtime.GOMAXPROCS(2) // one for watch
	debug.SetMemoryLimit(softMemory)
	debug.SetGCPercent(garbage)
	debug.SetMaxStack(maxStack)
	for what, limit := range map[int]uint64{syscall.RLIMIT_NOFILE: maxFiles, syscall.RLIMIT_CORE: 0} {
		l := rlimit(limit)
		if err := syscall.Setrlimit(what, &l); err != nil {
			return fmt.Errorf("limit %d to %d: %w", what, limit, err)
		}
	}
	go watch(os.Getppid())
	return nil
}

// watch ends the process when it is too large or its parent has gone.
func watch(parent int) {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	for range time.Tick(100 * time.Millisecond) {
		metrics.Read(sample)
		if sample[0].Value.Uint64() > maxMemory || os.Getppid() != parent {
			os.Exit(2)
		}
	}
}

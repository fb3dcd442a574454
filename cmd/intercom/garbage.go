package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The sidecar uses little memory. Go collects once there is as much garbage as memory in use, so a busy sidecar would
// collect all the time. Here more garbage may pile up meanwhile; at rest, the system gets the memory back.
const (
	garbageMost   = 32 << 20 // bytes of garbage that may pile up; more only if more memory is in use
	garbageFactor = 4        // but at most so many times the memory in use

	restEvery = time.Second
	restLess  = 8 << 20  // at rest, at most so many bytes are allocated in that time
	restWorth = 16 << 20 // bytes that must have been allocated before it is worth while again
)

// gcPercent returns how much garbage may pile up, in per cent of the memory in use.
func gcPercent(inUse uint64) int {
	return int(min(max(garbageMost*100/max(inUse, 1), 100), garbageFactor*100))
}

// collectSeldom makes Go collect less often while little memory is in use, and adjusts that after each collection. At
// rest, until ctx ends, it gives unused memory back to the system.
func collectSeldom(ctx context.Context) {
	debug.SetGCPercent(garbageFactor * 100)
	var after func(*[16]byte)
	after = func(next *[16]byte) {
		debug.SetGCPercent(gcPercent(measured("/gc/heap/live:bytes")))
		runtime.SetFinalizer(next, after)
	}
	runtime.SetFinalizer(new([16]byte), after)
	go func() {
		tick := time.NewTicker(restEvery)
		defer tick.Stop()
		var r rest
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if r.worth(measured("/gc/heap/allocs:bytes")) {
					debug.FreeOSMemory()
				}
			}
		}
	}()
}

// rest decides when it is worth while to give memory back.
type rest struct{ allocated, since uint64 }

// worth reports whether it is worth while now. It is called at intervals, with the number of bytes allocated so far.
func (r *rest) worth(allocated uint64) bool {
	meanwhile := allocated - r.allocated
	r.allocated = allocated
	if meanwhile > restLess || allocated-r.since < restWorth {
		return false
	}
	r.since = allocated
	return true
}

// measured returns one of the runtime's metrics.
func measured(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

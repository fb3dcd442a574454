package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The sidecar keeps little in use, so that Go, which collects when there is as much garbage as that, would collect all the time
// in one that is busy. More may pile up meanwhile; at rest the system gets it back.
const (
	garbageMost   = 32 << 20 // bytes that may pile up, and more only where more is in use
	garbageFactor = 4        // at most so many times what is in use

	restEvery = time.Second
	restLess  = 8 << 20  // bytes that are allocated meanwhile at most, at rest
	restWorth = 16 << 20 // bytes that must have been allocated, to be worth it
)

// gcPercent is how much garbage may pile up, in per cent of what is in use.
func gcPercent(inUse uint64) int {
	return int(min(max(garbageMost*100/max(inUse, 1), 100), garbageFactor*100))
}

// collectSeldom has garbage collected more seldom while little is in use, and looks anew after each collection. At rest, until
// ctx ends, memory that is not in use is given back.
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

// rest tells when it is worth while to give memory back.
type rest struct{ allocated, since uint64 }

// worth takes in how much has been allocated by now, a while after it was asked last.
func (r *rest) worth(allocated uint64) bool {
	meanwhile := allocated - r.allocated
	r.allocated = allocated
	if meanwhile > restLess || allocated-r.since < restWorth {
		return false
	}
	r.since = allocated
	return true
}

// measured is one of the runtime's figures.
func measured(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

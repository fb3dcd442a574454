package soaktest_test

import (
	"context"
	"fmt"
	"time"
)

// faults makes the faults, one after the other, until the time is over.
func (w *world) faults(ctx context.Context) {
	every := min(time.Minute, w.length/4)
	for tick := time.NewTicker(every); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.killSidecar(w.here)
		}
	}
}

// killSidecar kills a sidecar, and waits until another one answers.
func (w *world) killSidecar(c *computer) {
	from, pid := time.Now(), c.sidecar()
	kill(pid)
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if now := c.sidecar(); now != 0 && now != pid && c.client.Ping(context.Background()) == nil {
			break
		}
	}
	w.note(&w.made, from, fmt.Sprintf("%s: sidecar %d killed, until another one answers", c.name, pid))
	// What a program prints just before is heard once its turn has ended; what it prints while the next
	// sidecar looks for the first time belongs to what that finds there.
	w.note(&w.deaf, from.Add(-5*time.Second), "killed")
	w.mu.Lock()
	w.deaf[len(w.deaf)-1].To = time.Now().Add(3 * time.Second)
	w.mu.Unlock()
}

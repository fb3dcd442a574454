package soaktest_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/soaktest"
)

// clocks records how wrong the clocks of the sidecars were, and when.
type clocks struct {
	mu   sync.Mutex
	sets []soaktest.ClockSet
}

// clock sets by how many seconds the clocks of the sidecars are wrong from now on.
func (w *world) clock(seconds int) {
	require.NoError(w.t, atomicfile.Write(filepath.Join(w.dir, "clock"), fmt.Appendln(nil, seconds), 0o600))
	w.clocks.set(time.Now(), time.Duration(seconds)*time.Second)
}

func (c *clocks) set(now time.Time, ahead time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.sets); n > 0 {
		c.sets[n-1].To = now
	}
	c.sets = append(c.sets, soaktest.ClockSet{From: now, Ahead: ahead, Seen: map[string]int{}})
}

// until returns the sets of a run that ended then.
func (c *clocks) until(end time.Time) []soaktest.ClockSet {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.sets)
	all[len(all)-1].To = end
	return all
}

// late is how long after a clock is set its old time may still appear: a sidecar looks twice a
// second. near is how far a time of the sidecar's clock and one of the journal's may differ and
// still belong together.
const (
	late = 2 * time.Second
	near = time.Minute
)

// felt records the time that a sidecar's clock gave to an event of which the journal has the
// machine's time.
func (c *clocks) felt(computer string, at, says time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, set := range c.sets {
		if at.After(set.From.Add(-late)) && (set.To.IsZero() || at.Before(set.To.Add(late))) && says.Sub(at.Add(set.Ahead)).Abs() < near {
			set.Seen[computer]++
		}
	}
}

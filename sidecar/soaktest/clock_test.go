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

// clocks knows how wrong the clocks of the sidecars were, and when.
type clocks struct {
	mu   sync.Mutex
	sets []soaktest.ClockSet
}

// clock says by how many seconds the clocks of the sidecars are wrong from now on.
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

// until are the sets of a run that ended then.
func (c *clocks) until(end time.Time) []soaktest.ClockSet {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.sets)
	all[len(all)-1].To = end
	return all
}

// A sidecar reads its clock anew twice a second, and an entry is read within a few seconds, or once its
// sidecar is there again.
const (
	late   = 2 * time.Second
	unread = 3 * time.Minute
)

// real is when an entry was made that bears a time of the sidecar's clock. Where no clock of these minutes
// can have said that, it is the time at which it was read.
func (c *clocks) real(computer string, stamp, read time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, set := range slices.Backward(c.sets) {
		if !set.To.IsZero() && read.Sub(set.To) > unread {
			break
		}
		at := stamp.Add(-set.Ahead)
		if at.Before(set.From.Add(-late)) || !set.To.IsZero() && at.After(set.To.Add(late)) || at.After(read.Add(late)) || read.Sub(at) > unread {
			continue
		}
		set.Seen[computer]++
		return at
	}
	return read
}

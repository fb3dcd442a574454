package pane

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/clocktest"
)

// If the clock is set between paste and prompt, no other prompt becomes ours, and ours stays ours: a date before the
// paste counts as far as the clock was set back, and no further.
func TestBatch_D2_theClockIsSetBetweenPasteAndPrompt(t *testing.T) {
	typed := time.Now()
	later := typed.Add(2 * time.Second)
	for name, c := range map[string]struct {
		ahead int64 // the clock by now
		at    time.Time
		want  bool
	}{
		"not at all":                     {0, typed.Add(time.Second), true},
		"an earlier one":                 {0, typed.Add(-time.Second), false},
		"back":                           {-3600, typed.Add(time.Second - time.Hour), true},
		"back, and read late":            {-3600, typed.Add(-time.Hour), true},
		"back, and one from before":      {-3600, typed.Add(-2 * time.Hour), false},
		"back by a second":               {-1, typed.Add(-900 * time.Millisecond), true},
		"forward":                        {3600, typed.Add(time.Second + time.Hour), true},
		"forward behind the prompt":      {3600, typed.Add(time.Second), true},
		"forward, and an earlier prompt": {3600, typed.Add(-time.Second), false},
	} {
		t.Run(name, func(t *testing.T) {
			b := ours()
			b.typedAt = typed
			now := clocktest.Ahead(later, c.ahead)
			assert.Equal(t, c.want, b.takenAs(agent.Prompt{Text: b.text, At: c.at.Round(0)}, now) != "")
		})
	}
	assert.Zero(t, setBack(noon, noon.Add(-time.Hour)), "without monotonic readings nothing is known of it")
}

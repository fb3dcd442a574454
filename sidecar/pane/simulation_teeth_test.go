//go:build teeth

package pane

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The faults that the simulation is to find: between the parts and, with gates of this package switched off,
// in a core.
var seededBugs = []struct {
	what string
	bugs bugs
	gate string
}{
	{"a cancel never reaches its pane", bugs{cancelLost: true}, ""},
	{"permission is given before it is on disk", bugs{early: true}, ""},
	{"a request is answered before it is on disk", bugs{replyLost: true}, ""},
	{"the disk loses the last step (an fsync left out)", bugs{noSync: true}, ""},
	{"what is handed out together comes in another order", bugs{disordered: true}, ""},
	{"an id that the journal knows counts as new", bugs{seenForgotten: true}, ""},
	{"another life is not told what was not decided", bugs{undecidedForgotten: true}, ""},
	{"another life does not look at the server's mark", bugs{}, "mark"},
	{"another life begins at no depth", bugs{depthsForgotten: true}, ""},
	{"a verdict never comes", bugs{verdictLost: true}, ""},
	{"tmux types without comparing", bugs{notCompared: true}, ""},
	{"a door and a key for one message", bugs{}, "handed"},
	{"Enter without a look at what stands there", bugs{}, "seen"},
	{"a refusal does not count", bugs{}, "leave"},
	{"a text that never showed is forgotten", bugs{}, "lost"},
}

// seeds is how many seeds the rarest fault needs, which shows at the 11th, and as many again.
const seeds = 22

// Each fault is found, and the same seeds find nothing without it.
func TestTeeth_Simulation(t *testing.T) {
	edges := tableOfEdges(t)
	for seed := uint64(1); seed <= seeds; seed++ {
		_, wrong := simulate(seed, edges, bugs{}, false)
		assert.NoError(t, wrong, "seed %d", seed)
	}
	table := []string{fmt.Sprintf("%-55s %5s  %s", "bug", "seeds", "found")}
	for _, bug := range seededBugs {
		t.Setenv("INTERCOM_GATE_OFF", "")
		if bug.gate != "" {
			t.Setenv("INTERCOM_GATE_OFF", "pane:"+bug.gate)
		}
		found, seed := "", uint64(1)
		for ; seed <= seeds && found == ""; seed++ {
			if _, wrong := simulate(seed, edges, bug.bugs, false); wrong != nil {
				found, _, _ = strings.Cut(wrong.Error(), "\n")
			}
		}
		assert.NotEmpty(t, found, bug.what)
		table = append(table, fmt.Sprintf("%-55s %5d  %s", bug.what, seed-1, found))
	}
	t.Log("\n" + strings.Join(table, "\n"))
}

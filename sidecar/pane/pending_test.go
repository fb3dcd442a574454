package pane

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A key that was read at a prompt, and of which nothing shows, counts until the program writes again.
func TestPending(t *testing.T) {
	const draft, working, idle, history = message.Draft, message.Working, message.Idle, message.History
	type look struct {
		state         message.PaneState
		reads, writes uint64
		unread        int
		want          bool
	}
	for name, looks := range map[string][]look{
		"none":                        {{idle, 1, 1, 0, false}, {idle, 1, 1, 0, false}},
		"one":                         {{idle, 1, 1, 0, false}, {idle, 2, 1, 0, true}, {idle, 3, 1, 0, true}},
		"and what shows it":           {{idle, 1, 1, 0, false}, {idle, 2, 1, 0, true}, {draft, 3, 2, 0, false}, {idle, 4, 3, 0, false}, {idle, 5, 3, 0, true}},
		"and Enter":                   {{idle, 1, 1, 0, false}, {idle, 2, 1, 0, true}, {working, 3, 2, 0, false}, {idle, 3, 3, 0, false}},
		"behind copy mode":            {{idle, 1, 1, 0, false}, {history, 2, 1, 0, true}, {idle, 2, 1, 0, true}},
		"at work":                     {{working, 1, 1, 0, false}, {working, 2, 1, 0, false}, {idle, 2, 2, 0, false}},
		"before the prompt was seen":  {{idle, 2, 1, 0, false}, {idle, 2, 1, 0, false}},
		"one that waited for a while": {{idle, 1, 1, 1, false}, {idle, 2, 1, 0, false}, {idle, 3, 1, 0, true}},
	} {
		var u pending
		for i, look := range looks {
			s := fine()
			s.front.Canonical, s.reading.State = false, look.state
			c := calls{reads: look.reads, writes: look.writes, unread: look.unread, exact: true}
			u.see(s, c, c)
			assert.Equal(t, look.want, u.read, "%s, look %d", name, i)
			cooked := s
			cooked.front.Canonical = true
			other := u
			other.see(cooked, c, c)
			assert.Equal(t, pending{}, other, "%s: a terminal that gathers lines", name)
		}
	}
}

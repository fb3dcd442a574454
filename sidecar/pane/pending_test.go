package pane

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A key that was read at a prompt without showing counts until the line is over.
func TestPending(t *testing.T) {
	const draft, working, idle, history = message.Draft, message.Working, message.Idle, message.History
	type look struct {
		state         message.PaneState
		row           int
		reads, writes uint64 // after it
		wrote         uint64 // of these, during it
		unread        int
		ahead         bool
		want, again   bool
	}
	for name, looks := range map[string][]look{
		"none":                       {{idle, 0, 1, 1, 0, 0, false, false, false}, {idle, 0, 1, 1, 0, 0, false, false, false}},
		"one":                        {{idle, 0, 1, 1, 0, 0, false, false, false}, {idle, 0, 2, 1, 0, 0, false, true, false}, {idle, 0, 3, 1, 0, 0, false, true, false}},
		"and one that shows":         {{idle, 0, 1, 1, 0, 0, false, false, false}, {idle, 0, 2, 1, 0, 0, false, true, false}, {draft, 0, 3, 2, 0, 0, false, true, false}, {idle, 0, 4, 3, 0, 0, false, true, false}},
		"and a line that was sent":   {{idle, 0, 1, 1, 0, 0, false, false, false}, {idle, 0, 2, 1, 0, 0, false, true, false}, {idle, 2, 3, 3, 0, 0, false, false, false}, {idle, 2, 4, 3, 0, 0, false, true, false}},
		"and the program at work":    {{idle, 0, 1, 1, 0, 0, false, false, false}, {idle, 0, 2, 1, 0, 0, false, true, false}, {working, 0, 3, 2, 0, 0, false, false, false}, {idle, 0, 3, 3, 0, 0, false, false, false}},
		"and a cleared screen":       {{idle, 9, 1, 1, 0, 0, false, false, false}, {idle, 9, 2, 1, 0, 0, false, true, false}, {idle, 0, 3, 2, 0, 0, false, true, false}, {idle, 1, 4, 3, 0, 0, false, false, false}},
		"behind copy mode":           {{idle, 0, 1, 1, 0, 0, false, false, false}, {history, 0, 2, 1, 0, 0, false, true, false}, {idle, 0, 2, 1, 0, 0, false, true, false}},
		"at work":                    {{working, 0, 1, 1, 0, 0, false, false, false}, {working, 0, 2, 1, 0, 0, false, false, false}, {idle, 0, 2, 2, 0, 0, false, false, false}},
		"before the prompt was seen": {{working, 0, 1, 1, 0, 0, false, false, false}, {idle, 0, 3, 2, 0, 0, false, false, false}, {idle, 0, 3, 2, 0, 0, false, false, false}},
		"typed ahead, and seen":      {{idle, 0, 3, 2, 0, 0, true, true, false}, {idle, 0, 3, 2, 0, 0, false, true, false}},
		"typed ahead, and no prompt": {{working, 0, 3, 2, 0, 0, true, true, false}, {working, 1, 3, 3, 0, 0, false, true, false}, {history, 1, 3, 3, 0, 0, false, true, false}, {idle, 2, 3, 4, 0, 0, false, true, false}, {idle, 3, 4, 5, 0, 0, false, false, false}},
		"not read at the first look": {{idle, 0, 1, 1, 0, 1, false, false, false}, {idle, 0, 2, 1, 0, 0, false, false, false}, {idle, 0, 3, 1, 0, 0, false, true, false}},
		"while it writes":            {{idle, 0, 1, 2, 1, 0, false, false, true}, {idle, 0, 2, 2, 0, 0, false, false, false}, {idle, 0, 3, 2, 0, 0, false, true, false}},
	} {
		var k pending
		for i, look := range looks {
			s := fine()
			s.front.Canonical, s.reading.State, s.look.Facts.CursorY, s.look.Facts.Width = false, look.state, look.row, 80
			after := calls{reads: look.reads, writes: look.writes, unread: look.unread, exact: true}
			before := after
			before.writes -= look.wrote
			assert.Equal(t, look.again, k.see(s, before, after, look.ahead), "%s, look %d: another", name, i)
			assert.Equal(t, look.want, k.read, "%s, look %d", name, i)
			s.front.Canonical = true
			other := k
			other.see(s, before, after, false)
			assert.Equal(t, pending{}, other, "%s: a terminal that gathers lines", name)
		}
	}
}

// When a pane is made narrower, its rows move further down, but that is no other line.
func TestPending_resized(t *testing.T) {
	var k pending
	see := func(row, width int, reads, writes uint64) bool {
		s, c := fine(), calls{reads: reads, writes: writes, exact: true}
		s.front.Canonical, s.look.Facts.CursorY, s.look.Facts.Width = false, row, width
		k.see(s, c, c, false)
		return k.read
	}
	assert.False(t, see(3, 80, 1, 1))
	assert.True(t, see(3, 80, 2, 1))
	assert.True(t, see(5, 40, 2, 2), "narrower")
	assert.False(t, see(6, 40, 3, 3), "another line")
}

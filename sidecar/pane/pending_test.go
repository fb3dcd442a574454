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
		lost          uint64
	}
	for name, looks := range map[string][]look{
		"none":                       {{idle, 0, 1, 1, 0, 0, false, false, false, 0}, {idle, 0, 1, 1, 0, 0, false, false, false, 0}},
		"one":                        {{idle, 0, 1, 1, 0, 0, false, false, false, 0}, {idle, 0, 2, 1, 0, 0, false, true, false, 0}, {idle, 0, 3, 1, 0, 0, false, true, false, 0}},
		"and one that shows":         {{idle, 0, 1, 1, 0, 0, false, false, false, 0}, {idle, 0, 2, 1, 0, 0, false, true, false, 0}, {draft, 0, 3, 2, 0, 0, false, true, false, 0}, {idle, 0, 4, 3, 0, 0, false, true, false, 0}},
		"and a line that was sent":   {{idle, 0, 1, 1, 0, 0, false, false, false, 0}, {idle, 0, 2, 1, 0, 0, false, true, false, 0}, {idle, 2, 3, 3, 0, 0, false, false, false, 0}, {idle, 2, 4, 3, 0, 0, false, true, false, 0}},
		"and the program at work":    {{idle, 0, 1, 1, 0, 0, false, false, false, 0}, {idle, 0, 2, 1, 0, 0, false, true, false, 0}, {working, 0, 3, 2, 0, 0, false, false, false, 0}, {idle, 0, 3, 3, 0, 0, false, false, false, 0}},
		"and a cleared screen":       {{idle, 9, 1, 1, 0, 0, false, false, false, 0}, {idle, 9, 2, 1, 0, 0, false, true, false, 0}, {idle, 0, 3, 2, 0, 0, false, true, false, 0}, {idle, 1, 4, 3, 0, 0, false, false, false, 0}},
		"and news above its prompt":  {{idle, 0, 1, 1, 0, 0, false, false, false, 0}, {idle, 0, 2, 1, 0, 0, false, true, false, 0}, {idle, 2, 2, 3, 0, 0, false, true, false, 0}, {idle, 3, 3, 4, 0, 0, false, false, false, 0}},
		"and news without a prompt":  {{idle, 0, 1, 1, 0, 0, false, false, false, 0}, {idle, 0, 2, 1, 0, 0, false, true, false, 0}, {working, 1, 2, 2, 0, 0, false, true, false, 0}, {idle, 2, 2, 3, 0, 0, false, true, false, 0}, {idle, 3, 3, 4, 0, 0, false, false, false, 0}},
		"its end, drawn late":        {{idle, 0, 1, 1, 0, 0, false, false, false, 0}, {idle, 0, 2, 1, 0, 0, false, true, false, 0}, {idle, 0, 3, 2, 0, 0, false, true, false, 0}, {idle, 1, 3, 3, 0, 0, false, false, false, 0}},
		"two keys, and news":         {{idle, 0, 1, 1, 0, 0, false, false, false, 0}, {idle, 0, 2, 1, 0, 0, false, true, false, 0}, {idle, 0, 3, 1, 0, 0, false, true, false, 0}, {idle, 2, 3, 2, 0, 0, false, true, false, 0}, {idle, 4, 3, 3, 0, 0, false, true, false, 0}, {idle, 5, 4, 4, 0, 0, false, false, false, 0}},
		"behind copy mode":           {{idle, 0, 1, 1, 0, 0, false, false, false, 0}, {history, 0, 2, 1, 0, 0, false, true, false, 0}, {idle, 0, 2, 1, 0, 0, false, true, false, 0}},
		"at work":                    {{working, 0, 1, 1, 0, 0, false, false, false, 0}, {working, 0, 2, 1, 0, 0, false, false, false, 0}, {idle, 0, 2, 2, 0, 0, false, false, false, 0}},
		"before the prompt was seen": {{working, 0, 1, 1, 0, 0, false, false, false, 0}, {idle, 0, 3, 2, 0, 0, false, false, false, 0}, {idle, 0, 3, 2, 0, 0, false, false, false, 0}},
		"typed ahead, and seen":      {{idle, 0, 3, 2, 0, 0, true, true, false, 0}, {idle, 0, 3, 2, 0, 0, false, true, false, 0}},
		"typed ahead, and no prompt": {{working, 0, 3, 2, 0, 0, true, true, false, 0}, {working, 1, 3, 3, 0, 0, false, true, false, 0}, {history, 1, 3, 3, 0, 0, false, true, false, 0}, {idle, 2, 3, 4, 0, 0, false, true, false, 0}, {idle, 3, 4, 5, 0, 0, false, false, false, 0}},
		"maybe a lost report":        {{idle, 0, 1, 1, 0, 0, false, false, false, 0}, {idle, 0, 1, 2, 0, 0, false, true, false, 1}, {idle, 0, 1, 2, 0, 0, false, true, false, 1}, {idle, 1, 2, 3, 0, 0, false, false, false, 1}},
		"lost at work":               {{working, 0, 1, 1, 0, 0, false, false, false, 0}, {idle, 1, 2, 2, 0, 0, false, false, false, 1}},
		"lost, and its line is over": {{idle, 0, 1, 1, 0, 0, false, false, false, 0}, {working, 1, 2, 2, 0, 0, false, false, false, 1}, {idle, 2, 2, 3, 0, 0, false, false, false, 1}},
		"not read at the first look": {{idle, 0, 1, 1, 0, 1, false, false, false, 0}, {idle, 0, 2, 1, 0, 0, false, false, false, 0}, {idle, 0, 3, 1, 0, 0, false, true, false, 0}},
		"while it writes":            {{idle, 0, 1, 2, 1, 0, false, false, true, 0}, {idle, 0, 2, 2, 0, 0, false, false, false, 0}, {idle, 0, 3, 2, 0, 0, false, true, false, 0}},
	} {
		var k pending
		for i, look := range looks {
			s := fine()
			s.front.Canonical, s.reading.State, s.look.Facts.CursorY, s.look.Facts.Width = false, look.state, look.row, 80
			after := calls{reads: look.reads, writes: look.writes, unread: look.unread, lost: look.lost, exact: true}
			before := after
			before.writes -= look.wrote
			after.told, before.told = true, true
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

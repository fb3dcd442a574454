package pane

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// A text of ours that was submitted is no half line, whether or not its echo is ever seen. A line that
// somebody begins behind it is one.
func TestHalf_ourOwnEnter(t *testing.T) {
	const draft, working, idle = message.Draft, message.Working, message.Idle
	type look struct {
		state message.PaneState
		row   int
		taken bool // it shows that our text was submitted
	}
	for _, tt := range []struct {
		name    string
		pressed bool // Enter by us
		looks   []look
		want    message.Reason
	}{
		{"ours stands there", false, []look{{draft, 0, false}}, message.InComposer},
		{"ours is submitted, and answered", true, []look{{draft, 0, false}, {working, 1, true}, {idle, 2, false}}, ""},
		{"ours is submitted when the prompt is back", true, []look{{draft, 0, false}, {idle, 2, true}}, ""},
		{"ours is not known to be submitted", true, []look{{draft, 0, false}, {idle, 2, false}}, message.NotEmpty},
		{"Enter was not ours", false, []look{{draft, 0, false}, {idle, 2, true}}, message.NotEmpty},
		{"somebody begins a line", true, []look{{draft, 0, false}, {working, 1, true}, {draft, 2, false}}, message.InComposer},
		{"a prompt hides that", true, []look{{draft, 0, false}, {working, 1, true}, {draft, 2, false}, {idle, 4, false}}, message.NotEmpty},
		{"somebody has begun one by then", true, []look{{draft, 0, false}, {draft, 2, true}}, message.InComposer},
		{"a prompt hides that one", true, []look{{draft, 0, false}, {draft, 2, true}, {idle, 4, false}}, message.NotEmpty},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &Pane{}
			if tt.pressed {
				p.lines.enter = enterPressed
			}
			for _, look := range tt.looks {
				s := fine()
				s.reading.State, s.look.Facts.CursorY = look.state, look.row
				p.half.see(s, calls{}, calls{})
				if look.taken {
					p.await(&batch{})
				}
				p.entered(s)
			}
			why, _, _ := p.closure()
			assert.Equal(t, tt.want, why)
		})
	}
}

// The prompt where a line was begun is empty again: the person took the line back if the program has written nothing meanwhile.
// Otherwise it may be erased on the screen alone.
func TestHalf_takenBack(t *testing.T) {
	for _, tt := range []struct {
		row           int
		before, after uint64
		begun         bool
	}{{3, 7, 7, false}, {2, 7, 7, false}, {3, 7, 8, true}, {2, 7, 8, true}, {4, 7, 7, true}, {3, 0, 0, false}} {
		h, s := half{}, fine()
		s.frontOK, s.front.Canonical = true, true
		s.reading.State, s.look.Facts.CursorY = message.Draft, 3
		h.see(s, calls{writes: tt.before}, calls{writes: tt.before})
		s.reading.State, s.look.Facts.CursorY = message.Idle, tt.row
		h.see(s, calls{writes: tt.before}, calls{writes: tt.after})
		assert.Equal(t, tt.begun, h.begun, "%+v", tt)
		assert.Equal(t, tt.begun, h.hidden, "%+v", tt)
	}
}

// A hidden line was sent only if its program is known to have read; with several programs in front, nobody can tell.
func TestHalf_readSince(t *testing.T) {
	for _, tt := range []struct {
		before, now uint64
		want        bool
	}{{0, 0, false}, {0, 5, false}, {5, 0, false}, {5, 5, false}, {5, 6, true}} {
		assert.Equal(t, tt.want, (&half{begun: true, hidden: true, since: calls{reads: tt.before}}).readSince(tt.now), "%d, then %d", tt.before, tt.now)
	}
}

// Keys that are typed behind a hidden line, and taken back again, leave that line where it was until it is read.
func TestHalf_beneath(t *testing.T) {
	h, s := half{}, fine()
	s.frontOK, s.front.Canonical = true, true
	look := func(state message.PaneState, shown string, now calls) half {
		s.reading.State, s.look.Rows = state, []string{shown}
		h.see(s, now, now)
		return h
	}
	at := func(reads, writes uint64) calls { return calls{reads: reads, writes: writes, exact: true} }
	look(message.Draft, "ben> abc", at(1, 1))
	assert.True(t, look(message.Idle, "ben> ", at(1, 2)).hidden, "erased by the program")
	assert.True(t, look(message.Draft, "ben> d", at(1, 2)).beneath)
	assert.True(t, look(message.Idle, "ben> ", at(1, 2)).hidden, "one key is taken back")
	assert.True(t, look(message.Idle, "ben> ", at(2, 2)).handed, "C-d")
	assert.False(t, look(message.Idle, "ben> ", at(3, 3)).begun, "the line is read")

	look(message.Draft, "ben> abc", at(3, 3))
	assert.True(t, look(message.Draft, "ben> d", at(3, 4)).beneath, "erased and typed between two looks")
	assert.False(t, look(message.Draft, "ben> d", at(4, 5)).beneath, "sent, and another begun, between two looks")
	look(message.Draft, "ben> de", at(4, 6))
	assert.False(t, look(message.Idle, "ben> ", at(4, 6)).begun, "taken back")

	look(message.Draft, "ben> abc", at(4, 6))
	front := s.front
	s.front = process.FrontGroup{}
	look(message.Unknown, "ben> abc", at(4, 6))
	s.front = front
	assert.True(t, look(message.Idle, "ben> ", at(4, 7)).hidden, "who is in front could not be told for a moment")
}

// A draft that was begun behind whole lines which nobody had read is still there once those are read.
func TestHalf_behind(t *testing.T) {
	for name, asked := range map[string]bool{"at the first look": false, "at a later one": true} {
		h, s := half{}, fine()
		s.frontOK, s.front.Canonical = true, true
		look := func(state message.PaneState, before, now calls) bool {
			before.exact, now.exact = true, true
			s.reading.State = state
			h.see(s, before, now)
			return h.begun
		}
		if asked {
			look(message.Draft, calls{reads: 1, writes: 1}, calls{reads: 1, writes: 1})
			look(message.Draft, calls{reads: 1, writes: 1, unread: 3}, calls{reads: 2, writes: 1})
		} else {
			look(message.Draft, calls{reads: 1, writes: 1}, calls{reads: 1, writes: 1, unread: 3})
		}
		assert.True(t, look(message.Idle, calls{reads: 2, writes: 2}, calls{reads: 2, writes: 2}), name)
		assert.True(t, h.hidden, name)
		assert.False(t, look(message.Working, calls{reads: 3, writes: 2}, calls{reads: 3, writes: 2}), name)
	}
	h, s := half{}, fine() // the draft itself is sent while the look is taken
	s.frontOK, s.front.Canonical, s.reading.State = true, true, message.Draft
	h.see(s, calls{reads: 1, writes: 1, exact: true}, calls{reads: 1, writes: 1, exact: true})
	h.see(s, calls{reads: 1, writes: 1, exact: true}, calls{reads: 1, writes: 1, exact: true, unread: 3})
	assert.False(t, h.behind)
}

package link_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// R37: a chat ends at its home while the home's line is cut for a moment, so that nobody takes the home for
// away and greets it when it is back. The mirror ends all the same, and what the home has not sent for another
// reason is asked for.
func TestR37_ItsEndIsNotLost(t *testing.T) {
	t.Parallel()
	for _, cut := range []bool{true, false} {
		t.Run(map[bool]string{true: "the line was cut", false: "the server has refused it"}[cut], func(t *testing.T) {
			t.Parallel()
			s := newServer(t, nil)
			m := newMallory(t, s)
			cable := newLine(t, hostOf(t, s))
			asks := link.AskEvery(time.Hour)
			if !cut {
				asks = link.AskEvery(500 * time.Millisecond)
			}
			a, b := newComputer(t, "a", cable.url(), asks), newComputer(t, "b", s.ClientURL(), asks)
			inA, inB := a.session("inA"), b.session("inB")
			a.knows("b", inB)
			b.knows("a", inA)
			chat := a.begins(inA, inB)
			mirror := message.Home{Computer: "a", Chat: chat}.MirrorID()
			state := func() message.ChatState {
				for _, c := range b.relay.Snapshot().Chats() {
					if c.ID == mirror {
						return c.State
					}
				}
				return ""
			}
			waitFor(t, "its mirror", func() bool { return state() == message.ChatOn })
			if cut {
				cable.set(true)
				waitFor(t, "the line is cut", func() bool { return !a.link.State().Connected })
			} else {
				require.NoError(t, m.js.DeleteStream(t.Context(), link.StreamOf("b")))
			}
			a.stops(chat)
			cable.set(false)
			waitFor(t, "its end there", func() bool { return state() == message.ChatOver })
		})
	}
}

// R37, N3: a session of another computer takes a word of its chat, and ends before it answers. It is no longer
// a peer here, and nobody waits for it, also after a restart.
func TestR37_N3_itTookAWordOfItsChatAndHasGone(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	fast := link.AskEvery(200 * time.Millisecond)
	a, b := newComputer(t, "a", s.ClientURL(), fast), newComputer(t, "b", s.ClientURL(), nil)
	inA, inB := a.session("inA"), b.session("inB")
	a.knows("b", inB)
	a.begins(inA, inB)
	said := a.speaks(inA, "for you", inB)
	waitFor(t, "it is taken", func() bool { return a.last(said).State == message.Submitted })
	a.end()
	a.start()
	require.NoError(t, b.relay.Gone(t.Context(), inB.ID, message.AgentGone))
	waitFor(t, "it is no peer any more", func() bool {
		return !slices.ContainsFunc(a.relay.Snapshot().Peers(), func(p message.Peer) bool { return p.Computer == "b" && p.Ended == nil })
	})
	assert.Equal(t, []any{message.Failed, message.AgentGone}, []any{a.last(said).State, a.last(said).Reason})
}

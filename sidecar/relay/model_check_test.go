package relay

import (
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// check compares what the State keeps with what it said.
func (w *world) check() {
	require.Equal(w.t, w.stopped, w.s.stopped)
	require.Equal(w.t, w.stopped, w.book.Stopped, "the next run would not know")
	w.s.checkSnapshot(w.t)
	waiting := make(map[message.ID]int)
	for id, d := range w.s.under {
		require.Equal(w.t, w.state[id], d.state)
		require.False(w.t, d.state.Final(), "what is over leaves the State")
		if d.open() {
			waiting[d.Target]++
		}
	}
	for _, s := range w.s.peers {
		if s.Ended != nil {
			continue
		}
		require.Equal(w.t, waiting[s.ID], s.waiting)
		require.GreaterOrEqual(w.t, s.bytes, 0)
	}
	for _, id := range w.all {
		d := w.state[id]
		if _, under := w.s.under[id]; !under && !d.Final() {
			if w.taken[id] {
				require.Equal(w.t, message.Submitted, d)
				continue
			}
			require.True(w.t, w.gone[w.made[id].Target], "lost: %s %s", d, w.reason[id])
			require.Contains(w.t, []message.ReceiptState{message.Held, message.Submitted}, d)
		}
	}
	taken := make(map[message.ID]int)
	for _, m := range w.received {
		if m.TakesTurn() {
			taken[m.Chat]++
		}
	}
	for _, m := range w.received {
		require.False(w.t, m.Type == message.KindTurn && m.From.Peer == w.chats[m.Chat].Asker(), "one who asks talks on")
	}
	for _, c := range w.s.open() {
		require.True(w.t, !c.OneWay || c.maySpeak(c.Asker()) || w.in(c.ID, c.Asker()), "nobody to whom the answers go")
		require.Equal(w.t, w.chats[c.ID].Limits, c.Limits, "the settings are those that were written down")
		require.Equal(w.t, taken[c.ID], c.taken, "only turns count as such")
	}
	members := make(map[message.ID]bool)
	for _, c := range w.chats {
		if c.State == message.ChatOver {
			continue
		}
		for _, p := range c.Participants {
			if !p.Left {
				require.False(w.t, members[p.Peer], "a session in two chats")
				members[p.Peer] = true
			}
		}
	}
}

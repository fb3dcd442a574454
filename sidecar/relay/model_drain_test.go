package relay

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// drain lets everything take its course: then each delivery is final, submitted, or held for the
// policy or for an agent that has gone; and each message reached everybody that it had to.
func (w *world) drain() {
	for len(w.undecided) > 0 {
		w.decide(0, message.VerbDeliver)
	}
	for range 50 {
		w.ask(ResumeChat{Chat: All, Sure: true})
		idle := true
		for _, id := range w.all {
			if d := w.s.under[id]; d != nil && d.where == atSink && d.open() {
				idle = false
				if !d.Typed {
					w.report(id, message.Typed)
				}
				w.report(id, message.Submitted)
			} else if d != nil && d.where == lent && d.open() { // its reader has gone
				w.ask(Told{By: By{Kind: Agent, Peer: d.Target}, Deliveries: []message.ID{id}, State: message.Uncertain})
			}
		}
		w.now = w.now.Add(2 * time.Hour)
		if idle {
			break
		}
	}
	for _, id := range w.all {
		switch state := w.state[id]; {
		case state.Final() || state == message.Submitted:
		case state == message.Held && w.gone[w.made[id].Target]:
		case state == message.Held && w.awaited(id):
		case w.s.under[id] != nil && w.s.under[id].shut:
			w.report(id, message.Uncertain) // its pane gives it up
			require.Equal(w.t, message.Uncertain, w.state[id])
		default:
			require.Fail(w.t, "neither done nor held", "%s %s", state, w.reason[id])
		}
	}
	for id, m := range w.received {
		// The sidecar of another computer may notify the very session that it speaks for: that
		// notice goes nowhere.
		if m.Type == message.KindNotice && w.verdicts[id] && m.To[0].Peer != m.From.Peer {
			require.True(w.t, w.pairs[string(id+m.To[0].Peer)], "a notice that never set out")
		}
		if m.Type != message.KindTurn && m.Type != message.KindLast || !w.verdicts[id] {
			continue
		}
		asker := w.chats[m.Chat].Asker()
		left := make(map[message.ID]bool)
		for _, p := range w.chats[m.Chat].Participants {
			left[p.Peer] = left[p.Peer] || p.Left
		}
		for _, p := range w.members[id] {
			if asker != "" && m.From.Peer != asker && p != asker {
				require.False(w.t, w.pairs[string(id+p)], "an answer to one who did not ask")
				continue
			}
			if p != m.From.Peer && !left[p] {
				require.True(w.t, w.pairs[string(id+p)], "a turn that never set out for %s", p)
			}
		}
	}
}

// holds checks the Hold of a receipt against the decision.
func (w *world) holds(r message.Receipt) {
	if r.State != message.Held || r.Reason == message.AgentGone {
		require.Empty(w.t, r.Hold)
		return
	}
	verb := w.book.Decided[w.made[r.Delivery].Message.ID].For(r.Target).Verb
	asked := r.Reason == message.Unfiltered || r.Reason == message.AwaitingApproval
	require.Equal(w.t, verb != "" && verb != message.VerbDeliver || asked, r.Awaits())
}

// awaited reports whether a held delivery waits for a person's decision.
func (w *world) awaited(d message.ID) bool {
	return message.Receipt{State: w.state[d], Hold: w.hold[d]}.Awaits()
}

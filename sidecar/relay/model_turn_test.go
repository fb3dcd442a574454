package relay

import (
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// tell makes a turn end, reported for the first time or again.
func (w *world) tell(turn message.Turn) {
	twice := w.told[turn.ID] || w.received[turn.ID].ID != "" || w.known(promptID(turn.ID))
	if !w.gone[turn.Peer] && !twice {
		w.told[turn.ID] = true
		w.turns = append(w.turns, turn)
	}
	for _, e := range w.step(Spoke{Turn: turn, Seen: w.known(turn.ID), Prompted: w.known(promptID(turn.ID))}) {
		commit, ok := e.(Commit)
		if !ok {
			continue
		}
		if twice {
			require.Empty(w.t, commit.Step.Received, "said twice")
			require.Empty(w.t, commit.Step.Notices, "a person was told twice")
			require.Empty(w.t, commit.Step.Freed)
		}
		w.brought(turn, commit.Step, twice)
	}
}

// brought checks what a turn made when it was reported for the first time.
func (w *world) brought(turn message.Turn, s message.Step, twice bool) {
	failed := make(map[message.ID]message.ID) // the agent that waits for an answer → its last message
	for _, r := range s.Receipts {
		if r.Reason == message.Duplicate {
			continue
		}
		if d := w.made[r.Delivery]; d.Door != message.DoorMCP || d.Target != turn.Peer { // deliveries of DoorMCP its peer took by itself
			require.Contains(w.t, turn.Answers, r.Delivery)
		}
		m := w.made[r.Delivery].Message
		if turn.Cut == "" {
			require.Equal(w.t, message.Answered, r.State)
			continue
		}
		require.Equal(w.t, message.Failed, r.State)
		require.Equal(w.t, turn.Cut, r.Reason)
		require.Empty(w.t, r.Words)
		if m.Origin.OfAgent() {
			failed[m.From.Peer] = m.ID
		}
	}
	may := func(chat, session message.ID) bool {
		return slices.ContainsFunc(w.chats[chat].Participants, func(p message.Participant) bool {
			return p.Peer == session && !p.Left && p.MaySpeak
		})
	}
	noticed := make(map[message.ID]bool)
	for i, m := range s.Received {
		limits := w.chats[m.Chat].Limits
		if m.Chat != "" {
			require.True(w.t, may(m.Chat, turn.Peer), "of one who is not heard there")
		}
		switch m.Type {
		case message.KindSay:
			require.Zero(w.t, i, "the prompt goes first")
			require.True(w.t, limits.Person)
			require.Equal(w.t, turn.Prompt, m.Body)
			require.Equal(w.t, message.OriginHuman, m.Origin)
			require.Equal(w.t, message.Address{Computer: message.LocalComputer, Name: "ada"}, m.From)
			require.Zero(w.t, m.Depth)
			require.NotEmpty(w.t, m.To)
			for _, to := range m.To {
				require.NotEqual(w.t, turn.Peer, to.Peer)
			}
		case message.KindTurn:
			require.Empty(w.t, turn.Cut)
			want := turn.Words
			if limits.Words == "all" && turn.All != "" {
				want = turn.All
			}
			require.Equal(w.t, want, m.Body)
		case message.KindNotice:
			require.Equal(w.t, message.OriginSystem, m.Origin)
			require.Equal(w.t, turn.Peer, m.From.Peer)
			require.Len(w.t, m.To, 1)
			require.False(w.t, noticed[m.To[0].Peer], "told of one stop twice")
			noticed[m.To[0].Peer] = true
			if !strings.Contains(m.Body, "was not answered") { // the message may still be answered, or was: see the model of notices
				require.Empty(w.t, m.Chat)
				break
			}
			require.NotEmpty(w.t, turn.Cut)
			require.Contains(w.t, failed, m.To[0].Peer, "nobody there waits for an answer, or one was told twice")
			delete(failed, m.To[0].Peer)
			if m.Chat != "" {
				require.True(w.t, may(m.Chat, m.To[0].Peer))
			}
		default:
			require.Fail(w.t, "a turn made "+m.Type)
		}
	}
	for author, id := range failed { // in a chat, who is told depends on who is heard
		require.False(w.t, !twice && w.received[id].Chat == "" && !w.gone[author], "an agent waits and was not told")
	}
}

package relay

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// crowd returns a State of that many peers, a fifth of them in chats of two.
func crowd(t require.TestingT, peers int) (*rig, []message.Peer) {
	r := newRig(t)
	stays, chats := make([]SavedPeer, peers), []SavedChat{}
	sessions := make([]message.Peer, peers)
	for i := range stays {
		sessions[i] = message.Peer{ID: r.id(), Name: fmt.Sprint("peer", i), PaneOf: message.PaneOf{Pane: fmt.Sprintf("%%%d", i), Profile: "line"}, Computer: message.LocalComputer}
		stays[i] = SavedPeer{Peer: sessions[i]}
	}
	for i := 0; i < peers/5; i += 2 {
		chats = append(chats, SavedChat{Chat: message.Chat{
			ID: r.id(), State: message.ChatOn, Limits: message.Limits{Rate: 1 << 30, Depth: 1 << 30, Bytes: 1 << 40, Stall: StallOff},
			Participants: []message.Participant{
				{Peer: sessions[i].ID, Name: sessions[i].Name, Number: 1, MaySpeak: true},
				{Peer: sessions[i+1].ID, Name: sessions[i+1].Name, Number: 2, MaySpeak: true},
			},
		}})
	}
	_, _ = r.step(Restored{Peers: stays, Chats: chats})
	return r, sessions
}

var crowds = []int{10, 10_000}

// quiet steps a State and discards the effects.
func quiet(s *State, now time.Time, e Event) []Effect {
	effects := s.Step(now, e)
	s.Snapshot()
	return effects
}

// A turn in a chat: said, decided, typed, taken and answered, with the snapshot after each step.
func BenchmarkTurn(b *testing.B) {
	for _, peers := range crowds {
		b.Run(fmt.Sprint("peers=", peers), func(b *testing.B) {
			r, sessions := crowd(b, peers)
			s, now := r.s, r.now
			ids := ids{random: NewState([32]byte{9}, message.Limits{}).ids.random}
			var answers []message.ID
			for i := 0; b.Loop(); i++ {
				now = now.Add(time.Second)
				turn := message.Turn{ID: ids.next(now), Peer: sessions[i%2].ID, Words: "words", Ended: now, Answers: answers}
				quiet(s, now, Spoke{Turn: turn})
				quiet(s, now, StateChanged{Peer: turn.Peer, State: message.Idle, Why: fmt.Sprint(i)})
				answers = nil
				for _, e := range quiet(s, now, Decided{message.Verdict{Message: turn.ID, Decision: message.Decision{Verb: message.VerbDeliver}}}) {
					if d, ok := e.(Deliver); ok {
						answers = append(answers, d.Delivery.ID)
					}
				}
				require.Len(b, answers, 1)
				for _, state := range []message.ReceiptState{message.Typed, message.Typed, message.Submitted} {
					quiet(s, now, Reported{Receipt: message.Receipt{Delivery: answers[0], State: state}})
				}
				s.waits()
			}
		})
	}
}

// A snapshot after a session has changed.
func BenchmarkSnapshot(b *testing.B) {
	for _, peers := range crowds {
		b.Run(fmt.Sprint("peers=", peers), func(b *testing.B) {
			r, sessions := crowd(b, peers)
			for i := 0; b.Loop(); i++ {
				one := r.s.present(sessions[i%peers].ID)
				one.State = message.Working
				r.s.touch(one)
				r.s.Snapshot()
			}
		})
	}
}

// A question to the policy, about a single message and one in a chat.
func BenchmarkQuestion(b *testing.B) {
	for _, peers := range crowds {
		b.Run(fmt.Sprint("peers=", peers), func(b *testing.B) {
			r, sessions := crowd(b, peers)
			r.async = true
			r.say(sessions[0], "in a chat")
			_, _ = r.step(Requested{Request: Send{By: By{Kind: Agent, Peer: sessions[peers-1].ID}, To: sessions[peers-2].Name, Message: message.Envelope{Body: "beside"}}})
			require.Len(b, r.pending, 2)
			for i := 0; b.Loop(); i++ {
				require.NotNil(b, r.s.question(r.pending[i%2]))
			}
		})
	}
}

// An adoption, and the end of the session.
func BenchmarkAdoption(b *testing.B) {
	for _, peers := range crowds {
		b.Run(fmt.Sprint("peers=", peers), func(b *testing.B) {
			r, _ := crowd(b, peers)
			ids := ids{random: NewState([32]byte{9}, message.Limits{}).ids.random}
			for i := 0; b.Loop(); i++ {
				r.now = r.now.Add(time.Second)
				id := ids.next(r.now)
				quiet(r.s, r.now, Adopted{Peer: message.Peer{ID: id, Name: "one", PaneOf: message.PaneOf{Pane: "%one"}}})
				quiet(r.s, r.now, Gone{Peer: id, Reason: message.PaneMissing})
			}
		})
	}
}

// The snapshot that is updated from step to step equals the one that the whole State would make.
func (s *State) checkSnapshot(t require.TestingT) {
	var sessions []message.Peer
	for _, one := range s.peers {
		sessions = append(sessions, one.Peer)
	}
	var chats []message.Chat
	for _, c := range s.chats {
		chats = append(chats, c.Chat)
	}
	want, got := registry.New(sessions, chats), s.Snapshot()
	require.Equal(t, want.Peers(), got.Peers())
	require.Equal(t, want.Past(), got.Past())
	require.Equal(t, want.Chats(), got.Chats())
	for _, one := range sessions {
		wantChat, in := want.ChatOf(one.ID)
		gotChat, is := got.ChatOf(one.ID)
		require.Equal(t, in, is)
		require.Equal(t, wantChat, gotChat)
		require.Equal(t, in, s.chatOf(one.ID) != nil)
		_, wantErr := want.Find(one.Name)
		_, gotErr := got.Find(one.Name)
		require.Equal(t, wantErr, gotErr)
	}
	waiting := 0
	for _, one := range s.peers {
		waiting += one.waiting
	}
	require.Equal(t, waiting, s.waiting)
	found := 0
	for p, list := range s.at {
		require.NotEmpty(t, list)
		for _, d := range list {
			require.Same(t, s.under[d.ID], d)
			require.Contains(t, d.places(), p)
		}
		found += len(list)
	}
	require.Equal(t, 4*len(s.under), found)
}

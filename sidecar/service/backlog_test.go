package service

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/comeback"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

type deciding func(q relay.Question) message.Verdict

func (f deciding) Decide(_ context.Context, q relay.Question) (message.Verdict, error) {
	return f(q), nil
}

type nowhere struct{}

func (nowhere) Deliver(...message.Delivery)         {}
func (nowhere) Cancel([]message.ID, message.Reason) {}
func (nowhere) Forget(message.ID)                   {}

// A delivery kept for an agent that is gone goes to its successor only if the last verdict on its message
// allows it, even if that verdict was about the other deliveries: not with a text that no filter has seen, and
// not one that nobody said yes to.
func TestL6_V10_HeirGetsNothingThatWaited(t *testing.T) {
	t.Parallel()
	masked := "the key is [redacted]"
	for name, verdict := range map[string]func(n int, c message.ID) message.Verdict{
		"unfiltered": func(n int, c message.ID) message.Verdict {
			if n == 1 {
				return message.Verdict{Decision: message.Decision{Verb: message.VerbHold, By: "test"}, Unfiltered: true}
			}
			return message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver, By: "test"}, Body: &masked}
		},
		"no yes": func(_ int, c message.ID) message.Verdict {
			return message.Verdict{Decision: message.Decision{Verb: message.VerbAsk, By: "test", Expires: time.Second, Otherwise: message.VerbDeliver}, Outcomes: []message.Outcome{
				{Target: c, Decision: message.Decision{Verb: message.VerbAsk, By: "test"}},
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			j, err := journal.Open(t.Context(), filepath.Join(t.TempDir(), "journal"))
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, j.Close()) })
			asked := 0
			var sessions []message.Peer
			r := &relay.Relay{Journal: j, Sink: nowhere{}, Policy: deciding(func(relay.Question) message.Verdict {
				asked++
				return verdict(asked, sessions[2].ID)
			})}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- r.Run(ctx) }()
			t.Cleanup(func() { cancel(); assert.NoError(t, <-done) })
			for i, who := range []string{"a", "b", "c"} {
				s, err := r.Adopt(ctx, message.Peer{Name: who, PaneOf: message.PaneOf{Pane: "%" + who, Profile: "claude"}})
				require.NoError(t, err, i)
				sessions = append(sessions, s)
			}
			started, err := r.Do(ctx, relay.StartChat{By: relay.By{Kind: relay.Person}, Peers: []string{"a", "b", "c"}})
			require.NoError(t, err)
			chat := started.Chats[0].ID
			id := message.NewID()
			require.NoError(t, r.Spoke(ctx, message.Turn{ID: id, Peer: sessions[0].ID, Words: "the key is hunter2", Ended: time.Now().Add(time.Second)}))
			waiting := func(n int, reason message.Reason) {
				t.Helper()
				require.Eventually(t, func() bool {
					found := 0
					all, err := j.Waiting(ctx, chat)
					require.NoError(t, err)
					for _, one := range all {
						if one.Last.Reason == reason {
							found++
						}
					}
					return found == n
				}, time.Minute, 20*time.Millisecond, reason)
			}
			held := map[string]message.Reason{"unfiltered": message.Unfiltered, "no yes": message.AwaitingApproval}[name]
			waiting(2, held)
			require.NoError(t, r.Gone(ctx, sessions[2].ID, message.PaneReplaced))
			waiting(1, message.AgentGone)
			if name == "unfiltered" { // repaired
				m, err := j.Message(ctx, string(id))
				require.NoError(t, err)
				require.NoError(t, r.Reconsider(ctx, []message.Envelope{m}))
			}
			waiting(0, held) // b's delivery goes, masked, or by itself
			s := chatsOf(j, r)
			kept, err := s.backlogOf(ctx, chat, map[message.ID]string{sessions[2].ID: "%7"})
			require.NoError(t, err)
			for _, one := range kept {
				assert.Fail(t, "typed to the successor: "+one.Delivery.Message.Body)
			}
		})
	}
}

// chatsOf returns the chats of a relay, without panes.
func chatsOf(j *journal.Journal, r *relay.Relay) *Chats {
	back := &comeback.Returns{Relay: r, Journal: j}
	return &Chats{Names: &Names{Relay: r, Journal: j, Ended: back}, Returns: back, Relay: r, Journal: j}
}

package service

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// Whoever takes the place of an agent that had gone when a person edited a message gets what
// they made of it; what no person touched as it stands in the delivery; and what nobody said
// yes to not at all.
func TestAgain_theHeirGetsWhatAPersonMadeOfIt(t *testing.T) {
	j, err := journal.Open(t.Context(), filepath.Join(t.TempDir(), "journal"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, j.Close()) })
	s := chatsOf(j, &relay.Relay{})
	now := time.Now()
	gone := message.Peer{ID: message.NewID(), Name: "Ben", PaneOf: message.PaneOf{Pane: "%1"}, Ended: &now, EndReason: string(message.AgentGone)}
	chat := message.Chat{ID: message.NewID(), State: message.ChatOver}
	step := message.Step{Peers: []message.Peer{gone}, Chats: []message.Chat{chat}}
	later := message.Step{} // what a person says when it is held
	waits := func(body string, verdicts ...message.Verdict) {
		e := message.Envelope{
			ID: message.NewID(), Thread: chat.ID, Type: message.KindTurn, Body: body, Origin: message.OriginAgent, Trust: message.TrustVerified, Created: now,
		}
		d := message.Delivery{ID: message.NewID(), Message: e, Target: gone.ID, Chat: chat.ID, Attempt: 1}
		step.Received, step.Deliveries = append(step.Received, e), append(step.Deliveries, d)
		for i, v := range verdicts {
			v.Message = e.ID
			of := []*message.Step{&step, &later}[i]
			of.Verdicts = append(of.Verdicts, v)
		}
		for _, r := range []message.Receipt{{State: message.Queued}, {State: message.Held, Reason: message.AgentGone}} {
			r.Delivery, r.Message, r.Target = d.ID, e.ID, d.Target
			step.Receipts = append(step.Receipts, r)
		}
	}
	edited, masked, ada := "ls", "[removed]", message.Person{Name: "ada"}
	asked := message.Verdict{Decision: message.Decision{Verb: message.VerbAsk}}
	waits("rm", asked, message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}, Body: &edited, Person: ada})
	waits("as it is", asked, message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}, Person: ada})
	waits("[masked for it alone]", message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}, Body: &masked})
	waits("nobody said yes", asked)
	require.NoError(t, j.Commit(t.Context(), step))
	require.NoError(t, j.Commit(t.Context(), later))

	kept, err := s.backlogOf(t.Context(), chat.ID, map[message.ID]string{gone.ID: "%7"})
	require.NoError(t, err)
	var bodies []string
	for _, one := range kept {
		assert.Equal(t, "%7", one.To)
		bodies = append(bodies, one.Delivery.Message.Body)
	}
	assert.Equal(t, []string{"ls", "as it is", "[masked for it alone]"}, bodies)
}

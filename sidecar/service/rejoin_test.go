package service

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/pane"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// The successor of an agent that was gone when a person edited a message gets the edited text. It gets a
// message that no person touched as it stands in the delivery, and one that nobody said yes to not at all.
func TestAgain_theHeirGetsWhatAPersonMadeOfIt(t *testing.T) {
	j, err := journal.Open(t.Context(), filepath.Join(t.TempDir(), "journal"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, j.Close()) })
	s := chatsOf(j, &relay.Relay{})
	now := time.Now()
	gone := message.Peer{ID: message.NewID(), Name: "Ben", PaneOf: message.PaneOf{Pane: "%1"}, Ended: &now, EndReason: string(message.AgentGone)}
	chat := message.Chat{ID: message.NewID(), State: message.ChatOver}
	step := message.Step{Peers: []message.Peer{gone}, Chats: []message.Chat{chat}}
	later := message.Step{} // a person's decision about the held message
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

// A limit that a person set during a chat to end it is not taken over when the chat is taken up again.
func TestAgain_withTheTurnsThatWereMeant(t *testing.T) {
	j, err := journal.Open(t.Context(), filepath.Join(t.TempDir(), "journal"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, j.Close()) })
	s := chatsOf(j, &relay.Relay{})
	for _, c := range []struct {
		old   message.Chat
		asked int
		want  int
	}{
		{message.Chat{Turns: 7}, 0, 7},
		{message.Chat{Turns: 7}, 3, 3},
		{message.Chat{Turns: 7, Closes: "stopped after the last answer by ada"}, 0, 0},
		{message.Chat{Turns: 7, Closes: "stopped after the last answer by ada", Chosen: 20}, 0, 20},
		{message.Chat{Turns: 7, Closes: "stopped after the last answer by ada", Chosen: 20}, 3, 3},
	} {
		c.old.ID = message.NewID()
		got, _, err := s.again(t.Context(), relay.StartChat{Turns: c.asked}, c.old)
		require.NoError(t, err)
		assert.Equal(t, c.want, got.Turns, "%+v", c.old)
	}
}

// agentsIn lists the panes with agents that nobody has adopted.
type agentsIn map[string]pane.Listed

func (a agentsIn) Agents(context.Context, []string) (map[string]pane.Listed, error) { return a, nil }

// A chat that ended when one of several agents went is taken up with all of these that are back by then, and
// without one that went before its end and is not back.
func TestAgain_withThoseWhoWentBeforeTheEnd(t *testing.T) {
	j, err := journal.Open(t.Context(), filepath.Join(t.TempDir(), "journal"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, j.Close()) })
	s := chatsOf(j, &relay.Relay{})
	ended := time.Now()
	chat := message.Chat{ID: message.NewID(), State: message.ChatOver, Why: string(message.AgentGone), Started: ended.Add(-time.Hour), Ended: &ended}
	var step message.Step
	back := agentsIn{}
	for i, name := range []string{"Ada", "Bea", "Cyd", "Ada"} {
		where := []string{"%1", "%2", "%3", "%1"}[i]
		step.Peers = append(step.Peers, message.Peer{
			ID: message.NewID(), Name: name, PaneOf: message.PaneOf{Pane: where, Profile: "claude"}, Ended: &ended, EndReason: string(message.AgentGone),
		})
		chat.Participants = append(chat.Participants, message.Participant{
			Peer: step.Peers[i].ID, Name: name, Number: i + 1, MaySpeak: true, Left: where == "%1", Gone: where == "%1", // twice
		})
		back[where] = pane.Listed{Agent: "claude", Program: message.Process{PID: i + 1}}
	}
	step.Chats = []message.Chat{chat}
	require.NoError(t, j.Commit(t.Context(), step))
	require.NoError(t, s.Returns.Recollect(t.Context(), nil))
	s.Returns.Panes = back
	check := func(panes, told []string, named ...string) {
		t.Helper()
		start, _, err := s.again(t.Context(), relay.StartChat{Peers: named}, chat)
		require.NoError(t, err)
		assert.Equal(t, panes, start.Peers)
		over, err := s.Returns.Now(t.Context(), chat.ID)
		require.NoError(t, err)
		require.Len(t, over, 1)
		var names []string
		for _, one := range over[0].Gone {
			names = append(names, one.As.Name)
		}
		assert.Equal(t, told, names)
	}
	check([]string{"%2", "%3", "%1"}, []string{"Bea", "Cyd", "Ada"})
	check([]string{"%7", "%8", "%9"}, []string{"Bea", "Cyd", "Ada"}, "%7", "%8", "%9")
	check([]string{"%7", "%8"}, []string{"Bea", "Cyd", "Ada"}, "%7", "%8")
	delete(back, "%1")
	check([]string{"%2", "%3"}, []string{"Bea", "Cyd"})
	check([]string{"%7", "%8", "%9"}, []string{"Bea", "Cyd"}, "%7", "%8", "%9")
	delete(back, "%2")
	over, err := s.Returns.Now(t.Context(), chat.ID)
	require.NoError(t, err)
	assert.Empty(t, over, "without that one it cannot be taken up")
}

// A line program takes part again once a person has adopted it anew: if as many panes are named as there were
// participants, all of these are meant.
func TestAgain_withALineProgramThatWentBefore(t *testing.T) {
	j, err := journal.Open(t.Context(), filepath.Join(t.TempDir(), "journal"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, j.Close()) })
	s := chatsOf(j, &relay.Relay{})
	ended := time.Now()
	chat := message.Chat{ID: message.NewID(), State: message.ChatOver, Why: string(message.AgentGone), Started: ended.Add(-time.Hour), Ended: &ended}
	var step message.Step
	for i, name := range []string{"Ada", "Ben", "Cyd"} {
		step.Peers = append(step.Peers, message.Peer{
			ID: message.NewID(), Name: name, PaneOf: message.PaneOf{Pane: fmt.Sprintf("%%%d", i+1), Profile: "line"}, Ended: &ended, EndReason: string(message.PaneReplaced),
		})
		chat.Participants = append(chat.Participants, message.Participant{Peer: step.Peers[i].ID, Name: name, Number: i + 1, MaySpeak: true, Left: i == 1, Gone: i == 1})
	}
	step.Chats = []message.Chat{chat}
	require.NoError(t, j.Commit(t.Context(), step))
	require.NoError(t, s.Returns.Recollect(t.Context(), nil))
	s.Returns.Panes = agentsIn{}
	for _, panes := range [][]string{{"%1", "%2", "%3"}, {"%1", "%3"}} {
		start, _, err := s.again(t.Context(), relay.StartChat{Peers: panes}, chat)
		require.NoError(t, err)
		assert.Equal(t, panes, start.Peers)
	}
}

package service

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// counting counts the deliveries that are read, with their bodies.
type counting struct {
	*journal.Journal
	read int
}

func (c *counting) UnderWay(ctx context.Context) ([]journal.Pending, error) {
	all, err := c.Journal.UnderWay(ctx)
	c.read += len(all)
	return all, err
}

func (c *counting) Waiting(ctx context.Context, chat message.ID) ([]journal.Pending, error) {
	all, err := c.Journal.Waiting(ctx, chat)
	c.read += len(all)
	return all, err
}

// The waits are computed at every event. The deliveries kept for agents that are gone may be many, and are not
// read for that.
func TestWaits_leaveOutWhatIsKeptForTheGone(t *testing.T) {
	t.Parallel()
	j, err := journal.Open(t.Context(), filepath.Join(t.TempDir(), "journal"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, j.Close()) })
	at := time.Now()
	step := message.Step{Peers: []message.Peer{{ID: "here", Name: "Ada", Adopted: at}, {ID: "gone", Name: "Ben", Adopted: at, Ended: &at}}}
	hold := func(id, target message.ID, why message.Reason, hold message.Hold) {
		e := message.Envelope{
			ID: id, Created: at, From: message.Address{Peer: "eve", Name: "Eve"}, To: []message.Address{{Peer: target}},
			Type: message.KindSay, Trust: message.TrustVerified, Origin: message.OriginAgent, Body: "hello", Depth: 1,
		}
		d := message.Delivery{ID: id + "-d", Target: target, Attempt: 1, Message: e}
		step.Received = append(step.Received, e)
		step.Verdicts = append(step.Verdicts, message.Verdict{Message: id, Decision: message.Decision{Verb: message.VerbDeliver}, At: at})
		step.Deliveries = append(step.Deliveries, d)
		step.Receipts = append(step.Receipts, message.Receipt{Delivery: d.ID, Message: id, Target: target, State: message.Held, Reason: why, Hold: hold, At: at})
	}
	for i := range 20 {
		hold(message.ID(fmt.Sprint("kept", i)), "gone", message.AgentGone, "")
	}
	require.NoError(t, j.Commit(t.Context(), step))
	r := &relay.Relay{Journal: j, Sink: nowhere{}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() { cancel(); assert.NoError(t, <-done) })

	counted := &counting{Journal: j}
	waits := &Waits{Relay: r, Journal: counted}
	list, err := waits.List(t.Context())
	require.NoError(t, err)
	assert.Empty(t, list)
	assert.Zero(t, counted.read)

	step = message.Step{}
	hold("asked", "here", message.AwaitingApproval, message.HoldApproval)
	require.NoError(t, j.Commit(t.Context(), step))
	list, err = waits.List(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Equal(t, message.ID("asked-d"), list[0].Delivery)
	assert.Equal(t, 1, counted.read)
}

// stoppedAll is a relay with everything stopped.
type stoppedAll struct{ oneChat }

func (stoppedAll) Stopped() bool { return true }

// nothingHeld is a journal in which nothing waits.
type nothingHeld struct{}

func (nothingHeld) Held(context.Context) (int, error)                   { return 0, nil }
func (nothingHeld) UnderWay(context.Context) ([]journal.Pending, error) { return nil, nil }

// While everything is stopped, a paused chat cannot be resumed alone, and nobody is told to try.
func TestWaits_whileEverythingIsStopped(t *testing.T) {
	t.Parallel()
	r := stoppedAll{oneChat{chat: message.Chat{ID: "chat", State: message.ChatPaused, Why: "depth limit reached"}}}
	list, err := (&Waits{Relay: r, Journal: nothingHeld{}}).List(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 2)
	for _, w := range list {
		assert.Equal(t, "intercom chat resume --all", w.Next, w.ID)
	}
	assert.Equal(t, []string{"all stopped", "1 paused"}, waitWords(list))

	face := NewFace(Face{Relay: r, Server: tmux.Options{Socket: filepath.Join(t.TempDir(), "none")}})
	assert.Equal(t, "a ↔ b paused: intercom chat resume --all", face.noticeText(t.Context(), message.Notice{Chat: "chat", Text: "a ↔ b paused", Resumes: true}))
}

// asksApproval is a journal with a message that waits for a person, and a start that does.
type asksApproval struct{ body string }

func (asksApproval) Held(context.Context) (int, error) { return 1, nil }

func (a asksApproval) UnderWay(context.Context) ([]journal.Pending, error) {
	return []journal.Pending{{
		Delivery: message.Delivery{ID: "d", Message: message.Envelope{ID: "m", Body: a.body}},
		Last:     message.Receipt{State: message.Held, Reason: message.AwaitingApproval, Hold: message.HoldApproval},
	}}, nil
}

func (a asksApproval) Waiting() []api.Held {
	return []api.Held{{Waiting: api.Waiting{Delivery: "s", Message: "s"}, Envelope: message.Envelope{ID: "s", Body: a.body}}}
}

// Only a person sees the credentials in what waits for a yes, even one that the shortened text would cut.
func TestWaits_credentialsAreForAPersonOnly(t *testing.T) {
	t.Parallel()
	token := "ghp_" + strings.Repeat("a", 36)
	asks := asksApproval{strings.Repeat("x", 140) + " " + token}
	callers := &Callers{Person: "ada", Relay: oneChat{}, Tmux: itself{}, Log: slog.New(slog.DiscardHandler)}
	s := &Waits{Callers: callers, Relay: notStopped{}, Journal: asks, Starts: asks}
	person, agent := api.Caller{PID: os.Getpid()}, api.Caller{PID: os.Getpid(), Agent: &api.AgentCall{}}
	for _, from := range []api.Caller{person, agent, person} {
		list, err := s.ListFor(t.Context(), from, api.None{})
		require.NoError(t, err)
		require.Len(t, list, 2)
		for _, w := range list {
			assert.Equal(t, from.Agent == nil, strings.Contains(w.Text, token[:12]), w.Text)
			assert.Equal(t, from.Agent != nil, strings.Contains(w.Text, "[redacted"), w.Text)
		}
	}
}

// notStopped is a relay in which everything goes on.
type notStopped struct{ oneChat }

func (notStopped) Stopped() bool { return false }

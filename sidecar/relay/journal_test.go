package relay_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// What a turn that was cut short leaves is in a real journal: for people under its chat, for
// the agent that waits, and in the counts of the chat, of which it is no turn. Told once more
// to another run, it is known there.
func TestRun_cutTurnIsWrittenDown(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	j, err := journal.Open(t.Context(), dir)
	require.NoError(t, err)
	defer j.Close()
	r, s, stop := run(t, j)
	a, err := r.Adopt(t.Context(), message.Session{Name: "a", Pane: "%1"})
	require.NoError(t, err)
	b, err := r.Adopt(t.Context(), message.Session{Name: "b", Pane: "%2"})
	require.NoError(t, err)
	limits := message.Limits{Words: "all", Person: true}
	started, err := r.Do(t.Context(), relay.StartChat{By: relay.By{Kind: relay.Person}, Sessions: []string{"a", "b"}, Limits: limits})
	require.NoError(t, err)
	chat := started.Chats[0]
	require.NoError(t, r.Spoke(t.Context(), message.Turn{ID: message.NewID(), Session: a.ID, Words: "last", All: "first, last", Ended: time.Now()}))
	question := s.next(t, b.ID)
	assert.Equal(t, "first, last", question.Message.Body)
	for _, state := range []message.ReceiptState{message.Typed, message.Typed, message.Submitted} {
		require.NoError(t, r.Report(t.Context(), message.Receipt{Delivery: question.ID, State: state}))
	}
	cut := message.Turn{
		ID: message.NewID(), Session: b.ID, Words: "half", Prompt: "no, wait", Person: true, Cut: message.Interrupted,
		Answers: []message.ID{question.ID}, Ended: time.Now(),
	}
	require.NoError(t, r.Spoke(t.Context(), cut))
	assert.Equal(t, "[ada] (0):", s.next(t, a.ID).Head)
	told := s.next(t, a.ID)
	assert.Equal(t, "AI[local:"+string(b.ID)+"] | [notice]", told.Head)
	assert.Equal(t, `"b" stopped: interrupted by a person; what you said was not answered`, told.Message.Body)
	require.NoError(t, stop())

	receipts, err := j.Receipts(t.Context(), question.Message.ID)
	require.NoError(t, err)
	last := receipts[len(receipts)-1]
	assert.Equal(t, message.Failed, last.State)
	assert.Equal(t, message.Interrupted, last.Reason)
	stats, err := j.Stats(t.Context(), chat.ID)
	require.NoError(t, err)
	assert.Equal(t, 1, stats.Turns)
	notices := func() (said []string) {
		events, err := j.Events(t.Context(), journal.Query{Chat: chat.ID})
		require.NoError(t, err)
		for _, e := range events {
			if e.Kind == "notice" {
				said = append(said, e.Notice)
			}
		}
		return said
	}
	assert.Equal(t, []string{"b was interrupted by its person; only the prompt was passed on"}, notices())
	restored, err := j.Restore(t.Context())
	require.NoError(t, err)
	require.Len(t, restored.Chats, 1)
	assert.Equal(t, chat.Limits, restored.Chats[0].Limits)
	assert.Equal(t, "all", chat.Limits.Words)
	assert.Equal(t, 1, restored.Taken[chat.ID])

	again := relay.Restored{}
	for _, one := range restored.Sessions {
		again.Sessions = append(again.Sessions, relay.Stay{Session: one, Last: restored.Depths[one.ID].Last, Cause: restored.Depths[one.ID].Cause})
	}
	for _, one := range restored.Chats {
		again.Chats = append(again.Chats, relay.Going{Chat: one, Taken: restored.Taken[one.ID]})
	}
	r, s, stop = run(t, j, again)
	require.NoError(t, r.Spoke(t.Context(), cut))
	require.NoError(t, r.Spoke(t.Context(), message.Turn{ID: message.NewID(), Session: b.ID, Words: "whole", Ended: time.Now()}))
	assert.Equal(t, "whole", s.next(t, a.ID).Message.Body, "and nothing of the other one before it")
	require.NoError(t, stop())
	assert.Len(t, notices(), 1)
}

// panes are a sink that keeps what it is handed: test helper.
type panes struct {
	mu   sync.Mutex
	out  []message.Delivery
	news chan struct{}
}

func (p *panes) Deliver(ds ...message.Delivery) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out = append(p.out, ds...)
	select {
	case p.news <- struct{}{}:
	default:
	}
}

func (p *panes) Cancel([]message.ID, message.Reason) {}
func (p *panes) Forget(message.ID)                   {}

// next waits for the next delivery to a session.
func (p *panes) next(t *testing.T, to message.ID) message.Delivery {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		p.mu.Lock()
		for i, d := range p.out {
			if d.Target == to {
				p.out = append(p.out[:i], p.out[i+1:]...)
				p.mu.Unlock()
				return d
			}
		}
		p.mu.Unlock()
		select {
		case <-p.news:
		case <-deadline:
			require.Fail(t, "nothing was handed over")
		}
	}
}

// run starts a Relay over a journal; stop ends it and returns what Run did.
func run(t *testing.T, j *journal.Journal, restored ...relay.Restored) (*relay.Relay, *panes, func() error) {
	s := &panes{news: make(chan struct{}, 1)}
	r := &relay.Relay{Journal: j, Sink: s, Person: "ada"}
	for _, one := range restored {
		r.Restored = &one
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return r, s, func() error {
		cancel()
		return <-done
	}
}

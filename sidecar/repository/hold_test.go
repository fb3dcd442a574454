package repository

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// A message that is held at a limit before its agent gets it delays no message behind it, is recorded as held
// on disk, and goes on at a person's word.
func TestHeld_othersGoOn(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.run()
	defer h.end()
	put := func(n int) string {
		m, no := letter(h.asker, h.target, "question"), false
		m.Wanted = &no
		name, err := h.target.Put(m, fmt.Sprint(n))
		require.NoError(t, err)
		return name
	}
	n, held := 0, ""
	for ; len(h.held()) == 0; n++ { // as often as the relay lets it go to one agent in a minute
		held = put(n)
		h.until(func() bool { return h.marked(held) || len(h.held()) > 0 })
	}
	assert.Equal(t, []Progress{{File: held, ID: h.held()[0].ID, By: "one", InHand: true, Held: string(message.AtOwnMinute)}}, h.held())
	ann, err := h.relay.Adopt(t.Context(), message.Peer{Name: "ann", PaneOf: message.PaneOf{Pane: "%2", Profile: "line"}})
	require.NoError(t, err)
	h.mu.Lock()
	h.agent = ann
	h.mu.Unlock()
	behind := put(n)
	h.until(func() bool { return h.marked(behind) })
	assert.False(t, h.marked(held))

	h.goesOn()
	h.until(func() bool { return h.marked(held) && len(h.held()) == 0 })
}

// So does a message that a person has to approve. It keeps the monitor from nothing, either, and its answer goes back
// also if the monitor was stopped meanwhile.
func TestHeld_aYesDelaysNoOther(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.policy = asking{}
	h.run()
	defer h.end()
	m := letter(h.asker, h.target, "question")
	m.Body = "ask first"
	first, err := h.target.Put(m, "first")
	require.NoError(t, err)
	h.until(func() bool { return len(h.held()) == 1 })
	assert.Equal(t, string(message.AwaitingApproval), h.held()[0].Held)
	second, err := h.target.Put(letter(h.asker, h.target, "question"), "second")
	require.NoError(t, err)
	h.until(func() bool { return h.marked(second) && len(h.answers()) == 1 })
	assert.False(t, h.marked(first))
	h.wish(h.target, MonitorOff)
	h.until(func() bool { return !h.peers.Enabled.Served(h.target.Path) })

	for _, one := range h.waiting() {
		if one.Last.Awaits() {
			require.NoError(t, h.decidesAbout(one.Delivery.Message.ID, message.VerbDeliver))
		}
	}
	h.until(func() bool { return h.marked(first) && len(h.answers()) == 2 })
	assert.Equal(t, 2, h.asked())
}

// asking is a table by which a person approves what an agent is given with the words "ask first".
type asking struct{ table }

func (a asking) Decide(ctx context.Context, q relay.Question) (message.Verdict, error) {
	v, err := a.table.Decide(ctx, q)
	if q.Message.Type == message.KindMessage && strings.Contains(q.Message.Body, "> ask first") {
		v.Verb = message.VerbAsk
	}
	return v, err
}

// The same holds for a message that is too deep, and for an answer, also after a restart.
func TestHeld_isOnDisk(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.speaks = make(chan struct{})
	h.run()
	defer func() { h.end() }()
	tooDeep := func(limit int) {
		require.NoError(t, h.relay.Limit(t.Context(), relay.LimitsChanged{Limits: message.Limits{Depth: limit}}))
	}
	name, err := h.target.Put(letter(h.asker, h.target, "question"), "")
	require.NoError(t, err)
	h.until(func() bool { return h.asked() == 1 })
	tooDeep(1)
	close(h.speaks)
	h.until(func() bool { return h.marked(name) && len(h.held()) == 1 })
	assert.Equal(t, "its answer: "+string(message.AtDepthLimit), h.held()[0].Held)
	assert.Contains(t, h.log(), "Held: .aea/"+name+" -> its answer: ")
	h.end()
	h.run()
	h.until(func() bool { return h.peers.Enabled.Served(h.target.Path) })
	assert.Empty(t, h.answers())
	h.goesOn()
	h.until(func() bool { return len(h.answers()) == 1 && len(h.held()) == 0 })

	_, err = h.target.Put(letter(h.asker, h.target, "question"), "first")
	require.NoError(t, err)
	h.until(func() bool { return len(h.answers()) == 2 && len(h.waiting()) == 0 })
	tooDeep(1)
	name, err = h.target.Put(letter(h.asker, h.target, "question"), "second")
	require.NoError(t, err)
	h.until(func() bool { return len(h.held()) == 1 })
	assert.Equal(t, name, h.held()[0].File)
	assert.Equal(t, string(message.AtDepthLimit), h.held()[0].Held)
	h.goesOn()
	h.until(func() bool { return len(h.answers()) == 3 && len(h.held()) == 0 })
}

// A no is on disk too: the message no longer waits for a yes.
func TestRejected_isOnDisk(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.run()
	defer func() { h.end() }()
	name := h.awaitsYes()
	awaits := func() (all []string) {
		for _, p := range h.peers.Enabled.Progress(h.target) {
			if p.Awaits {
				all = append(all, p.File)
			}
		}
		return all
	}
	assert.Equal(t, []string{name}, awaits())
	h.end()
	h.run()
	assert.Equal(t, []string{name}, awaits())
	h.until(func() bool { return h.peers.Enabled.Served(h.target.Path) })
	h.decides(message.VerbDrop)
	h.until(func() bool { return len(awaits()) == 0 })
	assert.Contains(t, h.log(), "Rejected: .aea/"+name)
}

// A message that waits for a yes when its repository is disabled no longer waits once the repository is enabled
// again: nobody would ask.
func TestDisabled_awaitsNobody(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.run()
	defer func() { h.end() }()
	name := h.awaitsYes()
	wish, ok := h.peers.Enabled.Find(h.target.Path)
	require.True(t, ok)
	require.NoError(t, h.peers.Enabled.Remove(h.target.Path))
	h.until(func() bool { return len(h.waiting()) == 0 && !h.peers.Enabled.Served(h.target.Path) })
	require.NoError(t, h.peers.Enabled.Set(wish))
	h.until(func() bool {
		return h.peers.Enabled.Served(h.target.Path) && len(h.peers.Enabled.Progress(h.target)) == 0
	})
	assert.Contains(t, h.log(), "Rejected: .aea/"+name)
}

// Helpers.

// awaitsYes brings in a message that waits for a person.
func (h *house) awaitsYes() (name string) {
	h.t.Helper()
	name, err := h.target.Put(letter(h.asker, h.target, "handoff"), "")
	require.NoError(h.t, err)
	h.until(func() bool { return h.marked(name) && len(h.waiting()) == 1 })
	return name
}

// decides gives a person's word about the message that has waited longest.
func (h *house) decides(verb message.Verb) {
	h.t.Helper()
	waiting := h.waiting()
	require.NotEmpty(h.t, waiting)
	require.NoError(h.t, h.decidesAbout(waiting[0].Delivery.Message.ID, verb))
}

func (h *house) decidesAbout(id message.ID, verb message.Verb) error {
	_, err := h.relay.Do(h.t.Context(), relay.DecideHeld{
		By: relay.By{Kind: relay.Person, Name: "ada"}, Message: id, Verb: verb, Who: message.Person{Name: "ada"},
	})
	return err
}

// held returns the messages of the target that go on only at a person's word.
func (h *house) held() (all []Progress) {
	for _, p := range h.peers.Enabled.Progress(h.target) {
		if p.Held != "" {
			all = append(all, p)
		}
	}
	return all
}

// goesOn gives a person's word that everything goes on.
func (h *house) goesOn() {
	_, err := h.relay.Do(h.t.Context(), relay.ResumeChat{By: relay.By{Kind: relay.Person, Name: "ada"}, Chat: relay.All, Sure: true})
	require.NoError(h.t, err)
}

// A message at which a filter failed is still in hand when it is decided anew: its author is not told that
// nobody gets it.
func TestHeld_decidedAnew(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.policy = &failing{}
	h.run()
	defer h.end()
	name, err := h.target.Put(letter(h.asker, h.target, "question"), "")
	require.NoError(t, err)
	h.until(func() bool { return len(h.held()) == 1 })
	assert.Equal(t, string(message.Unfiltered), h.held()[0].Held)
	assert.False(t, h.marked(name))
	m := h.waiting()[0].Delivery.Message
	require.NoError(t, h.relay.Reconsider(t.Context(), []message.Envelope{m}))
	h.until(func() bool { return h.marked(name) && len(h.answers()) == 1 })
	assert.Equal(t, 1, h.asked())
	assert.NotContains(t, h.told(), message.DecidedAnew)
}

// failing is a table whose filter fails once.
type failing struct {
	table
	failed atomic.Bool
}

func (f *failing) Decide(ctx context.Context, q relay.Question) (message.Verdict, error) {
	v, err := f.table.Decide(ctx, q)
	v.Unfiltered = !f.failed.Swap(true)
	return v, err
}

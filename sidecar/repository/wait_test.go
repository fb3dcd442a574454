package repository

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A sidecar that was killed before it acted on a message comes back while another answers it: it
// leaves that one to it, and asks its own agent nothing.
func TestC50_BackWhileAnotherAnswers(t *testing.T) {
	t.Parallel()
	one := newHouse(t)
	name, err := one.target.Put(letter(one.asker, one.target, "question"), "")
	require.NoError(t, err)
	one.cutAt("when it may be acted on")
	one.run()
	one.until(one.wasCut)
	one.end()

	other := one.beside()
	other.speaks = make(chan struct{})
	other.run()
	defer other.end()
	other.until(func() bool { return other.asked() == 1 })
	one.run()
	defer one.end()
	one.until(func() bool { return one.delivered(name) })
	close(other.speaks)
	other.until(func() bool { return one.marked(name) && len(one.answers()) > 0 })
	one.until(func() bool { return len(one.waiting()) == 0 })
	other.settled()
	assert.Len(t, one.answers(), 1)
	assert.Zero(t, one.asked())
}

// What another sidecar was at when it ended is told to a person, also by the one that had it first.
func TestC50_BackAfterAnotherBegan(t *testing.T) {
	t.Parallel()
	one := newHouse(t)
	name, err := one.target.Put(letter(one.asker, one.target, "question"), "")
	require.NoError(t, err)
	one.cutAt("when it may be acted on")
	one.run()
	one.until(one.wasCut)
	one.end()
	other := one.beside()
	other.cutAt("after the agent has it")
	other.run()
	other.until(other.wasCut)
	other.end()

	one.run()
	defer one.end()
	one.until(func() bool { return strings.Contains(one.log(), "Interrupted: .aea/"+name) })
	one.until(func() bool { return len(one.waiting()) == 0 })
	one.settled()
	assert.Zero(t, one.asked())
	assert.Empty(t, one.answers())
	assert.False(t, one.marked(name))
}

// A message that a person marks while it waits for the agent is not given to it.
func TestA26_MarkedWhileItWaits(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.speaks = make(chan struct{})
	h.run()
	defer h.end()
	first, err := h.target.Put(letter(h.asker, h.target, "question"), "")
	require.NoError(t, err)
	h.until(func() bool { return h.asked() == 1 })
	second, err := h.target.Put(letter(h.asker, h.target, "question"), "second")
	require.NoError(t, err)
	h.until(func() bool { return h.delivered(second) })
	require.NoError(t, h.target.Mark(second))
	close(h.speaks)
	h.until(func() bool { return h.marked(first) && strings.Contains(h.log(), "Ignored: .aea/"+second) })
	h.settled()
	assert.Equal(t, 1, h.asked())
}

// What a person approved in one sidecar is acted on by that one, once the other has handed over the
// claim, although agents work in both.
func TestC50_ApprovedElsewhere(t *testing.T) {
	t.Parallel()
	one := newHouse(t)
	m := letter(one.asker, one.target, "issue")
	m.Priority = "high"
	name, err := one.target.Put(m, "")
	require.NoError(t, err)
	one.run()
	one.until(func() bool { return one.marked(name) })
	one.end()

	other := one.beside()
	other.run()
	defer other.end()
	other.until(func() bool { return other.peers.Enabled.Served(other.target.Path) })
	one.run()
	defer one.end()
	one.decides(message.VerbDeliver)
	one.until(func() bool { return len(one.answers()) == 1 })
	assert.Equal(t, 1, one.asked())
	assert.Zero(t, other.asked())
	one.until(func() bool { return strings.Contains(one.log(), "Approved: .aea/"+name) })
}

// Helpers.

// waiting are the deliveries that have come to nothing yet.
func (h *house) waiting() []journal.Pending {
	all, err := h.peers.Journal.(*journal.Journal).Waiting(h.t.Context(), "")
	require.NoError(h.t, err)
	return all
}

// delivered reports whether a message may be acted on, in this life.
func (h *house) delivered(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.came[name]
}

func (h *house) log() string {
	text, _ := os.ReadFile(h.target.at(logName))
	return string(text)
}

// A question that lay there overnight, found by a sidecar that was only just started, waits for an
// agent to be adopted, and not for ever.
func TestA64_AgentTurnsUp(t *testing.T) {
	t.Parallel()
	for _, turnsUp := range []bool{true, false} {
		h := newHouse(t)
		h.grace, h.alone = time.Hour/2, true
		name, err := h.target.Put(letter(h.asker, h.target, "question"), "")
		require.NoError(t, err)
		h.run()
		defer h.end()
		h.until(func() bool { return h.delivered(name) })
		h.settled()
		assert.Empty(t, h.answers())
		want := "said by ben"
		if turnsUp {
			h.mu.Lock()
			h.alone = false
			h.mu.Unlock()
		} else {
			h.later.Add(int64(time.Hour))
			want = "no agent: none works in " + h.target.Path + " now"
		}
		h.until(func() bool { return h.marked(name) && len(h.answers()) == 1 })
		assert.Equal(t, want, h.answers()[0].Body)
	}
}

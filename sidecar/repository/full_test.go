package repository

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// While too much waits with the relay, files stay where they are, unprocessed. Once there is room, they come in
// their order.
func TestFull_staysUntilThereIsRoom(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.setFull(true)
	h.run()
	defer h.end()
	var names []string
	for i := range 5 {
		name, err := h.target.Put(letter(h.asker, h.target, "update"), fmt.Sprint(i))
		require.NoError(t, err)
		names = append(names, name)
	}
	h.until(func() bool { return h.refused() > 0 })
	for _, name := range names {
		assert.False(t, h.marked(name))
	}
	h.setFull(false)
	h.later.Add(int64(time.Minute))
	h.inOrder(names)
	h.settled()
	assert.NotContains(t, h.log(), "Refused")
}

// If there is room again while files are handed over, none of them overtakes another.
func TestFull_roomInTheMidst(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var names []string
	for i := range 5 {
		name, err := h.target.Put(letter(h.asker, h.target, "update"), fmt.Sprint(i))
		require.NoError(t, err)
		names = append(names, name)
	}
	h.setFull(true)
	h.fullTimes = 2
	h.run()
	defer h.end()
	h.until(func() bool { return h.refused() == 2 })
	h.later.Add(int64(time.Minute))
	h.inOrder(names)
}

// inOrder waits until the last of some files was processed, and asserts that they were processed in this order.
func (h *house) inOrder(names []string) {
	h.t.Helper()
	h.until(func() bool { return strings.Contains(h.log(), "Processed: .aea/"+names[len(names)-1]) })
	at := -1
	for _, name := range names {
		now := strings.Index(h.log(), "Processed: .aea/"+name)
		assert.Greater(h.t, now, at, name)
		at = now
	}
}

// An agent for which too much waits is given the message later, once there is room.
func TestFull_agentIsAskedAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.setFull(true)
	h.fullFor = "the agent"
	h.run()
	defer h.end()
	name, err := h.target.Put(letter(h.asker, h.target, "question"), "")
	require.NoError(t, err)
	h.until(func() bool { return h.refused() > 0 })
	assert.False(t, h.marked(name))
	h.setFull(false)
	h.until(func() bool {
		if h.asked() == 0 {
			h.later.Add(int64(rescan))
		}
		return h.marked(name) && len(h.answers()) == 1
	})
	assert.Equal(t, "said by ben", h.answers()[0].Body)
}

// If the journal first has no room for the permission to act on a message, or to write its answer, that
// permission is asked for again: the relay does not hand either over once more.
func TestFull_permissionIsAskedForAgain(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"what may be acted on", "what may be written"} {
		for _, marked := range []bool{false, true} {
			if marked && what == "what may be written" {
				continue // then there is no answer
			}
			t.Run(what+map[bool]string{true: ", and is marked"}[marked], func(t *testing.T) {
				t.Parallel()
				h := newHouse(t)
				name, err := h.target.Put(letter(h.asker, h.target, "question"), "")
				require.NoError(t, err)
				if marked {
					h.cutAt("when it may be acted on")
					h.run()
					h.until(h.wasCut)
					h.end()
					require.NoError(t, h.target.Mark(name))
				}
				h.setFull(true)
				h.fullFor, h.fullTimes = what, 1
				h.run()
				defer h.end()
				h.until(func() bool { return h.refused() == 1 })
				h.until(func() bool { return len(h.waiting()) == 0 && (marked || len(h.answers()) == 1) })
				assert.Equal(t, map[bool]int{false: 1}[marked], h.asked())
			})
		}
	}
}

// A message that fails without anybody's decision is reported to its author, not only to a person.
func TestFailed_authorIsTold(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.setFull(true)
	h.fullFor = "the repository"
	h.run()
	defer h.end()
	name, err := h.target.Put(letter(h.asker, h.target, "question"), "")
	require.NoError(t, err)
	h.until(func() bool { return h.marked(name) && len(h.answers()) == 1 })
	answer := h.answers()[0]
	assert.Equal(t, "not passed on: queue is full", answer.Body)
	asked, _, err := h.target.Read(name)
	require.NoError(t, err)
	assert.Equal(t, asked.ID, answer.ReplyTo)
	assert.Equal(t, aea.Agent{ID: "claude-target", Path: h.target.Path, User: "ada"}, answer.From)
}

// Helpers.

// filling is a journal that may have no room for the permission to act on a message, or to write an answer.
type filling struct {
	*journal.Journal
	h *house
}

func (f filling) Commit(ctx context.Context, steps ...message.Step) error {
	for _, step := range steps {
		for _, r := range step.Receipts {
			f.h.mu.Lock()
			answers, ours := f.h.files[r.Delivery]
			f.h.mu.Unlock()
			what := map[bool]string{false: "what may be acted on", true: "what may be written"}[answers]
			if ours && r.State == message.Typed && f.h.refuses(what) {
				return &message.UnwritableError{Path: "/journal", Why: "disk full"}
			}
		}
	}
	return f.Journal.Commit(ctx, steps...)
}

func (h *house) setFull(full bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.full = full
}

// refused returns how often something was refused because too much waited.
func (h *house) refused() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.refusals
}

// refuses reports whether too much of the given kind waits now.
func (h *house) refuses(what string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.full || h.fullFor != what || h.fullTimes > 0 && h.refusals == h.fullTimes {
		return false
	}
	h.refusals++
	return true
}

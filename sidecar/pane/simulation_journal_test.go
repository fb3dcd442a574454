package pane

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The models' journal in memory says what the real journal says: from half and from all of what simulations
// recorded, both restore the same.
func TestSimulation_journalsAgree(t *testing.T) {
	t.Parallel()
	edges := tableOfEdges(t)
	seeds := uint64(1)
	if os.Getenv("INTERCOM_LONG") != "" {
		seeds = 3
	}
	for seed := uint64(1); seed <= seeds; seed++ {
		s := newSimulation(seed, edges, bugs{})
		s.keeps = true
		for range 12 * stormySteps {
			s.step(weathers[1])
		}
		for _, part := range []int{len(s.unsure) / 2, len(s.unsure)} {
			compareJournals(t, s.unsure[:part])
		}
	}
}

func compareJournals(t *testing.T, steps []message.Step) {
	require.NotEmpty(t, steps)
	dir := filepath.Join(t.TempDir(), "journal")
	require.NoError(t, os.Mkdir(dir, 0o700))
	j, err := journal.Open(t.Context(), dir)
	require.NoError(t, err)
	defer func() { assert.NoError(t, j.Close()) }()
	for some := range slices.Chunk(steps, 64) {
		require.NoError(t, j.Commit(t.Context(), some...))
	}
	got, err := j.Restore(t.Context())
	require.NoError(t, err)
	want := replayed(append(slices.Clone(steps), message.Step{})).Restored()

	assert.Equal(t, want.Stopped, got.Stopped)
	assert.Equal(t, want.Depths, got.Depths)
	assert.Equal(t, idsOf(want.Sessions, func(p message.Peer) message.ID { return p.ID }), idsOf(got.Sessions, func(p message.Peer) message.ID { return p.ID }))
	assert.Equal(t, idsOf(want.Chats, chatID), idsOf(got.Chats, chatID))
	for _, c := range want.Chats {
		assert.Equal(t, want.Taken[c.ID], got.Taken[c.ID], c.ID)
	}
	assert.Equal(t, idsOf(want.Undecided, messageID), idsOf(got.Undecided, messageID))
	present := func(id message.ID) bool {
		return slices.ContainsFunc(want.Sessions, func(p message.Peer) bool { return p.ID == id })
	}
	type pending struct {
		id    message.ID
		last  message.ReceiptState
		why   message.Reason
		hold  message.Hold
		typed bool
		verb  message.Verb
		depth int
	}
	underway := func(all []journal.Pending) (out []pending) {
		for _, p := range all {
			if p.Last.AgentGone() { // that is kept, and not under way
				continue
			}
			out = append(out, pending{p.Delivery.ID, p.Last.State, p.Last.Reason, p.Last.Hold, p.Delivery.Typed, p.Verdict.Verb, p.Delivery.Message.Depth})
		}
		return out
	}
	assert.Equal(t, underway(want.Pending), underway(got.Pending))
	submitted := func(all []journal.Submitted) (out []message.ID) {
		for _, one := range all {
			if present(one.Delivery.Target) {
				out = append(out, one.Delivery.ID)
			}
		}
		return out
	}
	for _, id := range submitted(got.Submitted) { // the journal knows of some that no turn will answer any more
		assert.Contains(t, submitted(want.Submitted), id)
	}
}

func chatID(c message.Chat) message.ID        { return c.ID }
func messageID(m message.Envelope) message.ID { return m.ID }

func idsOf[T any](all []T, id func(T) message.ID) (out []message.ID) {
	for _, one := range all {
		out = append(out, id(one))
	}
	return out
}

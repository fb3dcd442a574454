package repository

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// twoAsk returns two sidecars that ask a person about one message: the second one asked while the first did not
// run, and the first is back. The second has the claim.
func twoAsk(t *testing.T) (back, holder *house, name string) {
	back = newHouse(t)
	m := letter(back.asker, back.target, "issue")
	m.Priority = "high"
	name, err := back.target.Put(m, "")
	require.NoError(t, err)
	back.run()
	back.until(func() bool { return back.marked(name) && len(back.waiting()) == 1 })
	back.end()
	holder = back.beside()
	holder.runs = func(string) bool { return false }
	holder.run()
	t.Cleanup(holder.end)
	holder.until(func() bool { return len(holder.waiting()) == 1 })
	holder.until(func() bool { p := back.peers.Enabled.Progress(back.target); return len(p) == 1 && p[0].By == "another" })
	running := func(string) bool { return true }
	back.runs = running
	holder.peers.Runs = running
	back.run()
	t.Cleanup(back.end)
	back.until(func() bool { return len(back.waiting()) == 1 })
	return back, holder, name
}

// says gives a person's word at a sidecar, as the inbox takes it, and reports whether it counted.
func (h *house) says(verb message.Verb) bool {
	h.t.Helper()
	waiting := h.waiting()
	if len(waiting) == 0 {
		return false // already decided elsewhere
	}
	earlier, err := h.peers.TakeWord(h.t.Context(), waiting[0].Delivery.Message, verb, message.Person{Name: "ada"})
	require.NoError(h.t, err)
	if earlier != nil {
		assert.NotEqual(h.t, h.by, earlier.By)
		return false
	}
	h.decides(verb)
	return true
}

// became returns the states of a message at a sidecar.
func (h *house) became(id message.ID) (states []string) {
	receipts, err := h.peers.Journal.Receipts(h.t.Context(), id)
	require.NoError(h.t, err)
	for _, r := range receipts {
		states = append(states, string(r.State)+" "+string(r.Reason))
	}
	return states
}

// A message that waits for a person at two sidecars is decided once: the first word counts, and the second
// person is told so. The first word is carried out, and both sidecars report it.
func TestC50_TheFirstWordCounts(t *testing.T) {
	t.Parallel()
	yes, no := message.VerbDeliver, message.VerbDrop
	for name, words := range map[string]struct{ back, holder message.Verb }{
		"yes and no": {yes, no}, "no and yes": {no, yes}, "twice yes": {yes, yes}, "twice no": {no, no},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			back, holder, file := twoAsk(t)
			id := back.waiting()[0].Delivery.Message.ID
			var counted [2]bool
			var both sync.WaitGroup
			both.Go(func() { counted[0] = back.says(words.back) })
			both.Go(func() { counted[1] = holder.says(words.holder) })
			both.Wait()
			require.NotEqual(t, counted[0], counted[1], "one of them")
			first, second, verb := back, holder, words.back
			if counted[1] {
				first, second, verb = holder, back, words.holder
			}
			second.until(func() bool { return len(second.waiting()) == 0 })
			second.until(func() bool { s := second.became(id); return s[len(s)-1] == "failed "+string(message.DecidedElsewhere) })
			if verb == yes {
				first.until(func() bool { return len(first.answers()) == 1 && strings.Contains(first.log(), "Approved: .aea/"+file) })
			} else {
				first.until(func() bool { return strings.Contains(first.log(), "Rejected: .aea/"+file) })
			}
			first.until(func() bool { return len(first.peers.Enabled.Progress(first.target)) == 0 })
			first.settled()
			assert.Equal(t, verb == yes, len(first.answers()) == 1)
			assert.Equal(t, map[bool]int{true: 1}[verb == yes], first.asked())
			assert.Zero(t, second.asked())
		})
	}
}

// A yes can be said again at another sidecar if the one that heard it ended before anything came of it. A no
// cannot become a yes.
func TestC50_AWordThatCameToNothing(t *testing.T) {
	t.Parallel()
	for _, verb := range []message.Verb{message.VerbDeliver, message.VerbDrop} {
		back, holder, _ := twoAsk(t)
		back.wordOf(verb)
		back.end()
		holder.peers.Runs = func(string) bool { return false }
		if verb == message.VerbDrop {
			holder.until(func() bool { return len(holder.waiting()) == 0 })
			continue
		}
		holder.settled()
		require.Len(t, holder.waiting(), 1)
		assert.True(t, holder.says(message.VerbDeliver))
		holder.until(func() bool { return len(holder.answers()) == 1 })
		assert.Equal(t, 1, holder.asked())
	}
}

// wordOf records a word, and does nothing more.
func (h *house) wordOf(verb message.Verb) {
	_, err := h.peers.TakeWord(h.t.Context(), h.waiting()[0].Delivery.Message, verb, message.Person{Name: "ada"})
	require.NoError(h.t, err)
}

// A yes does not succeed if another sidecar heard a no of which this one learns too late.
func TestC50_AYesBesideANo(t *testing.T) {
	t.Parallel()
	back, holder, file := twoAsk(t)
	id := back.waiting()[0].Delivery.Message.ID
	holder.decides(message.VerbDrop)
	holder.until(func() bool { return strings.Contains(holder.log(), "Rejected: .aea/"+file) })
	// It may have learned of the no by now.
	if err := back.decidesAbout(id, message.VerbDeliver); err != nil {
		assert.ErrorIs(t, err, relay.ErrDecided)
	}
	back.until(func() bool { return len(back.waiting()) == 0 })
	states := strings.Join(back.became(id), "\n")
	assert.Contains(t, states, message.DecidedElsewhere)
	assert.NotContains(t, states, message.Submitted)
	back.settled()
	assert.Zero(t, back.asked())
	assert.Empty(t, back.answers())
}

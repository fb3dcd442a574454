package daemon_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Two or sixteen: each hears all the others once, and nobody hears itself.
func TestR11_AnyNumberOfParticipants(t *testing.T) {
	t.Parallel()
	numbers := []int{2, 3, 8}
	if longTest() {
		numbers = append(numbers, 16)
	}
	for _, n := range numbers {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			agents := r.silent(n)
			r.chat(agents, unlimited...)
			for i, a := range agents {
				a.do(":say word of %d", i+1)
			}
			for _, a := range agents {
				for heard := 1; heard < n; heard++ { // each wait is for a little: the machine may be slow
					r.waitFor(fmt.Sprintf("%s heard %d others", a.name, heard), func() bool { return len(a.received()) >= heard })
				}
			}
			for i, a := range agents {
				var want []string
				for j, other := range agents {
					if i != j {
						want = append(want, fmt.Sprintf("[%s] (%d): word of %d", other.name, j+1, j+1))
					}
				}
				assert.ElementsMatch(t, want, a.received(), a.name)
			}
		})
	}
}

// goings are the ways in which a participant ends.
var goings = map[string]func(a *agent){
	"the pane is killed": func(a *agent) { a.Run("kill-pane", "-t", a.pane) },
	"the agent exits":    func(a *agent) { a.do(":exit") },
	"it is released": func(a *agent) {
		_, err := a.client.Release(a.t.Context(), api.ReleaseRequest{Pane: a.pane})
		require.NoError(a.t, err)
	},
}

// However a participant ends, a chat of two is over, nothing more is typed, and it is no error; a
// larger chat goes on without it. (BenchmarkR12 measures how soon.)
func TestR12_ChatEndsWithItsParticipant(t *testing.T) {
	t.Parallel()
	for name, end := range goings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			agents := r.silent(5)
			pair, three := r.chat(agents[:2], unlimited...), r.chat(agents[2:], unlimited...)
			end(agents[1])
			end(agents[4])
			r.waitFor("the chat of two is over", func() bool { return r.current(pair).State == message.ChatOver })
			r.waitFor("the third has left", func() bool { return r.current(three).Participants[2].Left })
			before := len(agents[0].bytes())
			agents[2].do(":say we are two")
			agents[3].hears("[C] (1): we are two")
			assert.Equal(t, message.ChatOn, r.current(three).State)
			assert.Equal(t, before, len(agents[0].bytes()), "nothing is typed after the end")
		})
	}
}

// The same chat twice is one chat, also when both sides start it at once.
func TestR27_R28_R29_ChatsThatCannotStart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	agents := r.silent(4)
	a, b, c, d := agents[0], agents[1], agents[2], agents[3]
	start := func(of ...*agent) error {
		req := api.StartChatRequest{}
		for _, a := range of {
			req.Panes = append(req.Panes, a.pane)
		}
		_, err := r.client.StartChat(t.Context(), req)
		return err
	}
	var once sync.WaitGroup
	errs := make([]error, 2)
	once.Go(func() { errs[0] = start(a, b) })
	once.Go(func() { errs[1] = start(b, a) })
	once.Wait()
	require.True(t, (errs[0] == nil) != (errs[1] == nil), "one of the two: %v", errs)
	assert.ErrorContains(t, errors.Join(errs...), "already active")
	assert.ErrorContains(t, start(a, b), "already active")
	assert.ErrorContains(t, start(b, c), "is in chat")

	c.do(":exit")
	r.waitFor("it has gone", func() bool { return start(d, c) != nil })
	assert.Error(t, start(d, c))
	_, err := r.client.StartChat(t.Context(), api.StartChatRequest{Panes: []string{d.pane, "%99"}})
	assert.Error(t, err)
	chats, err := r.client.Chats(t.Context(), false)
	require.NoError(t, err)
	assert.Len(t, chats, 1, "no half chat")
	a.do(":say still here")
	r.waitFor("the first chat is unharmed", func() bool { return len(b.received()) == 1 })
}

// One of eight does not read; the other six hear each line all the same, before anything is given
// up at the one. (BenchmarkR21_R30 measures how soon.)
func TestR21_R30_OneFrozenRecipientHoldsUpNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	agents := r.silent(8)
	r.chat(agents, unlimited...)
	deaf := agents[7]
	deaf.do(":deaf")
	for i := range 5 {
		agents[0].do(":say line %d", i)
		for _, a := range agents[1:7] {
			a.hears(fmt.Sprintf("[A] (1): line %d", i))
		}
	}
	assert.Empty(t, deaf.received())
}

// The session is renamed, its window moves to another session, the pane to another window:
// the chat goes on, since a pane is known by its id and its process.
func TestR34_PanesAreFollowed(t *testing.T) {
	t.Parallel()
	eachTransport(t, func(t *testing.T, r *rig) {
		agents := r.silent(2)
		a, b := agents[0], agents[1]
		r.chat(agents, unlimited...)
		for i, change := range [][]string{
			{"rename-session", "-t", "base", "renamed"},
			{"rename-window", "-t", a.pane, "elsewhere"},
			{"join-pane", "-d", "-s", b.pane, "-t", a.pane},
			{"break-pane", "-d", "-s", b.pane},
			{"swap-pane", "-d", "-s", a.pane, "-t", b.pane},
			{"new-session", "-d", "-s", "other", "cat"},
			{"move-window", "-d", "-s", a.pane, "-t", "other:"},
		} {
			r.Run(change...)
			a.do(":say %d there", i)
			b.hears(fmt.Sprintf("[A] (1): %d there", i))
			b.do(":say %d back", i)
			a.hears(fmt.Sprintf("[B] (2): %d back", i))
		}
	})
}

// silent starts and adopts n line programs that speak only when they are told to: A, B, …
func (r *rig) silent(n int) (agents []*agent) {
	r.t.Helper()
	for i := range n {
		agents = append(agents, r.adopted(string(rune('A'+i)), silent...))
	}
	return agents
}

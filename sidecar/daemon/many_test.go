package daemon_test

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// goings are the ways in which a participant ends.
var goings = map[string]func(a *agent){
	"the pane is killed": func(a *agent) { a.Run("kill-pane", "-t", a.pane) },
	"the agent exits":    func(a *agent) { a.do(":exit") },
	"it is released": func(a *agent) {
		_, err := a.client.Release(a.t.Context(), api.ReleaseRequest{Pane: a.pane})
		require.NoError(a.t, err)
	},
	"its session is ended": func(a *agent) {
		_, err := api.Call(a.t.Context(), a.client.Client, api.EndSession, api.EndSessionRequest{Session: a.pane, Force: true, Grace: time.Second})
		require.NoError(a.t, err)
	},
}

// However a participant ends, a chat of two is over, nothing more of it is typed, and nothing is logged as an
// error. A larger chat goes on without it. (BenchmarkR12 measures how soon a chat is over.)
func TestR12_ChatEndsWithItsParticipant(t *testing.T) {
	t.Parallel()
	log := &logged{}
	r := newRig(t, func(c *daemon.Config) {
		c.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelError}))
	})
	agents := r.silent(3*len(goings) + 2)
	larger := agents[2*len(goings):]
	many := r.chat(larger, unlimited...)
	i := 0
	var left []*agent
	for name, end := range goings {
		a, b := agents[2*i], agents[2*i+1]
		pair := r.chat([]*agent{a, b}, unlimited...)
		end(b)
		r.waitFor("the chat of two is over: "+name, func() bool { return r.current(pair).State == message.ChatOver })
		a.do(":say nobody hears")
		left = append(left, a)
		i++
		end(larger[i+1])
		r.waitFor("one has left the larger chat: "+name, func() bool { return r.current(many).Participants[i+1].Left })
		larger[0].do(":say without %s", larger[i+1].name)
		larger[1].hears("[" + larger[0].name + "] (1): without " + larger[i+1].name)
		assert.Equal(t, message.ChatOn, r.current(many).State)
	}
	r.chat(left, unlimited...) // anything left of what they said before would be typed before what they say now
	for _, a := range left {
		a.do(":say now")
	}
	for i, a := range left {
		var want []string
		for j, other := range left {
			if i != j {
				want = append(want, fmt.Sprintf("[%s] (%d): now", other.name, j+1))
			}
		}
		r.waitFor(a.name+" hears the others", func() bool { return len(a.received()) >= len(want) })
		assert.ElementsMatch(t, want, a.received(), "nothing is typed after the end")
	}
	for i := range left {
		assert.Empty(t, agents[2*i+1].bytes(), "nothing is typed after its end")
	}
	assert.Empty(t, log.all(), "it is no error")
}

// A chat that is on already cannot be started again, even if both sides start it at the same time. A session is in
// one chat at a time. A chat with an ended session or a missing pane is not started at all. If a caller names a
// session in place of a chat, the error says in which chat the session is.
func TestR27_R28_R29_C37_ChatsThatCannotStart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	agents := r.silent(4)
	a, b, c, d := agents[0], agents[1], agents[2], agents[3]
	stop := func() error {
		_, err := r.client.StopChat(t.Context(), api.ChatRef{Chat: "A"})
		return err
	}
	assert.ErrorContains(t, stop(), `no chat "A": that is a session, in no chat`)
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
	assert.Len(t, r.status().Chats, 1)
	err := start(c, a)
	assert.ErrorContains(t, err, `"A" is in chat`)
	assert.Equal(t, api.CodeRefused, api.AsError(err).Code)

	c.do(":exit")
	r.ends(c)
	assert.Error(t, start(d, c))
	_, err = r.client.StartChat(t.Context(), api.StartChatRequest{Panes: []string{d.pane, "%99"}})
	assert.Error(t, err)
	chats, err := r.client.Chats(t.Context(), false)
	require.NoError(t, err)
	require.Len(t, chats, 1, "no half chat")
	err = stop()
	assert.ErrorContains(t, err, `no chat "A": that is a session, in chat `+chats[0].ID.Short())
	assert.Contains(t, api.AsError(err).Hint, "name the chat: "+chats[0].ID.Short())
	a.do(":say still here")
	r.waitFor("the first chat is unharmed", func() bool { return len(b.received()) == 1 })
	assert.Empty(t, append(c.bytes(), d.bytes()...))
}

// A chat goes on if tmux sessions and windows are renamed and panes move to other windows and sessions, because a
// pane is known by its id and its process.
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

// silent starts and adopts n line programs, named A, B, …, that speak only when a test tells them to.
func (r *rig) silent(n int) (agents []*agent) {
	r.t.Helper()
	for i := range n {
		agents = append(agents, r.adopted(string(rune('A'+i)), silent...))
	}
	return agents
}

package daemon_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
)

// After a chat, the sidecar looks at an agent's pane only now and then, even if the agent was adopted before its
// first prompt. The same holds if the screen showed the end of a turn too early, and a transcript that is found
// later says otherwise.
func TestQ14_RestAfterAChat(t *testing.T) {
	t.Parallel()
	for _, kind := range inTurn(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			a := r.coder(kind, "Ada", "--transcript", "off", "--status", "none")
			a.adopt("")
			chat, ben := a.inChat()
			for i, words := range []string{"one", "two", "three"} {
				a.do(":turn say %s", words)
				ben.do(":say question %d", i)
				r.waitFor("the answer", func() bool { return len(ben.received()) == i+1 })
			}
			// The screen says that the turn is over while it still goes on.
			a.do(":turn hold | say four")
			ben.do(":say the last question")
			r.waitFor("it works", func() bool { return r.state(a) == message.Working })
			a.do(":lie idle")
			r.waitFor("it is believed", func() bool { return r.state(a) == message.Idle })
			if kind == "codex" { // its transcript appears now and is found by the prompt's text, before the turn's end is in it
				r.looked(func() bool { return a.explain().Transcript == "" })
				r.looked(func() bool { return a.explain().Transcript == "" })
				path := r.rolloutOf(a.turnBegan(), a.promptTaken("[Ben] (2):\n\nthe last question", time.Now()))
				r.waitFor("its transcript is read", func() bool { return a.explain().Transcript == path })
				appends(t, path, a.turnEnded("what nobody was shown"))
			}
			a.do(":lie off")
			a.do(":go")
			r.waitFor("it is done", func() bool { return a.count(persona.EventReady) == 5 })
			r.waitFor("nothing under way", func() bool { return r.open() == 0 && r.state(a) == message.Idle })
			r.rests(chat, 2)
		})
	}
}

// rests waits for a stretch of some seconds in which the sidecar looks at the panes of a chat no more than once a
// second each, on average.
func (r *rig) rests(chat message.Chat, panes int) {
	r.t.Helper()
	looks := func() int {
		stats, err := r.client.Stats(r.t.Context(), string(chat.ID))
		require.NoError(r.t, err)
		return stats.Captures
	}
	const stretch = 5 // seconds
	var n int
	for end := time.Now().Add(patience); time.Now().Before(end); {
		before := looks()
		time.Sleep(stretch * time.Second) // the stretch itself
		if n = looks() - before; n <= stretch*panes {
			r.t.Logf("%d looks at %d panes in %d seconds", n, panes, stretch)
			return
		}
	}
	assert.Failf(r.t, "no rest", "%d looks at %d panes in %d seconds", n, panes, stretch)
}

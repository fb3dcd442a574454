package daemon_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
)

// An agent has ended, and its pane shows the shell below it: nothing is typed there. A message of a chat is held, a
// single one fails, and one that was pasted already is uncertain.
func TestS4_H27_AgentHasGoneAndAShellIsThere(t *testing.T) {
	t.Parallel()
	for _, kind := range inTurn(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			g := &gaps{}
			r := newRig(t, g.option())
			a, ben := r.coderInShell(kind, "Ada", silent...), r.adopted("Ben", silent...)
			cyd := r.coderInShell(kind, "Cyd", silent...)
			a.adopt("")
			cyd.adopt("")
			chat := r.chat([]*agent{a, ben}, unlimited...)
			a.do(":turn hold")
			a.types("work", "Enter")
			r.waitFor("it works", func() bool { return r.state(a) == message.Working })
			ben.do(`:say %s`, strings.ReplaceAll(a.touch(), "\n", `\n`))
			ofChat := r.waitsFor(a.touch())
			r.told(ofChat, "held: agent working")
			single := r.post(a, a.touch())
			a.do(":exit")
			r.told(ofChat, "held: agent gone")
			r.told(single, "failed: agent gone")
			r.waitFor("the chat of two is over", func() bool { return r.current(chat).State == message.ChatOver })

			// Another agent ends between the paste and Enter.
			g.plan(cyd.pane, "enter", func() {
				assert.NoError(t, syscall.Kill(cyd.session.Foreground.PID, syscall.SIGKILL))
				a.waitFor("the shell", func() bool { return r.Fact(cyd.pane, "#{pane_current_command}") == "sh" })
			})
			killed := r.post(cyd, a.touch())
			r.told(killed, "uncertain: agent gone")
			assert.True(t, g.came(cyd.pane, "enter"))
			assert.Zero(t, cyd.enters())
			a.untouched("")
			assert.NoFileExists(t, r.dir+"/touched")
			sessions, err := r.client.Sessions(t.Context())
			require.NoError(t, err)
			assert.Len(t, sessions, 1, "Ben")
		})
	}
}

// Another agent of the same kind that is started in the pane is not the adopted one: nothing is typed into it, and
// the message that was held for the old one stays held. If a person adopts it, it has a conversation of its own.
func TestAgentStartedAnewInItsPane(t *testing.T) {
	t.Parallel()
	for _, kind := range inTurn(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			a, ben := r.coderInShell(kind, "Ada", silent...), r.adopted("Ben", bracketed...)
			a.adopt("")
			r.chat([]*agent{a, ben}, unlimited...)
			a.do(":turn say of the first")
			ben.do(":say begin")
			ben.gets("[Ada] (1):\n\nof the first")
			a.types("a draft")
			ben.do(":say for the first")
			old := r.waitsFor("for the first")
			r.told(old, draftHeld)
			first := a.session
			a.do(":exit")
			r.told(old, "held: agent gone")
			a.startsInShell(kind, silent...)
			before := len(a.bytes())
			r.looked(func() bool { return len(a.bytes()) == before })

			a.adopt("")
			assert.NotEqual(t, first.ID, a.session.ID)
			r.chat([]*agent{a, ben}, unlimited...)
			a.do(":turn say of the second")
			ben.do(":say begin again")
			ben.gets("[Ada] (1):\n\nof the second")
			assert.Equal(t, "held: agent gone", r.last(old))
			assert.Equal(t, []string{"[Ben] (2):\n\nbegin", "[Ben] (2):\n\nbegin again"}, a.received())
			assert.Equal(t, []string{"[Ada] (1):\n\nof the first", "[Ada] (1):\n\nof the second"}, partsOf(ben))
			assert.Equal(t, 2, a.count(persona.EventStart))
		})
	}
}

// Two agents of one kind, in one directory and with one home, have a transcript each, and each one's words go out
// under its own name.
func TestTwoOfAKindInOneDirectory(t *testing.T) {
	t.Parallel()
	for _, kind := range inTurn(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			a, b := r.coder(kind, "Ada", silent...), r.coder(kind, "Bea", silent...)
			a.adopt("")
			b.adopt("")
			ben, cyd := r.adopted("Ben", bracketed...), r.adopted("Cyd", bracketed...)
			r.chat([]*agent{a, ben}, unlimited...)
			r.chat([]*agent{b, cyd}, unlimited...)
			for _, one := range []*agent{a, b} {
				one.do(":turn say by %s", one.name)
			}
			ben.do(":say the same question")
			cyd.do(":say the same question")
			ben.gets("[Ada] (1):\n\nby Ada")
			cyd.gets("[Bea] (1):\n\nby Bea")
			assert.NotEqual(t, a.thread(), b.thread())
			a.relays("by Ada")
			b.relays("by Bea")
			assert.Len(t, ben.received(), 1)
			assert.Len(t, cyd.received(), 1)
		})
	}
}

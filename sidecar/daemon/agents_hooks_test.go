package daemon_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// If a transcript cannot be read, the agent's own hooks tell what it took and said, and `explain` says so. Once a
// transcript can be read, the words come from there. A turn that both report is one message.
func TestW11_HooksServeWhereTheTranscriptCannotBeRead(t *testing.T) {
	t.Parallel()
	eachCoder(t, func(t *testing.T, r *rig, a *agent) {
		_, ben := a.inChat()
		if a.session.Profile == "codex" { // it makes its transcript at the first prompt
			a.types("first", "Enter")
			r.waitFor("a transcript", func() bool { return a.explain().Trouble != "" })
		}
		r.waitFor("the trouble", func() bool { return strings.Contains(a.explain().Trouble, "cannot be read") })
		assert.NotEqual(t, "transcript", a.explain().WordsFrom)
		words := "by a hook"
		a.do(":turn hold | say %s", words)
		ben.do(":say question")
		a.gets("[Ben] (2):\n\nquestion")
		thread := a.thread()
		a.hook(message.Hook{Event: "UserPromptSubmit", Thread: thread, Prompt: "[Ben] (2):\n\nquestion"})
		id := r.idOf("question")
		r.told(id, "submitted")
		r.waitFor("it works", func() bool { return r.state(a) == message.Working })
		a.do(":go")
		a.hook(message.Hook{Event: stopOf(a), Thread: thread, Words: words})
		ben.gets("[Ada] (1):\n\n" + words)
		r.told(id, "submitted (answered)")
		e := a.explain()
		assert.Equal(t, "hook", e.WordsFrom)
		assert.Contains(t, e.Trouble, "cannot be read")

		a.do(":transcript on")
		a.do(":clear")
		a.do(":turn say written down")
		ben.do(":say and now")
		ben.gets("[Ada] (1):\n\nwritten down")
		r.waitFor("the transcript", func() bool { return a.explain().WordsFrom == "transcript" })
		assert.Empty(t, a.explain().Trouble)
		a.hook(message.Hook{Event: stopOf(a), Thread: a.thread(), Words: "written down"})
		r.looked(func() bool { return len(a.relayed()) == 2 })
		assert.Equal(t, []string{words, "written down"}, a.relayed())
	}, "--reply", "none", "--transcript", "garbage")
}

// A hook that reports a turn or a dialog outweighs an idle screen, until another hook reports the end.
func TestH32_HookAgainstAnIdleScreen(t *testing.T) {
	t.Parallel()
	eachCoder(t, func(t *testing.T, r *rig, a *agent) {
		begins, why := "UserPromptSubmit", "held: agent working"
		if a.session.Profile == "codex" {
			begins, why = "PermissionRequest", dialogHeld
		}
		a.hook(message.Hook{Event: begins})
		id := r.post(a, "hello")
		r.told(id, why)
		r.looked(func() bool { return len(a.bytes()) == 0 })
		e := a.explain()
		assert.True(t, e.MayType, "the screen alone")
		assert.False(t, e.WouldType)
		assert.True(t, slices.ContainsFunc(e.Evidence, func(g message.Ground) bool { return g.Source == "hook" && strings.Contains(g.Says, begins) }), "%+v", e.Evidence)
		a.hook(message.Hook{Event: stopOf(a)})
		r.told(id, "submitted")
		assert.Equal(t, []string{hello}, a.received())
	}, "--reply", "none", "--transcript", "off", "--status", "none")
}

package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Codex as people start it, two in one directory behind one background process: a conversation that a person begins
// by hand is followed in each, a binding survives a restart of the sidecar, and afterwards all is at rest.
func TestLab_W14_Q14_CodexWithItsBackgroundProcess(t *testing.T) {
	t.Parallel()
	l := newLab(t, []labtest.Kind{labtest.Codex})
	where := append(l.shared(), labtest.Daemon())
	a, b := l.agent(labtest.Codex, where...), l.agent(labtest.Codex, where...)
	chat, ben := l.alone(a)
	other, bea := l.alone(b)
	heard := func(by *agent, from *labAgent, words string) {
		t.Helper()
		by.gets("[" + from.session().Name + "] (1):\n\n" + words)
		l.until("it is followed", func() bool { return from.explain().WordsFrom == "transcript" })
	}
	a.byHand("first [[say The *first* of `a`.]]")
	heard(ben, a, "The *first* of `a`.")
	b.byHand("first [[say The *first* of `b`.]]")
	heard(bea, b, "The *first* of `b`.")
	seen := []string{a.explain().Transcript, b.explain().Transcript}
	require.NotEqual(t, seen[0], seen[1])

	a.command("/new")
	a.WaitForIdle()
	a.byHand("then [[say Another **one** of `a`.]]")
	heard(ben, a, "Another **one** of `a`.")
	assert.NotContains(t, seen, a.explain().Transcript)
	assert.Equal(t, seen[1], b.explain().Transcript)

	of := []string{a.explain().Transcript, b.explain().Transcript}
	l.until("nothing under way", func() bool { return l.open() == 0 })
	require.NoError(t, l.end())
	l.start()
	l.until("bound again", func() bool {
		return a.explain().Transcript == of[0] && b.explain().Transcript == of[1]
	}, func() any { return []any{a.explain(), b.explain()} })
	b.byHand("and [[say More **of** it.]]")
	heard(bea, b, "More **of** it.")
	// A conversation that is resumed is followed too.
	a.command("/resume")
	a.WaitFor("what there is", func(s labtest.Screen) bool { return s.Contains("Resume a previous session") && s.Contains("of `b`") })
	a.Keys("*first* of `a`")
	a.WaitFor("that one alone", func(s labtest.Screen) bool {
		return !s.Contains("of `b`") && !s.Contains("Another") && s.Contains("of `a`")
	})
	a.Enter()
	a.WaitForIdle()
	a.byHand("back [[say Back **in** it.]]")
	heard(ben, a, "Back **in** it.")
	l.until("the first one", func() bool { return a.explain().Transcript == seen[0] }, func() any { return a.explain() })
	// A prompt that leaves the screen is cut to one row there, and counts as the same.
	lines := "line " + strings.Repeat("and on ", 12)
	b.byHand(strings.Repeat("a question that is longer than a row ", 5) + "[[say " + strings.Repeat(lines+"\n\n", 30) + "The **end**.]]")
	l.until("its end", func() bool { return strings.Contains(strings.Join(bea.received(), ""), "The **end**.") }, func() any { return bea.received() })
	l.stays(func() bool { return b.explain().Transcript == of[1] })
	// Both are in the background process that one of them has started: the conversation tells whose program that
	// process runs.
	self, err := os.Executable()
	require.NoError(t, err)
	for _, one := range []*labAgent{b, a} {
		say := "sent by " + one.Name
		one.byHand(fmt.Sprintf("run [[bash INTERCOM_TEST_SEND=1 %s %s %s '%s']]", self, l.cfg.Paths.Socket, ben.pane, say))
		one.WaitFor("a dialog", func(s labtest.Screen) bool { return s.Contains("Would you like to run") })
		one.Keys("y")
		l.until("it is sent", func() bool {
			return slices.ContainsFunc(l.messages(), func(m message.Envelope) bool { return m.Body == say && m.From.Peer == one.session().ID })
		}, func() any { return l.messages() })
		one.WaitForIdle()
	}
	assert.Equal(t, []string{"The *first* of `a`.", "Another **one** of `a`.", "Back **in** it."}, a.relayed()[:3])
	assert.Equal(t, []string{"The *first* of `b`.", "More **of** it."}, b.relayed()[:2])
	l.rests(chat, 2)
	l.rests(other, 2)
}

// After a chat with an agent that was adopted before its first prompt, its pane is at rest.
func TestLab_Q14_RestAfterAChat(t *testing.T) {
	eachLab(t, func(t *testing.T, l *labRig, a *labAgent) {
		chat, ben := l.alone(a)
		for _, words := range []string{"one", "two", "three"} {
			ben.do(":say go on [[say %s]]", words)
			ben.gets("[" + a.session().Name + "] (1):\n\n" + words)
		}
		a.WaitForIdle()
		l.until("nothing under way", func() bool { return l.open() == 0 })
		l.rests(chat, 2)
	})
}

// Claude Code with a resumed conversation, or in one of two modes, gets what it is told, and its words are heard
// once.
func TestLab_W1_ClaudeAsItIsStarted(t *testing.T) {
	t.Parallel()
	for name, arguments := range map[string][]string{
		"continue": {"--continue"}, "plan": {"--permission-mode", "plan"}, "acceptEdits": {"--permission-mode", "acceptEdits"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, []labtest.Kind{labtest.Claude})
			where := l.shared()
			if name == "continue" {
				before := l.agent(labtest.Claude, where...)
				before.says("long ago [[say what is past]]")
				before.Stop()
			}
			a := l.agent(labtest.Claude, slices.Concat(where, []labtest.Option{labtest.Arguments(arguments...)})...)
			_, ben := l.alone(a)
			ben.do(":say go on [[say It is **so**.]]")
			ben.gets("[" + a.session().Name + "] (1):\n\nIt is **so**.")
			a.says("by hand [[say And so.]]")
			ben.gets("[" + a.session().Name + "] (1):\n\nAnd so.")
			assert.Equal(t, []string{"It is **so**.", "And so."}, a.relayed())
			assert.Equal(t, ".jsonl", filepath.Ext(a.explain().Transcript))
		})
	}
}

// byHand is Prompt for agents that share a model: it does not wait for one of them to hear the text.
func (a *labAgent) byHand(text string) {
	a.l.Helper()
	was := a.screen().Plain
	a.Paste(text)
	a.WaitFor("what was pasted", func(s labtest.Screen) bool { return !slices.Equal(s.Plain, was) })
	a.Enter()
}

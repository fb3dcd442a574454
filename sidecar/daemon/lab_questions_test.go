package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/policies"
	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// With the policy only-questions, an agent at work reads a question after its next tool call, and news only when its
// turn has ended.
func TestLab_L15_onlyQuestionsInterrupt(t *testing.T) {
	t.Parallel()
	policy, ok := policies.Example("only-questions")
	require.True(t, ok)
	l := newLab(t, []labtest.Kind{labtest.Claude}, files("policies/50-only-questions.lua", policy.Text))
	a := l.agent(labtest.Claude, labtest.Configured(func(a *labtest.Agent) {
		require.NoError(t, a.WriteFile(filepath.Join(a.Home, ".claude", "settings.json"), `{"permissions": {"allow": ["Bash"]}}`))
	}))
	chat, ben := l.alone(a, "door=auto", "deliver=mid-turn", "stall=off")
	l.mute(chat, a.Pane)
	a.says("Good morning.")
	l.until("its door", func() bool { e := a.explain(); return e.Door != "" && e.DoorWhy == "" }, func() any { return a.explain().DoorWhy })
	at, goOn := filepath.Join(a.Work, "at"), filepath.Join(a.Work, "go")
	a.Prompt(fmt.Sprintf("steps: [[bash touch %[1]s0; until [ -e %[2]s0 ]; do sleep 0.05; done]] [[bash touch %[1]s1; until [ -e %[2]s1 ]; do sleep 0.05; done]] [[say my own words]]", at, goOn))
	l.until("its call", func() bool { _, err := os.Stat(at + "0"); return err == nil }, func() any { return a.screen().Plain })

	news, question := said(l, ben, "The tests are green."), said(l, ben, "Is the plan done?")
	l.waitTold(question, a, "typed")
	require.NoError(t, os.WriteFile(goOn+"0", nil, 0o600))
	l.waitTold(question, a, "submitted")
	l.until("its next call", func() bool { _, err := os.Stat(at + "1"); return err == nil }, func() any { return a.screen().Plain })
	assert.NotContains(t, l.trailTo(news, a), "typed", "it works still")
	require.NoError(t, os.WriteFile(goOn+"1", nil, 0o600))
	l.waitTold(news, a, "answered")
	assert.Less(t, a.requestWith("Is the plan done?"), a.requestWith("The tests are green."))
	assert.Contains(t, a.Answers(), "my own words")
	t.Logf("question %q, news %q", l.trailTo(question, a), l.trailTo(news, a))
}

// said has a program say something, and returns the id of the message.
func said(l *labRig, who *agent, text string) (id message.ID) {
	l.Helper()
	who.do(":say %s", text)
	l.until(text, func() bool {
		for _, m := range l.turns() {
			if m.Body == text {
				id = m.ID
			}
		}
		return id != ""
	}, func() any { return l.turns() })
	return id
}

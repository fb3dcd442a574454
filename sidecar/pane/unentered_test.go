package pane

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// While our text stands there without its Enter, explain tells which deliveries it is, why it got none, and what sends it.
func TestUnentered(t *testing.T) {
	t.Parallel()
	const (
		soon  = "our text is about to get its Enter"
		never = "our text got no Enter and will not get one: press Enter there to send it, or clear it"
		taken = "our text got no Enter: if its chat is paused, intercom chat resume sends it; if it has ended, press Enter there to send it, or clear it"
	)
	is := func(c *core, want string) {
		t.Helper()
		of, says := c.unentered()
		assert.Equal(t, []message.ID{"a"}, of)
		assert.Equal(t, want, says)
		assert.Equal(t, "text of a", c.ours().text)
	}
	c := coreOf()
	assert.Zero(t, c.ours())
	c.at = pasted{batch: ours(), spell: spell{since: noon}}
	is(c, soon)
	c.step(noon, sighted{line(dialog, barred(message.CopyMode))}) // which hides it
	is(c, "our text waits for its Enter: pane in a mode")

	c.step(noon, sighted{line(whole, barred(message.CopyMode))})
	is(c, "our text waits for its Enter: pane in a mode")
	c.step(noon, cancelled{[]message.ID{"a"}}) // its chat is paused, and the pane still in that mode
	is(c, taken)
	c.step(noon, delivered{[]message.Delivery{deliveryOf("a")}})
	is(c, "our text waits for its Enter: pane in a mode")

	c.step(noon, sighted{line(whole)}) // asks
	c.step(noon, permitted{err: message.ErrPaused})
	is(c, "our text got no Enter because its chat or everything is paused: intercom chat resume sends it")
	c.step(noon, cancelled{[]message.ID{"a"}}) // the chat is stopped
	is(c, taken)
	c.step(noon, sighted{line(whole)})
	c.step(noon, permitted{err: message.ErrEnded})
	is(c, never)

	c.accept([]message.Delivery{deliveryOf("b")}) // and once it has gone, the next one is ours
	c.step(noon, sighted{line()})
	c.step(noon, filed{parts: []part{c.at.(filing).parts[0]}})
	c.step(noon, permitted{})
	c.step(noon, heard{})
	c.step(noon, typed{})
	assert.Equal(t, "text of b", c.ours().text)
	assert.Zero(t, c.left)
}

// Our text that stands in the composer without its Enter is told as ours whatever else the program does. A line that was sent,
// another paste, or a person's own draft is not.
func TestUnentered_shows(t *testing.T) {
	t.Parallel()
	const ours = "[a] (1): word"
	agentIn := func(kind, text, instead string) *Pane {
		prof, ok := profile.AgentByName(kind)
		require.True(t, ok)
		p := &Pane{session: adopted, prof: prof.Profile, account: &account{prof: prof, who: agent.Agent{Kind: agent.Kind(kind)}}}
		p.core.left = leftover{text, instead, []message.ID{"a"}}
		return p
	}
	lineIn := func() *Pane {
		prompt, err := screen.Literal("> ")
		require.NoError(t, err)
		return &Pane{session: adopted, prof: profile.Line(), prompt: prompt, core: core{left: leftover{text: ours, of: []message.ID{"a"}}}}
	}
	row := func(shown string, change func(*sight)) func(p *Pane) sight {
		return func(p *Pane) sight {
			s := fine()
			s.look.Rows = []string{"", shown, ""}
			s.look.Lines = []string{"", shown}
			s.look.Facts.Width, s.look.Facts.Height, s.look.Facts.CursorVisible = 40, 3, true
			s.look.Facts.CursorX, s.look.Facts.CursorY = len(shown), 1
			change(&s)
			s.reading = p.judge(s.look)
			return s
		}
	}
	pasted := func(p *Pane) sight {
		s := fine()
		s.front.Canonical = false
		s.look = recorded(t, map[string]string{"claude": "claude-2.1.329", "codex": "codex-0.169.0"}[p.prof.Name]+"/draft-pasted-placeholder")
		s.look.Facts.PID = 7
		s.reading = screen.Reading{State: message.Draft, Why: message.InComposer}
		return s
	}
	raw := func(s *sight) { s.front.Canonical = false }
	wrapped := func(s *sight) { // its editor has gone on to the next row
		s.look.Facts.Width, s.look.Facts.CursorX, s.look.Facts.CursorY = len("> "+ours), 0, 2
	}
	lines := strings.Repeat("a line\n", 30)
	for _, tt := range []struct {
		name  string
		pane  *Pane
		sight func(p *Pane) sight
		state message.PaneState
		why   message.Reason
		ours  bool
	}{
		{"it stands there", lineIn(), row("> "+ours, func(*sight) {}), message.Draft, message.OursInComposer, true},
		{"its program does not read now", lineIn(), row("> "+ours, func(s *sight) { s.ear = nobodys }), message.Draft, message.OursInComposer, true},
		{"it fills its row", lineIn(), row("> "+ours, func(s *sight) { raw(s); wrapped(s) }), message.Draft, message.OursInComposer, true},
		{"it was sent", lineIn(), row("> "+ours, wrapped), message.Working, message.AgentWorking, false},
		{"beside a person's words", lineIn(), row("> "+ours+" and", func(*sight) {}), message.Draft, message.InComposer, true},
		{"a person's own", lineIn(), row("> [", func(*sight) {}), message.Draft, message.InComposer, false},
		{"it is gone", lineIn(), row("> ", func(*sight) {}), message.Idle, "", false},
		{"Claude shows a long one as a paste", agentIn("claude", lines, "[Pasted text #1 +30 lines]"), pasted, message.Draft, message.OursInComposer, true},
		{"another paste", agentIn("claude", lines, "[Pasted text #7 +30 lines]"), pasted, message.Draft, message.InComposer, false},
		{"Codex does", agentIn("codex", strings.Repeat("x", 1710), "[Pasted Content 1710 chars]"), pasted, message.Draft, message.OursInComposer, true},
	} {
		s := tt.sight(tt.pane)
		state, why := tt.pane.stateOf(s)
		assert.Equal(t, tt.state, state, tt.name)
		assert.Equal(t, string(tt.why), why, tt.name)
		assert.Equal(t, tt.ours, tt.pane.unentered(s), tt.name)
	}
}

// A text that is given up in a composer is known there by what the agent shows for it. Once a person has written beside a paste
// that has no number, nobody can tell it from theirs.
func TestUnentered_givenUp(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		instead   string
		disturbed bool
		known     bool
	}{
		"as it is":                     {"", false, true},
		"beside a person's words":      {"", true, true},
		"a paste":                      {"[Pasted Content 1710 chars]", false, true},
		"a paste beside words":         {"[Pasted Content 1710 chars]", true, false},
		"a numbered one beside words":  {"[Pasted text #1 +12 lines]", true, true},
		"a numbered one that is alone": {"[Pasted text #1 +12 lines]", false, true},
	} {
		c := coreOf()
		b := seen()
		two, _ := plainly(deliveryOf("b"))
		b.parts, b.placeholder, b.disturbed = append(b.parts, two), tt.instead, tt.disturbed
		c.at = permitting{composed: composed{batch: b, spell: spell{since: noon}}}
		c.step(noon, permitted{err: message.ErrEnded})
		want := leftover{}
		if tt.known {
			want = leftover{"text of a", tt.instead, []message.ID{"a", "b"}}
		}
		assert.Equal(t, want, c.left, name)
	}
}

package pane

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/sanitise"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// commanding returns the core of an agent that has a command, for which these deliveries wait; the relay lets "command"
// go bare.
func commanding(ids ...string) *core {
	c := coreOf(ids...)
	c.prof.Reads = profile.Bracketed
	c.command = func(line string) bool { return line == "/next-work fast " }
	c.compose = func(d message.Delivery) (part, bool) {
		if d.Bare {
			return part{d: d, text: bareText(d)}, true
		}
		return plainly(d)
	}
	for i, w := range c.queue {
		if w.ID == "command" {
			c.queue[i].Bare, c.queue[i].Note, c.queue[i].Message.Body = true, "note", "/next-work fast"
		}
	}
	return c
}

// A command is typed bare only once its note was taken, and only if the agent has it; otherwise it is a text below its head.
// It is a paste of its own: nothing is pasted with it, or between its note and it.
func TestCore_C4_whatGoesBare(t *testing.T) {
	texts := func(c *core, f found) (all []string) {
		p, _ := c.plan(noon, f)
		for _, one := range p.parts {
			all = append(all, one.text)
		}
		return all
	}
	took := func(c *core) *core { c.took = []message.ID{"note"}; return c }
	const below = "text of command"
	for name, c := range map[string]struct {
		core *core
		want []string
	}{
		"its note was taken":        {took(commanding("command")), []string{"/next-work fast "}},
		"its note was not":          {commanding("command"), []string{below}},
		"nor is it before its turn": {commanding("note", "command"), []string{"text of note"}},
		"another note was":          {func() *core { c := commanding("command"); c.took = []message.ID{"other"}; return c }(), []string{below}},
		"the agent does not have it": {func() *core {
			c := took(commanding("command"))
			c.command = func(string) bool { return false }
			return c
		}(), []string{below}},
		"it has none":                  {func() *core { c := took(commanding("command")); c.command = nil; return c }(), []string{below}},
		"the relay does not let it":    {func() *core { c := took(commanding("command")); c.queue[0].Bare = false; return c }(), []string{below}},
		"what waits before it":         {took(commanding("x", "command")), []string{"text of x"}},
		"and behind it":                {took(commanding("command", "x")), []string{"/next-work fast "}},
		"texts go together, as before": {commanding("x", "y"), []string{"text of x", "text of y"}},
	} {
		assert.Equal(t, c.want, texts(c.core, agentic()), name)
	}

	// A person's word for a screen that is not recognised does not count for what may be a list.
	for id, want := range map[string]int{"command": 0, "x": 1} {
		c := took(commanding(id))
		f := agentic(func(f *found) { f.may, f.rests = message.UnknownScreen, true })
		f.reading = screen.Reading{State: message.Unknown, Why: message.UnknownScreen}
		c.word = word{delivery: message.ID(id), given: noon}
		assert.Len(t, texts(c, f), want, id)
	}
}

// Only the agent's own account tells that a note was taken. Only a prompt that is exactly the command's name and words tells
// that a command was taken, since these may stand in any text.
func TestCore_C4_whatProvesACommand(t *testing.T) {
	note := part{d: deliveryOf("n")}
	note.d.Message.ID, note.d.Message.Type = "note", message.KindNotice
	for witness, want := range map[string]int{"transcript": 1, "hook": 1, "": 0, "screen": 0} {
		c := commanding("command")
		_, _ = c.finish(&batch{parts: []part{note}, witness: witness}, message.Submitted, "", "")
		assert.Len(t, c.took, want, witness)
	}
	other := part{d: deliveryOf("o")}
	c := commanding("command")
	_, _ = c.finish(&batch{parts: []part{other}, witness: "transcript"}, message.Submitted, "", "")
	assert.Empty(t, c.took, "it is no note")
	_, _ = c.finish(&batch{parts: []part{note}, witness: "transcript"}, message.Uncertain, message.NotTaken, "")
	assert.Empty(t, c.took, "nor was it taken")

	bare := part{d: deliveryOf("command"), text: "/next-work "}
	bare.d.Bare = true
	b := &batch{parts: []part{bare}, text: bare.text, typedAt: noon}
	for text, want := range map[string]bool{
		"/next-work": true, " /next-work ": true, "/next-work-all": false, "/next-work fast": false, "please /next-work": false,
	} {
		says := b.takenAs(agent.Prompt{Text: text, At: noon}, noon)
		assert.Equal(t, want, says != "", "%q: %s", text, says)
	}
}

// Claude Code answers an unknown command below the command, as if it had taken that: only its own record tells whether it did.
func TestCore_C4_noEchoProvesACommand(t *testing.T) {
	bare := part{d: deliveryOf("command"), text: "/next-work fast "}
	bare.d.Bare = true
	for name, c := range map[string]struct {
		change func(*found)
		want   message.ReceiptState
	}{
		"it is shown as the last prompt":  {func(f *found) { f.prompt = true }, message.Uncertain},
		"the composer is empty, and more": {working, message.Uncertain},
		"its record has it":               {func(f *found) { f.consumed = true }, message.Submitted},
	} {
		core := commanding()
		core.at = afterEnter(func(s *entered) {
			s.batch = &batch{parts: []part{bare}, text: bare.text, typedAt: noon, rendered: true}
		})
		var got []message.ReceiptState
		for at := noon; len(got) == 0 && at.Before(noon.Add(2*prof.TakenWithin)); at = at.Add(time.Second) {
			for _, a := range core.step(at, sighted{agentic(c.change)}) {
				if r, ok := a.(receipt); ok {
					got = append(got, r.state)
				}
			}
		}
		assert.Equal(t, []message.ReceiptState{c.want}, got, name)
	}
}

// Enter needs our text alone in the composer, as for any other text.
func TestCore_C4_noEnterUnderAList(t *testing.T) {
	listed := func(f *found) {
		f.own = screen.Among
		f.reading = screen.Reading{State: message.Blocked, Why: screen.DialogOpen, Composer: screen.Composer{Live: true, Text: "/next-work"}}
		f.may = screen.DialogOpen
	}
	bare := part{d: deliveryOf("command"), text: "/next-work "}
	bare.d.Bare = true
	for name, change := range map[string]func(*found){
		"a list":  listed,
		"a draft": func(f *found) { whole(f); f.own = screen.Among },
		"nothing": func(f *found) { whole(f); f.own = screen.Absent },
	} {
		c := commanding()
		c.at = pasted{batch: &batch{parts: []part{bare}, text: bare.text, typedAt: noon}, spell: spell{since: noon}}
		for i := range 20 {
			for _, a := range c.step(noon.Add(time.Duration(i)*time.Second), sighted{agentic(change)}) {
				assert.NotEqual(t, "ask", nameOf(a), name)
				assert.NotEqual(t, "press", nameOf(a), name)
			}
		}
	}
}

// An agent has the commands that stand in its files by then. The blank that closes the list is not lost on the way.
func TestSetup_C4_commands(t *testing.T) {
	home, work := t.TempDir(), t.TempDir()
	write := func(dir, name, text string) {
		require.NoError(t, os.MkdirAll(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for name, of := range map[string]struct {
		prof profile.Agent
		dir  string
		end  string
	}{"claude": {profile.Claude(), ".claude", ".md"}, "gemini": {profile.Gemini(), ".gemini", ".toml"}} {
		write(filepath.Join(work, of.dir, "commands"), "next-work"+of.end, "Do it.")
		write(filepath.Join(work, of.dir, "commands"), "next-work.txt", "Do it.")
		write(filepath.Join(work, of.dir, "commands"), "No Name"+of.end, "Do it.")
		write(filepath.Join(home, of.dir, "commands"), "mine"+of.end, "Do it.")
		s := newSetup(of.prof, agent.Agent{Dir: work, Home: filepath.Join(home, of.dir)}, nil, time.Now)
		require.NotNil(t, s)
		h := s.read(noon)
		assert.Nil(t, h.commands, "nothing waits that needs them")
		s.listing.Store(true)
		s.known.Store(h)
		assert.False(t, s.ready(noon), "and by what was read before nothing is typed")
		s.known.Store(s.read(noon))
		assert.True(t, s.ready(noon))
		assert.Equal(t, map[string]bool{"/next-work": true, "/mine": true}, s.read(noon).commands, name)
		if name == "claude" {
			write(filepath.Join(home, of.dir, "commands"), "mine.md", "---\nargument-hint: [what]\n---\nDo it.")
			assert.Equal(t, map[string]bool{"/next-work": true, "/mine": false}, s.read(noon).commands, "its hint stands behind it")
		}
		options := newAccount(of.prof, agent.Agent{}, nil, "", &bindings{}, nil, time.Now).active
		for text, same := range map[string]bool{"/next-work ": true, "/next-work fast 12 ": true, "/next-work @x ": false} {
			clean, changed := sanitise.Text(text, options)
			assert.Equal(t, same, clean == text && changed == 0, "%s: %q became %q", name, text, clean)
		}
	}
	// Under a name that is there twice, the agent may run what came with a clone.
	claude := func(dir, home string) map[string]bool {
		s := newSetup(profile.Claude(), agent.Agent{Dir: dir, Home: filepath.Join(home, ".claude")}, nil, time.Now)
		s.listing.Store(true)
		return s.read(noon).commands
	}
	both := t.TempDir()
	write(filepath.Join(both, ".claude", "commands"), "a.md", "Do it.")
	assert.Equal(t, map[string]bool{"/a": true}, claude(both, both), "it works in its home")
	home, work = t.TempDir(), t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		write(filepath.Join(home, ".claude", "commands"), name+".md", "Do it.")
	}
	write(filepath.Join(work, ".claude", "commands"), "a.md", "Do something else.")
	write(filepath.Join(work, ".claude", "skills", "b"), "SKILL.md", "Do something else.")
	assert.Equal(t, map[string]bool{"/a": false, "/b": false, "/c": true}, claude(work, home))
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(filepath.Join(home, ".claude", "commands", "c.md"), 1, 1))
		assert.False(t, claude(work, home)["/c"], "it is another user's")
	}
	for i := range mostCommands {
		write(filepath.Join(work, ".claude", "commands"), fmt.Sprintf("a-%03d.md", i), "Do it.")
	}
	assert.Empty(t, claude(work, home), "who knows what else is there")
	for _, a := range profile.Agents() {
		assert.Equal(t, a.Name == "claude" || a.Name == "gemini", a.Commands.Offered(), a.Name)
	}
}

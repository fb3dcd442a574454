package daemon_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// asksFor sends a text from one agent to another.
func (a *agent) asksFor(to *agent, text string) message.ID {
	a.t.Helper()
	sent, err := asks[api.Sent](a, "send", api.SendRequest{To: to.pane, Text: text})
	require.NoError(a.t, err, text)
	return sent.Message
}

// pasteOf is a text as tmux pastes it.
func pasteOf(text string) string { return "\x1b[200~" + text + "\x1b[201~" }

// commander is a rig with Ada, an agent that has commands, and Ben, who asks for them.
func commander(t *testing.T) (r *rig, a, ben *agent) {
	t.Helper()
	r = newRig(t, files("init.lua", `intercom.configure { deliver = { bare_slash = { "/next-work", "/next-wor", "/not-there" } } }`))
	r.keeps("work", "next-work", "next-work-all")
	a = r.coder("claude", "Ada")
	a.adopt("")
	return r, a, r.adopted("Ben", bracketed...)
}

// keeps puts commands where an agent keeps them, below a directory of the rig.
func (r *rig) keeps(dir string, names ...string) {
	r.t.Helper()
	dir = filepath.Join(r.dir, dir, ".claude", "commands")
	require.NoError(r.t, os.MkdirAll(dir, 0o700))
	for _, name := range names {
		require.NoError(r.t, os.WriteFile(filepath.Join(dir, name+".md"), []byte("Do "+name+".\n"), 0o600))
	}
}

// A command that the person has allowed is typed bare, with a blank behind it, after the agent has taken a note that
// says who asks for it. The agent's own record proves that it was submitted. Any other text goes below its header.
func TestC4_CommandGoesBare(t *testing.T) {
	t.Parallel()
	r, a, ben := commander(t)
	for _, text := range []string{"/next-work", "/next-work fast 12"} {
		began := len(a.bytes())
		id := ben.asksFor(a, text)
		r.told(id, "submitted (answered)")
		got := string(a.bytes()[began:])
		note, rest, found := strings.Cut(got, pasteOf(text+" ")+"\r")
		require.True(t, found, "%q", got)
		assert.Contains(t, note, ben.header()+`[notice] Ben asks for the command "`+text+`", which comes without a header.`)
		assert.Equal(t, 1, strings.Count(note, "\r"), "the note was submitted before: %q", note)
		assert.Empty(t, rest)
		assert.True(t, r.wentBare(id))
		assert.True(t, slices.ContainsFunc(r.receiptsOf(id), func(one message.Receipt) bool {
			return one.State == message.Typed && strings.Contains(one.Evidence[0].Says, "bare, as a command")
		}), "a person can see it")
		taken := r.evidenceOf(id, message.Submitted)
		assert.Equal(t, "transcript", taken.Source, "%s", taken.Says)
	}
	for _, text := range []string{"/next-work-all", "/next-work `id`", "/next-work @file", "/next-work\n/next-work", "Please /next-work", "/not-there"} {
		began := len(a.bytes())
		id := ben.asksFor(a, text)
		r.told(id, "submitted (answered)")
		got := string(a.bytes()[began:])
		assert.NotContains(t, got, pasteOf(text+" "), text)
		assert.Contains(t, strings.ReplaceAll(got, `\@`, "@"), ben.header()+text, "below its header")
		assert.False(t, r.wentBare(id), text)
	}
}

// The list above the composer does not offer the command that was typed: Enter would take another one, or none. Enter
// is withheld, and when the person has cleared the text, the message is uncertain.
func TestC4_NoEnterUnderAList(t *testing.T) {
	t.Parallel()
	for text, shows := range map[string]string{"/not-there": `No commands match "/not-there "`, "/next-wor": "❯ /next-work-all "} {
		t.Run(text[1:], func(t *testing.T) {
			t.Parallel()
			r, a, ben := commander(t)
			r.keeps("home", "next-wor", "not-there") // this agent takes no commands from there
			id := ben.asksFor(a, text)
			r.told(id, "held: a dialog or a panel is open")
			r.WaitForText(a.pane, shows)
			r.looked(func() bool { return a.enters() == 1 })
			got := string(a.bytes())
			note, rest, found := strings.Cut(got, pasteOf(text+" "))
			require.True(t, found, "%q", got)
			assert.Equal(t, 1, strings.Count(note, "\r"), "that of the note")
			assert.Empty(t, rest, "no Enter")
			a.types("", "C-c") // its person takes it away
			r.told(id, "uncertain: text was not seen in the composer")
			assert.Equal(t, 1, a.enters())
		})
	}
}

// A person's draft holds a command as it holds any text, and nothing of the command is typed while the draft is
// there.
func TestC4_DraftHoldsACommand(t *testing.T) {
	t.Parallel()
	r, a, ben := commander(t)
	a.types("mine")
	id := ben.asksFor(a, "/next-work")
	r.told(id, "queued")
	r.waitFor("the note is held", func() bool { return a.explain().State == message.Draft })
	assert.NotContains(t, string(a.bytes()), "/next-work")
	a.types("", "C-c")
	r.told(id, "submitted (answered)")
	assert.Equal(t, 1, strings.Count(string(a.bytes()), pasteOf("/next-work ")+"\r"))
}

// A note that was taken in another conversation, or that another sidecar typed, tells nobody here who asks. The
// command then goes below its header.
func TestC4_NoteThatIsNoMore(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(r *rig, a *agent){
		"another conversation": func(r *rig, a *agent) {
			first := a.thread()
			// At once, so that the composer is never empty while the note still counts.
			a.Run(slices.Concat([]string{"send-keys", "-t", a.pane}, manyTimes("BSpace", len("mine")), []string{"/clear"})...)
			a.types("", "Enter")
			r.waitFor("another transcript", func() bool { return a.thread() != first })
		},
		"another sidecar": func(r *rig, a *agent) {
			require.NoError(r.t, r.end())
			r.start()
			a.types("", "C-c")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, a, ben := commander(t)
			a.do(":turn hold | say ok")
			id := ben.asksFor(a, "/next-work")
			r.waitFor("the note is taken", func() bool { return len(a.received()) == 1 })
			a.types("mine")
			a.do(":go")
			r.told(id, "held: draft in the composer")
			change(r, a)
			r.told(id, "submitted (answered)")
			assert.False(t, r.wentBare(id))
			assert.Contains(t, string(a.bytes()), pasteOf(ben.header()+"/next-work ")+"\r")
		})
	}
}

package daemon_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona/personatest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// fullScreen starts a full-screen persona in a pane of its own and waits for its composer. It
// is not adopted yet.
func (r *rig) fullScreen(name string, flags ...string) *agent {
	r.t.Helper()
	a := &agent{rig: r, name: name, log: r.dir + "/" + name + ".jsonl", control: r.dir + "/" + name + ".ctl"}
	a.pane = r.NewPane(personatest.Program(r.t), append([]string{"tui", "--name", name, "--log", a.log, "--control", a.control}, flags...)...)
	tmuxtest.WaitFor(r.t, name+" shows its composer", func() bool { return a.count(persona.EventReady) > 0 })
	return a
}

// unknown starts a full-screen persona and adopts it as a program that the sidecar does not know.
func (r *rig) unknown(name string, flags ...string) *agent {
	r.t.Helper()
	a := r.fullScreen(name, flags...)
	a.adopt("tui")
	return a
}

// guest is unknown, in a pane of a shared rig, for one subtest that fails on its own. Tests about one pane alone
// can share a rig.
func (r *rig) guest(t *testing.T, flags ...string) (*rig, *agent) {
	t.Helper()
	one := *r
	one.t, one.Server = t, r.On(t)
	a := one.unknown("Tia"+string(message.NewID().Short()), flags...)
	t.Cleanup(func() {
		if !t.Failed() {
			_, _ = one.Try("kill-pane", "-t", a.pane)
		}
	})
	return &one, a
}

// oneLine returns a person's words as they are typed into an unknown program.
func oneLine(text string) string {
	return "[tester] (0): " + strings.ReplaceAll(text, "\n", " ⏎ ") + " "
}

// settled waits until the last receipt of a message is want.
func (r *rig) settled(id message.ID, want string) {
	r.t.Helper()
	r.waitFor(want, func() bool {
		all := r.trail(id)
		return len(all) > 0 && all[len(all)-1] == want
	})
}

// A full-screen program that the sidecar does not know gets each message of a chat whole and once, in one line and
// one paste. Its answers are relayed without the text that it was sent.
func TestUnknown_hearsAndIsHeard(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"its own screen": {"--alt"}, "the main screen": nil, "a short glyph": {"--alt", "--prompt", "> "}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			tia := r.unknown("Tia", append(flags, "--lines", "3", "--spinner", "300ms")...)
			ben := r.adopted("Ben", "--bracketed", "--reply", "none")
			chat := r.chat([]*agent{tia, ben}, unlimited...)
			long := strings.TrimSpace(strings.Repeat("some words of a longer text, ", 15))
			texts := []string{"hello", "two lines\nof it é 日本", "see @file", "!touch proof\n/quit", long}
			if name != "its own screen" && !longTest() {
				texts = texts[:2]
			}
			for i, text := range texts {
				said, err := r.client.Say(t.Context(), api.SayRequest{Chat: string(chat.ID), Text: text})
				require.NoError(t, err)
				r.waitFor("an answer", func() bool { return strings.HasSuffix(r.trails(said.Message)[tia.session.ID], "answered") })
				require.Len(t, tia.received(), i+1)
				assert.Equal(t, oneLine(text), tia.received()[i])
				assert.Equal(t, oneLine(text), tia.texts(persona.EventPaste)[i], "one paste")
			}
			r.waitFor("its words", func() bool { return len(tia.relayed()) == len(tia.said()) })
			for i, words := range tia.said() {
				assert.Equal(t, unbroken("● "+words), unbroken(tia.relayed()[i]))
			}
			assert.Zero(t, tia.count(persona.EventEmpty), "no Enter too many")
			e := tia.explain()
			assert.Equal(t, "screen", e.WordsFrom)
			assert.Equal(t, "approximate", e.Evidence[0].Weight)
		})
	}
}

// unbroken returns a text without its blanks and line breaks.
func unbroken(text string) string { return strings.Join(strings.Fields(text), "") }

// If an unknown program shows anything other than it did when it was adopted, a message to it is held with a
// reason, and nothing is typed. Once the screen is as before, the message is delivered, once.
func TestUnknown_anythingElseHolds(t *testing.T) {
	t.Parallel()
	world := newRig(t)
	for name, c := range map[string]struct {
		open, close string
		keys        []string // in place of close
		why         string
		passes      bool // it ends by itself
		stays       bool // there is no way back
	}{
		"a dialog":          {open: ":dialog", keys: []string{"Escape"}, why: "held: a dialog or a panel is open"},
		"a draft":           {open: ":draft half a thought", keys: []string{"C-u"}, why: "held: draft in the composer"},
		"work":              {open: ":spin 3s", why: "held: agent working", passes: true},
		"a hidden cursor":   {open: ":cursor hide", close: ":cursor show", why: "held: screen not recognised"},
		"a moved cursor":    {open: ":cursor move", why: "held: draft in the composer", stays: true},
		"another glyph":     {open: ":prompt ! ", close: ":prompt ❯ ", why: "held: screen not recognised"},
		"the other screen":  {open: ":alt off", close: ":alt on", why: "held: screen not recognised"},
		"a question above":  {open: ":say Remove everything? [y/N]", close: ":clear", why: "held: a dialog or a panel is open"},
		"a line of its own": {open: ":say a line of its own", close: ":clear", why: "held: screen not recognised"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			switch name {
			case "a draft", "work", "a hidden cursor", "a moved cursor", "another glyph", "the other screen", "a question above":
				inTheTable(t, "screen/frame_test.go: a draft", "screen/frame_test.go: work", "screen/frame_test.go: its cursor elsewhere",
					"screen/frame_test.go: another glyph", "screen/frame_test.go: a question above", "screen/frame_test.go: TestFrame_View")
			}
			r, tia := world.guest(t, "--alt")
			tia.do("%s", c.open)
			id := r.post(tia, "hello")
			r.settled(id, c.why)
			if !c.passes {
				r.stays(func() bool { return len(tia.bytes()) == 0 })
				assert.Zero(t, tia.count(persona.EventAnswer))
			}
			switch {
			case c.stays:
				return
			case c.close != "":
				tia.do("%s", c.close)
			case c.keys != nil:
				r.Run(append([]string{"send-keys", "-t", tia.pane}, c.keys...)...)
			}
			r.settled(id, "answered")
			assert.Equal(t, []string{oneLine("hello")}, tia.received())
			assert.Zero(t, tia.count(persona.EventEmpty), "no Enter too many")
			assert.Zero(t, tia.count(persona.EventApproved))
		})
	}
}

// A dialog that opens at the moment of the paste is not answered by our Enter. Enter waits until the dialog has
// gone and our text stands alone in the composer.
func TestUnknown_dialogBetweenPasteAndEnter(t *testing.T) {
	t.Parallel()
	inTheTable(t, "pane/core_test.go: a question appears above it", "pane/core_test.go: a dialog opens", "pane/core_test.go: it stands")
	r := newRig(t)
	tia := r.unknown("Tia", "--alt", "--dialog-on-paste")
	id := r.post(tia, "hello")
	r.waitFor("the dialog", func() bool { return tia.count(persona.EventDialog) == 1 })
	r.settled(id, "held: a dialog or a panel is open")
	r.stays(func() bool { return tia.count(persona.EventAnswer) == 0 })
	r.Run("send-keys", "-t", tia.pane, "Escape")
	r.settled(id, "answered")
	assert.Equal(t, []string{oneLine("hello")}, tia.received())
	assert.Zero(t, tia.count(persona.EventApproved))
}

// If a person types beside our text, something opens above it, or the cursor disappears, Enter is not pressed. If
// the program does not take the text after Enter, it is not reported as submitted.
func TestUnknown_beforeEnter(t *testing.T) {
	t.Parallel()
	world := newRig(t)
	for change, want := range map[string]string{
		"draft": "held: draft in the composer", "line": "held: a dialog or a panel is open", "hide": "held: screen not recognised",
	} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			if change != "line" {
				inTheTable(t, "pane/core_test.go: words beside it", "pane/core_test.go: its screen is being drawn", "pane/core_test.go: for long")
			}
			r, tia := world.guest(t, "--alt", "--change-on-paste", change)
			id := r.post(tia, "hello")
			r.settled(id, want)
			r.stays(func() bool { return !strings.Contains(string(tia.bytes()), "\r") })
			assert.Empty(t, tia.received())
		})
	}
	t.Run("stuck", func(t *testing.T) {
		t.Parallel()
		inTheTable(t, "pane/core_test.go: no composer shows", "pane/core_test.go: for too long")
		r, tia := world.guest(t, "--alt", "--stuck")
		id := r.post(tia, "hello")
		r.waitFor("Enter", func() bool { return strings.Contains(string(tia.bytes()), "\r") })
		for end := time.Now().Add(4 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			require.NotContains(t, r.trail(id), "submitted")
		}
		assert.Equal(t, 1, strings.Count(string(tia.bytes()), "\r"))
	})
}

// No byte of a text works as a key.
func TestUnknown_hostileBytes(t *testing.T) {
	t.Parallel()
	r := newOldRig(t)
	tia := r.unknown("Tia", "--alt")
	bodies := []string{"x\x1b[201~\rtouch proof\r", "a\x1b[Z\x1b[201~\tb", "c\u009b201~d\x03\x04\x7f", "e\u202ef\u200bg", "h\r\n:exit\r\ni", "\x1b[200~j"}
	for i, body := range bodies {
		id := r.post(tia, body)
		r.settled(id, "answered")
		require.Len(t, tia.received(), i+1, "%q", body)
		assert.NotContains(t, strings.Trim(tia.texts(persona.EventPaste)[i], " "), "\x1b")
	}
	assert.Equal(t, len(bodies), strings.Count(string(tia.bytes()), "\r"), "one Enter each")
	assert.Zero(t, tia.count(persona.EventKey))
}

// A sidecar that is started again still knows the program's frame, and does not type the earlier text again.
func TestUnknown_afterARestart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	tia := r.unknown("Tia", "--alt")
	r.settled(r.post(tia, "one"), "answered")
	require.NoError(t, r.end())
	r.start()
	r.settled(r.post(tia, "two"), "answered")
	assert.Equal(t, []string{oneLine("one"), oneLine("two")}, tia.received())
}

// A full-screen program that shows no empty composer is not adopted, and neither is a program such as cat, which
// has no composer, or a shell.
func TestUnknown_adoptionIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for command, why := range map[string]string{":dialog": "cursor is hidden", ":draft some words": "may hold a draft", ":say [y/n]": "question", ":spin 1m": "keeps writing"} {
		tia := r.fullScreen("Tia"+strings.Trim(strings.Fields(command)[0], ":"), "--alt")
		tia.do("%s", command)
		_, err := r.client.Adopt(t.Context(), api.AdoptRequest{Pane: tia.pane, As: "tui"})
		require.ErrorContains(t, err, why, command)
	}
	_, err := r.client.Adopt(t.Context(), api.AdoptRequest{Pane: r.Base, As: "tui"})
	require.Error(t, err, "cat")
	shell := r.NewPane("env", "PS1=shell> ", "ENV=", "sh", "-i")
	r.WaitForText(shell, "shell>")
	_, err = r.client.Adopt(t.Context(), api.AdoptRequest{Pane: shell, As: "tui"})
	require.ErrorContains(t, err, "a shell")
}

// aider gets a text of several lines as one message, with a blank at the end so that no completion stays open. A
// question of its own holds messages. What aider draws around its words is not relayed.
func TestAider_hearsAndIsHeard(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ada := r.line("Ada", "--bracketed", "--continuation", ". ", "--prompt", "> ", "--reply", "words of {n}\n\nTokens: 2 sent, 3 received.\n\n────────────")
	ada.adopt("aider")
	ben := r.adopted("Ben", "--bracketed", "--reply", "none")
	chat := r.chat([]*agent{ada, ben}, unlimited...)
	r.say(chat, "two\nlines, and main")
	r.waitFor("its words", func() bool { return len(ada.relayed()) == 1 })
	assert.Equal(t, []string{"[tester] (0):\n\ntwo\nlines, and main "}, ada.received())
	assert.Equal(t, []string{"words of 1"}, ada.relayed())

	ada.do(":prompt %s", "Add file to the chat? (Y)es/(N)o [Yes]:\\x20")
	id := r.post(ada, "please do not")
	r.settled(id, "held: agent working")
	before := len(ada.bytes())
	r.stays(func() bool { return len(ada.bytes()) == before })
	ada.do(":prompt %s", ">\\x20")
	r.settled(id, "answered")
	assert.Equal(t, "[tester] (0):\n\nplease do not ", ada.received()[1])
	assert.Len(t, ada.received(), 2)
}

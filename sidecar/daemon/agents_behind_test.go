package daemon_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// behind are the flags of a Codex whose background process writes the transcript, so that the Codex itself has no
// file open.
var behind = append([]string{"--transcript", "behind"}, silent...)

// A person begins another conversation by hand and asks something there. The sidecar follows: it relays the words of
// the new transcript, and explain names that transcript.
func TestW14_AnotherConversationByHand(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.coder("codex", "Ada", behind...)
	a.adopt("")
	_, ben := a.inChat()
	a.do(":turn say the first")
	ben.do(":say question")
	ben.gets("[Ada] (1):\n\nthe first")
	r.waitFor("bound", func() bool { return a.explain().Transcript != "" })
	seen := []string{a.explain().Transcript}
	for i, words := range []string{"by **hand**", "by `hand` once more", "and again"} {
		a.byHand("/new")
		a.do(":turn say %s", words)
		a.byHand([]string{"go on", "go on", "and now this"}[i])
		ben.gets("[Ada] (1):\n\n" + words)
		r.waitFor("it is followed", func() bool {
			e := a.explain()
			return e.Transcript != "" && e.Transcript != seen[len(seen)-1] && e.WordsFrom == "transcript"
		})
		assert.NotContains(t, seen, a.explain().Transcript)
		assert.Equal(t, "screen", a.explain().Found)
		seen = append(seen, a.explain().Transcript)
	}
	a.relays("the first", "by **hand**", "by `hand` once more", "and again")
}

// A binding survives a restart of the sidecar, because the screen shows the end of one transcript and of no other.
// The words come from that transcript, from the first turn after the restart on.
func TestW14_BindingOverARestart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.coder("codex", "Ada", behind...), r.coder("codex", "Bob", behind...)
	a.adopt("")
	b.adopt("")
	ben := r.adopted("Ben", bracketed...)
	r.chat([]*agent{a, ben, b}, unlimited...)
	for _, one := range []*agent{a, b} {
		// The other one must have taken what was said before: the sidecar does not type while a person types.
		r.waitFor("nothing under way", func() bool { return r.open() == 0 })
		one.ready()
		one.do(":turn say said by %s", one.name)
		one.byHand("asked of " + one.name)
		ben.gets(map[*agent]string{a: "[Ada] (1):\n\n", b: "[Bob] (3):\n\n"}[one] + "said by " + one.name)
		r.waitFor("bound", func() bool { return one.explain().Transcript != "" })
	}
	of := map[*agent]string{a: a.explain().Transcript, b: b.explain().Transcript}
	require.NotEqual(t, of[a], of[b])
	r.waitFor("nothing under way", func() bool { return r.open() == 0 })
	require.NoError(t, r.end())
	r.start()
	for _, one := range []*agent{a, b} {
		r.waitFor("bound again", func() bool { return one.explain().Transcript == of[one] })
		assert.Equal(t, "screen", one.explain().Found)
		one.ready()
	}
	heard := len(ben.received())
	a.do(":turn say more **of** it")
	a.byHand("and?")
	ben.gets("[Ada] (1):\n\nmore **of** it")
	assert.Len(t, ben.received(), heard+1, "and nothing twice")
}

// Two agents that show the same on their screens are never bound to one transcript, and the words of each go out
// under its own name.
func TestW14_TwoThatShowTheSame(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.coder("codex", "Ada", behind...), r.coder("codex", "Bob", behind...)
	a.adopt("")
	b.adopt("")
	ben := r.adopted("Ben", bracketed...)
	r.chat([]*agent{a, ben, b}, unlimited...)
	a.do(":turn hold | say of Ada")
	b.do(":turn hold | say of Bob")
	a.byHand("the same")
	b.byHand("the same")
	for _, one := range []*agent{a, b} {
		r.waitFor("it works", func() bool { return r.state(one) == message.Working })
	}
	a.do(":go")
	b.do(":go")
	ben.gets("[Ada] (1):\n\nof Ada")
	ben.gets("[Bob] (3):\n\nof Bob")
	for range 7 {
		r.stays(func() bool { return a.explain().Transcript == "" || a.explain().Transcript != b.explain().Transcript })
	}
	a.relays("of Ada")
	b.relays("of Bob")
}

// If the transcript of a new conversation cannot be found, the sidecar does not keep the old one: it takes the words
// from the screen, and explain names the trouble.
func TestW14_ConversationThatIsNotFound(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.coder("codex", "Ada", append([]string{"--transcript", "off"}, silent...)...)
	a.adopt("")
	_, ben := a.inChat()
	path := r.rolloutOf(a.turnBegan(), a.promptTaken("by hand", time.Now()), a.turnEnded("of an earlier one"))
	a.do(":turn say of an earlier one")
	a.byHand("by hand")
	r.waitFor("bound", func() bool { return a.explain().Transcript == path })
	a.byHand("/new")
	a.do(":turn hold | say what nobody wrote down")
	a.byHand("and here")
	r.waitFor("it works", func() bool { return r.state(a) == message.Working })
	r.waitFor("it is let go", func() bool { e := a.explain(); return e.Transcript == "" && e.WordsFrom == "screen" })
	assert.Contains(t, a.explain().Trouble, path)
	a.do(":go")
	r.waitFor("heard", func() bool { return strings.Contains(strings.Join(ben.received(), ""), "what nobody wrote down") })
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Positive(t, info.Size())
}

// byHand types a prompt, or the command for another conversation, as slowly as a person: Enter comes only when the
// sidecar has seen the text.
func (a *agent) byHand(text string) {
	a.t.Helper()
	before, entered := len(a.received()), a.enters()
	a.types(text)
	a.waitFor("it stands there", func() bool { return a.state(a) == message.Draft && a.explain().Composer.Text == text })
	a.types("", "Enter")
	a.waitFor("it is taken", func() bool {
		if text == "/new" {
			return a.enters() > entered && a.state(a) == message.Idle
		}
		return len(a.received()) > before
	})
}

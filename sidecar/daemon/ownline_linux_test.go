package daemon_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// If a person presses Enter right before the sidecar does, the person has sent our text, and the sidecar reports it
// as uncertain. The next message is typed after it.
func TestOwnTextThatAPersonSends(t *testing.T) {
	t.Parallel()
	r, g, a, p := attended(t)
	g.plan(a.pane, "enter", func() {
		p.keys("\r")
		r.waitFor("it is read", func() bool { return len(a.received()) == 1 })
	})
	r.told(r.post(a, "one"), "uncertain")
	r.told(r.post(a, "two"), "submitted")
	assert.Equal(t, []string{"[tester] (0): one", "[tester] (0): two"}, a.received())
}

// A program may print something unasked and prompt again before it has read our text. The screen then shows our
// text as if it had been sent, or does not show it, and another text would be sent together with it. So the next
// message waits until somebody has sent ours.
func TestOwnTextThatNobodyReads(t *testing.T) {
	t.Parallel()
	r, g, a, p := attended(t)
	for i, prints := range []string{`:raw \r\x1b[Knews\r\nada>\x20`, `:raw \r\nnews\r\nada>\x20`} {
		g.plan(a.pane, "enter", func() {
			a.do("%s", prints)
			p.keys("x\x7f") // a person's keys keep our Enter away
		})
		r.told(r.post(a, "one"), "uncertain")
		held := r.post(a, "two")
		r.told(held, "held: "+string(message.OursInComposer))
		require.Len(t, a.received(), 2*i, "nothing was sent")
		assert.True(t, slices.ContainsFunc(a.explain().Evidence, func(one message.Ground) bool { return strings.Contains(one.Says, "a line that you send here") }))
		p.keys("\r")
		r.told(held, "submitted")
		require.Equal(t, []string{"[tester] (0): one", "[tester] (0): two"}, a.received()[2*i:])
		g.forget()
	}
}

// If tmux does not say whether it has pasted our text, and the text shows up later, the sidecar watches it like any
// other text from then on.
func TestOwnTextThatCameInDoubt(t *testing.T) {
	t.Parallel()
	r, g, a, p := attended(t, over("process"))
	require.NoError(t, r.end())
	r.wrapped(`case "$*" in *load-buffer*) if [ -e $D/doubt ]; then rm $D/doubt; exec >/dev/null; fi;; esac`)
	r.start()
	doubt := filepath.Join(r.dir, "doubt")
	require.NoError(t, os.WriteFile(doubt, nil, 0o600))
	g.plan(a.pane, "enter", func() {
		a.do("%s", `:raw \r\x1b[Knews\r\nada>\x20`)
		p.keys("x\x7f") // a person's keys keep our Enter away
	})
	r.told(r.post(a, "one"), "uncertain")
	require.NoFileExists(t, doubt)
	held := r.post(a, "two")
	r.told(held, "held: "+string(message.OursInComposer))
	p.keys("\r")
	r.told(held, "submitted")
	assert.Equal(t, []string{"[tester] (0): one", "[tester] (0): two"}, a.received())
}

// attended starts a program on a terminal that gathers lines, and a person who looks at its pane.
func attended(t *testing.T, opts ...option) (r *rig, g *gaps, a *agent, p *person) {
	t.Helper()
	g = &gaps{}
	r = newRig(t, append(opts, g.option())...)
	a = r.adopted("Ada", "--cooked", "--reply", "none")
	p = r.person(a.pane)
	r.Run("select-pane", "-t", a.pane)
	return r, g, a, p
}

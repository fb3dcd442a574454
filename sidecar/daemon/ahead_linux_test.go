package daemon_test

import (
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Keys that a person types while a line program works are a draft, though the next prompt does not show them: no
// message is typed behind them. When the person has sent them, they hold nothing.
func TestDraftThatWasTypedAhead(t *testing.T) {
	t.Parallel()
	t.Run("behind our own text", followsOurText) // first, since the program of writesElsewhere runs to the end of this test
	r := newRig(t)
	a := r.adopted("Ada", "--cooked", "--reply", "none")
	p := r.person(a.pane)
	explained := func(words string) bool {
		return slices.ContainsFunc(a.explain().Evidence, func(g message.Ground) bool { return strings.Contains(g.Says, words) })
	}
	ahead := func() bool { return explained("while the program worked") }
	typed := 0
	begins := func() {
		typed = 0
		a.do("%s", `:raw \r\n`)
		for last := (time.Time{}); !ahead(); { // one key at a time, since the first may come before the sidecar knows the screen
			r.waitFor("a key", func() bool { return ahead() || time.Since(last) > 500*time.Millisecond })
			p.keys("x")
			typed, last = typed+1, time.Now()
		}
	}
	back := `:raw \r\nada>\x20`

	begins()
	held := r.post(a, "one")
	a.do("%s", back)
	r.waitFor("held", func() bool { return r.last(held) == "held: composer not provably empty" })
	require.Empty(t, a.received(), "nothing was sent, and nothing of ours was put behind it")
	p.keys("\r")
	r.waitFor("delivered", func() bool { return strings.HasPrefix(r.last(held), "submitted") })
	require.Equal(t, []string{strings.Repeat("x", typed), "[tester] (0): one"}, a.received())

	begins()
	p.keys("\r") // Enter brings the prompt back
	sent := r.post(a, "two")
	r.waitFor("delivered", func() bool { return strings.HasPrefix(r.last(sent), "submitted") })
	assert.Equal(t, []string{strings.Repeat("x", typed), "[tester] (0): two"}, a.received()[2:])

	for i, text := range []string{"three", "four", "five"} {
		begins()
		if i == 0 { // C-d hands the line over, and nothing of that shows
			p.keys("\x04")
			r.waitFor("it is handed over", func() bool { return explained("C-d gave the program") })
			writesElsewhere(t)
		}
		held = r.post(a, text)
		a.do("%s", back)
		r.waitFor("held", func() bool { return r.last(held) == "held: composer not provably empty" })
		if i == 2 { // at the prompt, nothing of C-d shows either
			p.keys("\x04")
			r.waitFor("it is handed over", func() bool { return explained("C-d gave the program") })
		}
		require.Len(t, a.received(), 4+2*i, "nothing was sent, and nothing of ours was put behind it")
		p.keys("\r")
		r.waitFor("delivered", func() bool { return strings.HasPrefix(r.last(held), "submitted") })
		require.Equal(t, []string{strings.Repeat("x", typed), "[tester] (0): " + text}, a.received()[4+2*i:])
	}
}

// followsOurText: keys that a person types after our Enter, while the program works on our text, are a draft too. Our
// Enter has not sent them.
func followsOurText(t *testing.T) {
	r := newRig(t)
	a := r.adopted("Ada", "--cooked", "--reply", "well", "--think", "1500ms")
	p := r.person(a.pane)
	for _, text := range []string{"one", "two"} {
		n := len(a.received())
		id := r.post(a, text)
		r.told(id, "submitted")
		p.keys("x")
		held := r.post(a, "not behind it")
		r.told(id, "submitted (answered)")
		r.told(held, "held: composer not provably empty")
		require.Len(t, a.received(), n+1)
		p.keys("\r")
		r.told(held, "submitted")
		require.Equal(t, []string{"[tester] (0): " + text, "x", "[tester] (0): not behind it"}, a.received()[n:])
		r.told(held, "submitted (answered)")
	}
}

// writesElsewhere has a program write to a terminal of its own all the time, by the name /dev/tty, which each program
// has for its own terminal.
func writesElsewhere(t *testing.T) {
	cmd := exec.Command("sh", "-c", "while printf . >/dev/tty; do sleep 0.02; done")
	tty, err := pty.Start(cmd)
	require.NoError(t, err)
	var reader sync.WaitGroup
	reader.Go(func() { _, _ = io.Copy(io.Discard, tty) })
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = tty.Close()
		reader.Wait()
	})
}

package daemon_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

const severalLines = "first line\nsecond line\n\n\tlast: 日本語 🙂\n"

// A text of several lines is one message: a paste if the program takes pastes, and one line with marks for the line
// breaks if it reads lines.
func TestV3_SeveralLinesAreOneMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.adopted("Ada", "--reply", "none")
	b := r.adopted("Ben", "--reply", "none", "--bracketed")
	c := r.adopted("Cat", "--reply", "none", "--cooked")
	for _, one := range []*agent{a, b, c} {
		assert.Equal(t, message.Submitted, r.send(one, severalLines, api.WaitSubmitted, tmuxtest.Patience).State)
	}
	joined := "[tester] (0): first line ⏎ second line ⏎     last: 日本語 🙂"
	whole := "[tester] (0):\n\n" + severalLines
	assert.Equal(t, joined+"\r", string(a.bytes()))
	assert.Equal(t, joined+"\n", string(c.bytes()))
	assert.Equal(t, "\x1b[200~"+whole+"\x1b[201~\r", string(b.bytes()))
	assert.Equal(t, []string{whole}, b.received())
	for _, one := range []*agent{a, b, c} {
		assert.Len(t, one.received(), 1, one.name)
	}

	t.Run("line_break", func(t *testing.T) {
		chat := r.chat([]*agent{a, b}, "line_break= / ")
		r.say(chat, severalLines)
		r.waitFor("both", func() bool { return len(a.received()) == 2 && len(b.received()) == 2 })
		assert.Equal(t, "[tester] (0): first line / second line /     last: 日本語 🙂", a.received()[1])
		assert.Equal(t, whole, b.received()[1], "a paste has its own line breaks")
	})
}

// If a program that took pastes reads lines that the terminal gathers, each line break would submit a message. So
// nothing is typed until the program takes pastes again.
func TestV3_PasteThatIsNoLongerTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.adopted("Ben", "--reply", "none", "--bracketed")
	tty := r.Fact(b.pane, "#{pane_tty}")
	r.Run("run-shell", "stty icanon echo <"+tty)
	id := r.post(b, severalLines)
	r.waitFor("held", func() bool { return r.last(id) == "held: screen not recognised" })
	r.stays(func() bool { return len(b.bytes()) == 0 })
	r.Run("run-shell", "stty -icanon -echo <"+tty)
	r.waitFor("delivered", func() bool { return strings.HasPrefix(r.last(id), "submitted") })
	assert.Len(t, b.received(), 1)
}

// If a program shows a text and never takes it, the sidecar presses Enter once and reports the message as
// uncertain. Nothing more is typed while the text stands in the composer.
func TestV4_RenderedAndNeverTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.adopted("Ada", "--stuck")
	receipt := r.send(a, "hello", api.WaitSubmitted, tmuxtest.Patience)
	assert.Equal(t, "uncertain: text was not seen to leave the composer", told(receipt))
	assert.Equal(t, "[tester] (0): hello\r", string(a.bytes()), "one Enter, and no second")

	// Nothing more is typed while the text stands there.
	next := r.post(a, "again")
	r.waitFor("held", func() bool { return strings.HasPrefix(r.last(next), "held") })
	r.stays(func() bool { return strings.HasPrefix(r.last(next), "held") })
	assert.Equal(t, "[tester] (0): hello\r", string(a.bytes()))
	assert.Equal(t, "held: our text stands in the composer", r.last(next))

	// A person clears it away, and the program takes Enter again.
	a.do(":stuck off")
	r.Run("send-keys", "-t", a.pane, "C-u")
	r.waitFor("delivered", func() bool { return strings.HasPrefix(r.last(next), "submitted") })
	assert.Equal(t, []string{"[tester] (0): again"}, a.received())
	for _, receipt := range r.receiptsOf(next) {
		if receipt.State == message.Submitted {
			require.NotEmpty(t, receipt.Evidence, "what it rests on")
		}
	}
}

// If a program swallows Enter, the sidecar does not press it again, and does not report the message as submitted.
func TestV4_SwallowedEnterIsUncertain(t *testing.T) {
	t.Parallel()
	inTheTable(t, "pane/core_test.go: nor does a line program", "pane/core_test.go: for too long")
	r := newRig(t)
	a := r.adopted("Ada", "--swallow-enter", "1", "--reply", "none")
	receipt := r.send(a, "hello", api.WaitSubmitted, tmuxtest.Patience)
	assert.Equal(t, message.Uncertain, receipt.State)
	assert.Empty(t, a.received())
	assert.Equal(t, 1, strings.Count(string(a.bytes()), "\r"))
}

// If a program does not read, the bytes of a text wait in its terminal unseen. No Enter and no other text may be
// put behind them.
func TestV4_DeafProgram(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.adopted("Ada", "--reply", "none")
	a.do(":deaf")
	receipt := r.send(a, "hello", api.WaitSubmitted, tmuxtest.Patience)
	assert.Equal(t, "uncertain: text was not seen in the composer", told(receipt))
	next := r.post(a, "again")
	r.waitFor("held", func() bool { return r.last(next) == "held: our text stands in the composer" })
	r.stays(func() bool { return r.last(next) == "held: our text stands in the composer" })
	a.do(":hear")
	r.WaitForText(a.pane, "ada> [tester] (0): hello")
	r.waitFor("held as a draft is", func() bool { return r.last(next) == "held: draft in the composer" })
	assert.Equal(t, "[tester] (0): hello", string(a.bytes()), "that alone, and no Enter")
	r.Run("send-keys", "-t", a.pane, "Enter") // a person reads it and sends it
	r.waitFor("delivered", func() bool { return strings.HasPrefix(r.last(next), "submitted") })
	assert.Equal(t, []string{"[tester] (0): hello", "[tester] (0): again"}, a.received())
}

// A composer that something covers after Enter does not prove that the text was taken.
func TestV4_CoveredComposerIsNotEmptied(t *testing.T) {
	t.Parallel()
	inTheTable(t, "pane/core_test.go: covered, whatever shows")
	r := newRig(t)
	a := r.adopted("Ada", "--stuck", "--reply", "none", "--change-on-paste", "alt@400ms")
	id := r.post(a, "hello")
	r.WaitForFact(a.pane, "#{alternate_on}", "1")
	r.stays(func() bool { return !strings.HasPrefix(r.last(id), "submitted") })
	a.do(":alt off")
	r.waitFor("the end", func() bool { return strings.HasPrefix(r.last(id), "uncertain") })
	assert.Empty(t, a.received())
}

// Nothing is typed at a password prompt, or at the agent's usual prompt on a terminal that does not echo.
func TestS20_PasswordPromptGetsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i, cooked := range []bool{false, true} {
		var flags []string
		if cooked {
			flags = []string{"--cooked"}
		}
		a := r.adopted(fmt.Sprintf("Ada%d", i), append(flags, "--reply", "none")...)
		a.do(":password")
		r.WaitForText(a.pane, "Password:")
		id := r.post(a, "hello")
		r.waitFor("held", func() bool { return r.last(id) == "held: terminal does not echo (a password prompt?)" })
		r.stays(func() bool { return len(a.bytes()) == 0 })
		r.Run("send-keys", "-l", "-t", a.pane, "secret")
		r.Run("send-keys", "-t", a.pane, "Enter")
		r.waitFor("delivered", func() bool { return strings.HasPrefix(r.last(id), "submitted") })
		assert.Equal(t, []string{"secret"}, a.texts(persona.EventPassword))
		assert.Equal(t, []string{"[tester] (0): hello"}, a.received())
	}
	// The usual prompt, on a terminal that does not echo.
	a := r.adopted("Ben", "--cooked", "--reply", "none")
	tty := r.Fact(a.pane, "#{pane_tty}")
	r.Run("run-shell", "stty -echo <"+tty)
	id := r.post(a, "hello")
	r.waitFor("held", func() bool { return r.last(id) == "held: terminal does not echo (a password prompt?)" })
	r.stays(func() bool { return len(a.bytes()) == 0 })
	r.Run("run-shell", "stty echo <"+tty)
	r.waitFor("delivered", func() bool { return strings.HasPrefix(r.last(id), "submitted") })
}

// A terminal that gathers lines has a limit for a line. A text within the limit arrives whole; a longer one is
// refused.
func TestS20_LineLimitOfTheTerminal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	head := "[tester] (0): "
	a := r.adopted("Ada", "--cooked", "--reply", "none")
	for _, n := range []int{5000, 4096 - len(head)} { // the second is one byte too long with its Enter
		assert.Equal(t, "failed: line too long", told(r.send(a, strings.Repeat("x", n), api.WaitSubmitted, tmuxtest.Patience)))
	}
	assert.Empty(t, a.bytes())
	most := strings.Repeat("0123456789", 500)[:4095-len(head)]
	assert.Equal(t, message.Submitted, r.send(a, most, api.WaitSubmitted, tmuxtest.Patience).State)
	assert.Equal(t, head+most+"\n", string(a.bytes()))
	wide := strings.Repeat("日", 1360) // three bytes each
	assert.Equal(t, message.Submitted, r.send(a, wide, api.WaitSubmitted, tmuxtest.Patience).State)
	assert.Equal(t, "failed: line too long", told(r.send(a, wide+"日日", api.WaitSubmitted, tmuxtest.Patience)))

	raw := r.adopted("Ben", "--reply", "none") // a raw terminal has no such limit
	assert.Equal(t, message.Submitted, r.send(raw, strings.Repeat("y", 5000), api.WaitSubmitted, tmuxtest.Patience).State)
	assert.Equal(t, head+strings.Repeat("y", 5000)+"\r", string(raw.bytes()))
	assert.Equal(t, "failed: body too long", told(r.send(raw, strings.Repeat("z", 70_000), api.WaitSubmitted, tmuxtest.Patience)))
}

// If a chat is paused or stopped while our text stands in a composer, Enter is not pressed. It is pressed when the
// chat is resumed; if the chat was stopped, the delivery is uncertain.
func TestR14_EnterNeedsLeave(t *testing.T) {
	t.Parallel()
	g := &gaps{}
	r := newRig(t, g.option())
	a, b := r.adopted("Ada", "--reply", "none"), r.adopted("Ben", "--reply", "none")
	for _, end := range []string{"pause", "stop"} {
		chat := r.chat([]*agent{a, b})
		before := len(b.bytes())
		g.plan(b.pane, "enter", func() { r.Run("copy-mode", "-t", b.pane) })
		said, err := r.client.Say(t.Context(), api.SayRequest{Chat: string(chat.ID), Text: "hello " + end})
		require.NoError(t, err)
		state := func() string { return r.trails(said.Message)[b.session.ID] }
		r.waitFor("held", func() bool { return state() == "held: pane in a mode" })
		text := "[tester] (0): hello " + end
		if end == "pause" {
			_, err = r.client.PauseChat(t.Context(), api.ChatRef{Chat: string(chat.ID)})
		} else {
			_, err = r.client.StopChat(t.Context(), api.ChatRef{Chat: string(chat.ID)})
		}
		require.NoError(t, err)
		r.Run("send-keys", "-X", "-t", b.pane, "cancel")
		r.stays(func() bool { return string(b.bytes()[before:]) == text })
		if end == "pause" {
			_, err = r.client.ResumeChat(t.Context(), api.ChatRef{Chat: string(chat.ID)})
			require.NoError(t, err)
			r.waitFor("delivered", func() bool { return state() == "submitted" || state() == "answered" })
			assert.Equal(t, text+"\r", string(b.bytes()[before:]), "pasted once")
			_, err = r.client.StopChat(t.Context(), api.ChatRef{Chat: string(chat.ID)})
			require.NoError(t, err)
			continue
		}
		r.waitFor("uncertain", func() bool { return strings.HasPrefix(state(), "uncertain") })
		assert.Equal(t, text, string(b.bytes()[before:]))
	}
}

// If a screen never holds still, the pauses between attempts to type grow, so that the journal does not fill with
// refusals.
func TestRefusalsAreSpacedOut(t *testing.T) {
	t.Parallel()
	inTheTable(t, "pane/core_test.go: tmux has just refused", "pane/core_test.go: TestCore_refusalsAreSpacedOut")
	var control atomic.Pointer[string]
	var n atomic.Int64
	r := newRig(t, inGap(func(_, moment string) {
		if path := control.Load(); path != nil && moment == "paste" {
			_ = persona.Control(*path, fmt.Sprintf(":say tick %d", n.Add(1)))
		}
	}))
	a := r.adopted("Ada", "--reply", "none")
	control.Store(&a.control)
	id := r.post(a, "hello")
	r.waitFor("a refusal", func() bool { return strings.Contains(r.last(id), "pane changed while we looked") })
	began, first := time.Now(), n.Load()
	r.waitFor("five more refusals", func() bool { return n.Load() >= first+5 })
	// Each attempt waits twice as long as the one before; the first waits for the quiet time.
	assert.GreaterOrEqual(t, time.Since(began), time.Second)
	trail := r.trail(id)
	assert.Less(t, len(trail), 20, "%v", trail)
	assert.Greater(t, len(trail), 6, "%v", trail)
	assert.Empty(t, a.bytes())
}

// A prompt alone is no answer, because a program may show its prompt before it has thought. A message stays
// submitted until the program says something, even much later, and those words are its answer.
func TestAnswered_notByAPromptAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, like := range [][]string{nil, {"--cooked"}, {"--bracketed"}} {
		a := r.adopted("Ada"+strings.Join(like, ""), append([]string{"--reply", "none"}, like...)...)
		id := r.post(a, "how much is it?")
		r.waitFor("submitted", func() bool { return strings.HasPrefix(r.last(id), "submitted") })
		r.waitFor("its prompt is back", func() bool { return a.count(persona.EventSilent) == 1 })
		r.looked(func() bool { return r.last(id) == "submitted" })
		waits := make(chan message.Receipt, 1)
		go func() {
			sent, err := r.client.Send(t.Context(), api.SendRequest{To: a.pane, Text: "and how much is that?", Wait: api.WaitAnswered, Timeout: tmuxtest.Patience})
			if err != nil {
				sent.Receipt.Reason = message.Reason(err.Error())
			}
			waits <- sent.Receipt
		}()
		r.waitFor("the second is there", func() bool { return a.count(persona.EventSilent) == 2 })
		r.looked(func() bool { return r.last(id) == "submitted" })
		a.do(":say seven")
		receipt := <-waits
		assert.Equal(t, message.Answered, receipt.State, receipt.Reason)
		assert.Equal(t, "seven", receipt.Words)
		assert.Equal(t, "submitted (answered)", r.last(id))
		// The next message is answered by the words after it.
		id = r.post(a, "thank you")
		r.waitFor("submitted", func() bool { return strings.HasPrefix(r.last(id), "submitted") })
		r.looked(func() bool { return r.last(id) == "submitted" })
		a.do(":say welcome")
		r.waitFor("answered", func() bool { return r.last(id) == "submitted (answered)" })
	}
}

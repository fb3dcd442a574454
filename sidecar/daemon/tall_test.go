package daemon_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
)

// A text taller than the screen is seen in its composer although the prompt has left the screen, and although the
// history may have the same text already.
func TestTextTallerThanTheScreen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ben := r.adopted("Ben", bracketed...)
	var lines []string
	for n := range 400 {
		lines = append(lines, fmt.Sprintf("line %d of a long text", n))
	}
	for range 3 {
		receipt := r.send(ben, strings.Join(lines, "\n"), api.WaitSubmitted, patience)
		assert.Equal(t, message.Submitted, receipt.State, "%v", receipt)
	}
	assert.Len(t, ben.received(), 3)
}

// If long texts look almost the same and the program's history is full of them, the echo of each is still
// recognised, and no piece of an echo is taken for the program's words.
func TestLongTextsThatLookAlike(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ada, ben := r.adopted("Ada", silent...), r.adopted("Ben", bracketed...)
	r.chat([]*agent{ada, ben}, unlimited...)
	var want []string
	for n := range 5 {
		text := sized(fmt.Sprintf("%d ", n), 10<<10, "\n")
		want = append(want, attributed("tester", 0, []string{text})...)
		receipt := r.send(ben, text, api.WaitSubmitted, patience)
		assert.Equal(t, message.Submitted, receipt.State, "%v", receipt)
	}
	r.waitFor("all is answered", func() bool { return r.open() == 0 })
	assert.Equal(t, want, ben.received())
	assert.Empty(t, r.turns(), "what was typed is not what was said")
	for _, receipt := range r.receipts() {
		assert.Empty(t, receipt.Words)
	}
}

// If a program redraws its composer row by row after Enter, the message does not count as submitted before all rows
// of the text are there. Rows that come late are not taken for the program's words.
func TestEchoDrawnAnewInPieces(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ada, ben := r.adopted("Ada", silent...), r.adopted("Ben", append(slices.Clone(bracketed), "--stuck", "--banner", "1")...)
	r.chat([]*agent{ada, ben}, unlimited...)
	id := r.post(ben, "one\ntwo\nthree")
	r.waitFor("Enter came", func() bool { return ben.count(persona.EventEnter) == 1 })
	ben.writes("\r\x1b[4A\x1b[J" + ben.prompt + "[tester] (0):\r\n\r\none\r\ntw")
	r.WaitForText(ben.pane, "\ntw\n")
	r.stays(func() bool { return !strings.HasPrefix(r.last(id), "submitted") })
	ben.writes("o\r\nthree\r\nwell\r\n" + ben.prompt)
	r.told(id, "submitted (answered)")
	assert.Contains(t, fmt.Sprint(r.evidenceOf(id, message.Submitted)), "echo: ")
	require.Len(t, r.turns(), 1)
	assert.Equal(t, "well", r.turns()[0].Body)
}

// If a program draws a text slowly, the sidecar waits for it as long as each look shows more of the text.
func TestSlowEchoIsWaitedFor(t *testing.T) {
	t.Parallel()
	inTheTable(t, "pane/core_test.go: drawn slowly", "pane/core_test.go: for too long")
	g := &gaps{}
	r := newRig(t, g.option())
	ben := r.adopted("Ben", append(slices.Clone(bracketed), "--deaf")...)
	for _, moment := range []string{"pasted", "entered"} {
		g.plan(ben.pane, moment, func() {})
	}
	id := r.post(ben, strings.Repeat("word ", 20)+"end")
	r.waitFor("the paste", func() bool { return g.came(ben.pane, "pasted") })
	ben.writes("[tester] (0):\r\n… \r\n… ")
	began := time.Now()
	n := 0
	r.waitFor("longer than the three seconds in which a text must show", func() bool {
		for ; n < 20 && time.Since(began) >= time.Duration(n)*200*time.Millisecond; n++ {
			ben.writes("word ")
		}
		require.Equal(t, "typed", r.last(id))
		return n == 20
	})
	ben.writes("end")
	r.waitFor("Enter", func() bool { return g.came(ben.pane, "entered") })
	ben.writes("\r\nwell\r\n" + ben.prompt)
	r.told(id, "submitted")
}

// If a program says the same long text again and again, each one is relayed whole.
func TestTheSameLongAnswerAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ada, ben := r.adopted("Ada", silent...), r.adopted("Ben", bracketed...)
	r.chat([]*agent{ada, ben}, unlimited...)
	const lines, times = 300, 4
	for n := range times {
		ada.do(":lines %d", lines)
		r.waitFor("Ben hears it", func() bool { return len(ben.received()) == n+1 })
	}
	var want []string
	for range times {
		want = append(want, attributed("Ada", 1, ada.said()[:1])...)
	}
	assert.Equal(t, want, ben.received())
}

// The empty rows that a line editor shows for line breaks at the end of a text are part of that text, and not the
// program's words.
func TestLineBreaksAtTheEndAreNoWords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ada, ben := r.adopted("Ada", bracketed...), r.adopted("Ben", bracketed...)
	chat := r.chat([]*agent{ada, ben})
	for range 3 {
		r.say(chat, "one\ntwo\n\n")
	}
	r.waitFor("both have them", func() bool { return len(ada.received()) >= 1 && len(ben.received()) >= 1 && r.open() == 0 })
	r.stays(func() bool { return len(r.turns()) == 0 })
}

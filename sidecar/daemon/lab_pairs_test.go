package daemon_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// All pairs of the four agents, also two of one kind, talk after one person has started them by hand in one
// directory. They share a home, so their transcripts lie beside each other. Several pairs talk at once, in chats with
// the usual limits, and each agent hears what its own partner said. Then one agent of each kind thinks for a minute.
func TestLab_W1_W2_W6_R31_AllPairsInOneDirectory(t *testing.T) {
	t.Parallel()
	l := newLab(t, labtest.Kinds)
	where := l.shared()
	all := map[labtest.Kind][]*labAgent{}
	for range 2 {
		for _, kind := range labtest.Kinds {
			all[kind] = append(all[kind], l.launch(kind, where...))
		}
	}
	for _, agents := range all {
		for _, a := range agents {
			a.WaitForIdle()
			a.says("Good morning.") // some need far longer for their first turn
		}
	}
	l.lab.Model.Converse("seed")
	const c, x, o, g = labtest.Claude, labtest.Codex, labtest.Opencode, labtest.Gemini
	for _, wave := range [][][2]*labAgent{
		{{all[c][0], all[c][1]}, {all[x][0], all[x][1]}, {all[o][0], all[o][1]}, {all[g][0], all[g][1]}},
		{{all[c][0], all[x][0]}, {all[o][0], all[g][0]}, {all[g][1], all[c][1]}, {all[x][1], all[o][1]}},
		{{all[o][0], all[c][0]}, {all[g][1], all[x][1]}},
	} {
		var talks []*conversation
		for _, pair := range wave {
			talks = append(talks, l.converse(pair[0], pair[1], long(5, 20)))
		}
		for _, talk := range talks {
			talk.check(t)
		}
	}
	names := map[string]bool{}
	for _, kind := range labtest.Kinds {
		for _, a := range all[kind][:2] {
			names[a.session().Name] = true
			l.until(a.Name+" rests", func() bool { return a.session().StateWhy == "" })
		}
	}
	assert.Len(t, names, 8, "each has a name of its own: %v", names)

	// One of each kind thinks for a minute: no spinner is taken for words.
	begun := time.Now()
	before := map[*labAgent]int{}
	for _, kind := range labtest.Kinds {
		a := all[kind][0]
		before[a] = len(a.relayed())
		chat, _ := l.alone(a)
		l.tellAll(chat, "[[stall]] [[say after a long thought]]")
		l.until("its work", func() bool { return a.session().State == message.Working })
	}
	for ; time.Since(begun) < time.Minute; time.Sleep(time.Second) { // all that time, and not only at its end
		for a, n := range before {
			require.Len(t, a.relayed(), n, "%s thinks", a.Name)
		}
	}
	for a, n := range before {
		assert.Len(t, a.relayed(), n, "%s thinks", a.Name)
		assert.Equal(t, message.Working, a.session().State, a.Name)
		l.lab.Model.Release(a.Name)
		assert.Equal(t, "after a long thought", a.relays(n+1))
	}
}

// conversation is a chat of two agents whose models talk. The second one begins.
type conversation struct {
	l             *labRig
	chat          message.Chat
	first, second *labAgent
	line, person  string // a person's first line, and that person
	turns         int    // of each
	names         [2]string
	heard, said   [2]int                          // how much before the chat
	words         func(a *labAgent, n int) string // the n-th words of an agent, from 1
}

// converse starts a chat of so many turns each way, with the usual limits and a person's
// first line.
func (l *labRig) converse(first, second *labAgent, turns int) *conversation {
	l.Helper()
	c := &conversation{l: l, first: first, second: second, line: "Let us talk, " + first.Name + " and " + second.Name + ".", person: "tester", turns: turns}
	c.begins()
	var err error
	c.chat, err = l.client.StartChat(l.Context(), api.StartChatRequest{Panes: []string{first.Pane, second.Pane}, Say: c.line, Turns: 2 * turns})
	require.NoError(l, err, "start chat")
	c.names = [2]string{c.chat.Participants[0].Name, c.chat.Participants[1].Name}
	return c
}

// begins notes how much each agent heard and said before the chat.
func (c *conversation) begins() {
	c.words = func(a *labAgent, n int) string { return labtest.Talk("seed", a.Name, n) }
	for i, a := range []*labAgent{c.first, c.second} {
		c.heard[i] = len(a.Received())
		for _, words := range a.Answers() {
			if strings.HasPrefix(words, a.Name+"-") { // as Talk begins
				c.said[i]++
			}
		}
	}
}

// check waits for the end of a conversation and asserts that each model received what the
// other said, whole, once and in order, behind the attribution, and nothing else.
func (c *conversation) check(t *testing.T) {
	t.Helper()
	heard := func(i int) []string { return [2]*labAgent{c.first, c.second}[i].heard()[c.heard[i]:] }
	seen := func() any { return fmt.Sprintf("%s: %q, %s: %q", c.first.Name, heard(0), c.second.Name, heard(1)) }
	waitUpTo(t, labtest.Patience+time.Duration(c.turns)*5*time.Second, "the end of the chat of "+c.line, func() bool {
		return c.l.current(c.chat).State == message.ChatOver || t.Failed()
	})
	c.l.until("the last words to arrive", func() bool {
		return len(heard(1)) == c.turns+1 && len(heard(0)) == c.turns
	}, seen)
	c.second.WaitForIdle()

	said := func(i int) (words []string) {
		a := [2]*labAgent{c.first, c.second}[i]
		for n := range c.turns {
			words = append(words, a.noted(c.words(a, c.said[i]+n+1)))
		}
		return words
	}
	want := func(to *labAgent, all []string) (typed []string) {
		for _, text := range all {
			typed = append(typed, to.typed(text))
		}
		return typed
	}
	ofFirst := append(attributed(c.person, 0, []string{c.line}), attributed(c.names[0], 1, said(0))...)
	assert.Equal(t, want(c.second, ofFirst), heard(1), "what %s heard", c.second.Name)
	assert.Equal(t, want(c.first, attributed(c.names[1], 2, said(1))), heard(0), "what %s heard", c.first.Name)
	for i, a := range []*labAgent{c.first, c.second} {
		assert.Equal(t, said(i), c.l.bodiesOf(c.chat, a), "what was relayed of %s, byte for byte", a.Name)
	}
	last := map[message.ID]message.Receipt{}
	for _, r := range c.l.receiptsIn(c.chat) {
		last[r.Delivery] = r
	}
	assert.Len(t, last, 2*c.turns+1)
	for _, r := range last {
		assert.Contains(t, []message.ReceiptState{message.Submitted, message.Answered}, r.State, told(r))
	}
}

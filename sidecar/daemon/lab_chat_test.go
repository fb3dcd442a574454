package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Two of each, and one pair across, started by hand by one person in one directory: one
// home, so that their transcripts lie beside each other. Each pair talks in a chat with the
// usual limits, all at once, and each hears what its own other one said. Beside them are two
// whose models think for a minute.
func TestLab_W1_W2_W6_R31_PairsInOneDirectory(t *testing.T) {
	l := newLab(t, labKinds)
	begun := time.Now()
	where := l.shared()
	var all []*labAgent
	for _, kind := range []labtest.Kind{
		labtest.Claude, labtest.Codex, labtest.Claude, labtest.Claude, labtest.Codex, labtest.Codex, labtest.Claude, labtest.Codex,
	} {
		all = append(all, l.launch(kind, where...))
	}
	for _, a := range all {
		a.WaitForIdle()
	}
	l.lab.Model.Converse("seed")

	for _, a := range all[6:] {
		chat, _ := l.alone(a)
		l.tellAll(chat, "[[stall]] [[say after a long thought]]")
	}
	var talks []*conversation
	for i := 0; i < 6; i += 2 {
		talks = append(talks, l.converse(all[i], all[i+1], 10))
	}
	for _, c := range talks {
		c.check(t)
	}
	names := map[string]bool{}
	for _, a := range all[:6] {
		names[a.session().Name] = true
		assert.Empty(t, a.session().StateWhy)
		for _, text := range a.heard() {
			assert.NotContains(t, text, "long thought")
		}
	}
	assert.Len(t, names, 6, "each has a name of its own: %v", names)

	// The same minute: nothing that spun was taken for words.
	for _, a := range all[6:] {
		assert.Empty(t, a.relayed(), "%s thinks", a.Name)
	}
	for time.Since(begun) < time.Minute {
		time.Sleep(time.Second)
	}
	for _, a := range all[6:] {
		assert.Empty(t, a.relayed(), "%s still thinks", a.Name)
		assert.Equal(t, message.Working, a.session().State, a.Name)
		l.lab.Model.Release(a.Name)
		assert.Equal(t, "after a long thought", a.relays(1))
	}
}

// Codex with the background process that it starts where nobody forbids it: both of a pair
// are in that one process, which has both transcripts open.
func TestLab_W1_CodexInOneBackgroundProcess(t *testing.T) {
	l := newLab(t, []labtest.Kind{labtest.Codex})
	where := append(l.shared(), labtest.Daemon())
	a, b := l.agent(labtest.Codex, where...), l.agent(labtest.Codex, where...)
	l.lab.Model.Converse("seed")
	l.until("a background process", func() bool {
		return slices.ContainsFunc(append(a.Processes(), b.Processes()...), func(pid int) bool {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			return strings.Contains(string(line), "app-server")
		})
	})

	const turns = 10
	line := "Let us talk, you two."
	chat, err := l.client.StartChat(l.Context(), api.StartChatRequest{Panes: []string{a.Pane, b.Pane}, Say: line, Turns: 2 * turns})
	require.NoError(t, err)
	l.until("the end of the chat", func() bool { return l.current(chat).State == message.ChatOver }, func() any { return a.Received() })

	// Their models have one address: what tells them apart is the conversation.
	threads := map[string]*[2][]string{} // what each has heard and said
	var order []string
	l.until("the last answer", func() bool {
		return !slices.ContainsFunc(a.Exchanges(), func(x labtest.Exchange) bool { return !x.Over }) && len(a.Received()) == 2*turns+1
	}, func() any { return a.Received() })
	for _, x := range a.Conversation() {
		if threads[x.Thread] == nil {
			threads[x.Thread] = &[2][]string{}
			order = append(order, x.Thread)
		}
		of := threads[x.Thread]
		of[0], of[1] = append(of[0], x.User...), append(of[1], x.Answer)
	}
	require.Len(t, order, 2, "%v", threads)
	require.NotEqual(t, a.explain().Transcript, b.explain().Transcript)
	require.NotEmpty(t, holders(a.explain().Transcript))
	assert.Equal(t, holders(a.explain().Transcript), holders(b.explain().Transcript), "one process has both open")
	assert.NotContains(t, holders(a.explain().Transcript), fmt.Sprint(a.session().Foreground.PID), "and it is not the one in the pane")
	second, first := threads[order[0]], threads[order[1]] // the person spoke to the second
	names := []string{a.session().Name, b.session().Name}
	assert.Equal(t, attributed("tester", 0, []string{line})[0], second[0][0])
	assert.Equal(t, trimmed(attributed(names[0], 1, first[1])), second[0][1:], "what the second heard is what the first said")
	assert.Equal(t, trimmed(attributed(names[1], 2, second[1][:turns])), first[0], "and the other way round")
	assert.Equal(t, first[1], a.relayed())
	assert.Equal(t, second[1][:turns], b.relayed())
}

// holders are the processes that have a file open.
func holders(file string) (pids []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, fd := range all {
		if to, err := os.Readlink(fd); err == nil && to == file {
			pids = append(pids, strings.Split(fd, "/")[2])
		}
	}
	return slices.Compact(pids)
}

// conversation is a chat of two agents whose models talk.
type conversation struct {
	l             *labRig
	chat          message.Chat
	first, second *labAgent
	line, person  string // who said it
	turns         int    // of each
	names         [2]string
}

// converse starts a chat of so many turns each way, with the usual limits and a person's
// first line.
func (l *labRig) converse(first, second *labAgent, turns int) *conversation {
	l.Helper()
	c := &conversation{l: l, first: first, second: second, line: "Let us talk, " + first.Name + " and " + second.Name + ".", person: "tester", turns: turns}
	var err error
	c.chat, err = l.client.StartChat(l.Context(), api.StartChatRequest{Panes: []string{first.Pane, second.Pane}, Say: c.line, Turns: 2 * turns})
	require.NoError(l, err, "start chat")
	c.names = [2]string{c.chat.Participants[0].Name, c.chat.Participants[1].Name}
	return c
}

// check waits for the end of a conversation and asserts that each model received what the
// other said, whole, once and in order, behind the attribution, and nothing else.
func (c *conversation) check(t *testing.T) {
	t.Helper()
	seen := func() any {
		return fmt.Sprintf("%s: %q, %s: %q", c.first.Name, c.first.heard(), c.second.Name, c.second.heard())
	}
	waitUpTo(t, labtest.Patience+time.Duration(c.turns)*5*time.Second, "the end of the chat of "+c.line, func() bool {
		return c.l.current(c.chat).State == message.ChatOver || t.Failed()
	})
	c.l.until("the last words to arrive", func() bool {
		return len(c.second.Received()) == c.turns+1 && len(c.first.Received()) == c.turns
	}, seen)
	c.second.WaitForIdle()

	said := func(a *labAgent) (words []string) {
		for n := range c.turns {
			words = append(words, a.noted(labtest.Talk("seed", a.Name, n+1)))
		}
		return words
	}
	want := func(to *labAgent, all []string) (typed []string) {
		for _, text := range all {
			typed = append(typed, to.typed(text))
		}
		return typed
	}
	ofFirst := append(attributed(c.person, 0, []string{c.line}), attributed(c.names[0], 1, said(c.first))...)
	assert.Equal(t, want(c.second, ofFirst), c.second.heard(), "what %s heard", c.second.Name)
	assert.Equal(t, want(c.first, attributed(c.names[1], 2, said(c.second))), c.first.heard(), "what %s heard", c.first.Name)
	for _, a := range []*labAgent{c.first, c.second} {
		assert.Equal(t, said(a), c.l.bodiesOf(c.chat, a), "what was relayed of %s, byte for byte", a.Name)
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

// bodiesOf are the turns of an agent that became messages of a chat.
func (l *labRig) bodiesOf(chat message.Chat, a *labAgent) (all []string) {
	l.Helper()
	i := slices.IndexFunc(l.sessionsOf(chat), func(s message.Session) bool { return s.Pane == a.Pane })
	require.GreaterOrEqual(l, i, 0, "%s is in the chat", a.Name)
	session := l.sessionsOf(chat)[i].ID
	for _, m := range l.turns() {
		if m.Thread == chat.ID && m.From.Session == session {
			all = append(all, m.Body)
		}
	}
	return all
}

func (l *labRig) sessionsOf(chat message.Chat) []message.Session {
	l.Helper()
	detail, err := l.client.ShowChat(l.Context(), string(chat.ID))
	require.NoError(l, err)
	return detail.Sessions
}

// receiptsIn are all receipts of a chat.
func (l *labRig) receiptsIn(chat message.Chat) (all []message.Receipt) {
	l.Helper()
	for _, e := range l.events() {
		if e.Receipt != nil && e.Chat == chat.ID {
			all = append(all, *e.Receipt)
		}
	}
	return all
}

// attributed are texts as they are typed into a pane.
func attributed(name string, number int, texts []string) (all []string) {
	for _, text := range texts {
		all = append(all, fmt.Sprintf("[%s] (%d):\n\n%s", name, number, text))
	}
	return all
}

func trimmed(texts []string) (all []string) {
	for _, text := range texts {
		all = append(all, strings.TrimSpace(text))
	}
	return all
}

// shared are the options of agents that one person starts in one directory.
func (l *labRig) shared() []labtest.Option {
	l.Helper()
	work := filepath.Join(l.lab.Dir, "work")
	require.NoError(l, os.MkdirAll(work, 0o700))
	return []labtest.Option{labtest.Home(filepath.Join(l.lab.Dir, "home")), labtest.Work(work)}
}

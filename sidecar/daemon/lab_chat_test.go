package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Codex runs with the background process that it starts unless that is forbidden: both agents of a pair are in that
// one process, which has both transcripts open.
func TestLab_W1_CodexInOneBackgroundProcess(t *testing.T) {
	t.Parallel()
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

	turns := long(5, 10)
	line := "Let us talk, you two."
	chat, err := l.client.StartChat(l.Context(), api.StartChatRequest{Panes: []string{a.Pane, b.Pane}, Say: line, Turns: 2 * turns})
	require.NoError(t, err)
	l.until("the end of the chat", func() bool { return l.current(chat).State == message.ChatOver }, func() any { return a.Received() })

	// Their models have one address: only the conversation tells them apart.
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

// bodiesOf are the turns of an agent that became messages of a chat, as texts.
func (l *labRig) bodiesOf(chat message.Chat, a *labAgent) (all []string) {
	l.Helper()
	i := slices.IndexFunc(l.sessionsOf(chat), func(s message.Peer) bool { return s.Pane == a.Pane })
	require.GreaterOrEqual(l, i, 0, "%s is in the chat", a.Name)
	session := l.sessionsOf(chat)[i].ID
	for _, m := range l.turns() {
		if m.Thread == chat.ID && m.From.Peer == session {
			all = append(all, m.Body)
		}
	}
	return all
}

func (l *labRig) sessionsOf(chat message.Chat) []message.Peer {
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

// attributed are texts as they are typed into a pane, below their attribution.
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

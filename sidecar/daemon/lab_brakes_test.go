package daemon_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Two agents look for an error and go through a review, in short lines, with "Done." and "Good
// catch, thanks." among them: with all brakes at their defaults every turn arrives, and nothing
// pauses or holds anything. The same two, once they only thank each other, are paused.
func TestLab_B3_TechnicalExchangeIsLeftAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t, []labtest.Kind{labtest.Claude, labtest.Codex})
	first, second := l.launch(labtest.Claude), l.launch(labtest.Codex)
	for _, a := range []*labAgent{first, second} {
		a.WaitForIdle()
		a.says("Good morning.")
	}

	const turns = 10
	work := slices.Concat(dialogue(t, "work-debug-hypotheses"), dialogue(t, "work-code-review"))[:2*turns]
	words := l.perform(first, second, work)
	talk := l.converse(first, second, turns)
	talk.words = words
	talk.check(t)
	for _, r := range l.receiptsIn(talk.chat) {
		assert.NotContains(t, []message.Reason{
			message.AtDepthLimit, message.AtRateLimit, message.AtOwnMinute, message.AtOwnHour, message.AtByteLimit, message.AtFanOut, message.BecameEmpty, message.Paused, message.AwaitingApproval,
		}, r.Reason, told(r))
	}
	for _, e := range l.events() {
		if e.Change != nil && e.Change.ID == talk.chat.ID {
			assert.NotEqual(t, message.ChatPaused, e.Change.State, e.Change.Why)
		}
	}

	thanks := dialogue(t, "empty-thanks-loop")
	for _, a := range []*labAgent{first, second} {
		a.WaitForIdle()
	}
	l.perform(first, second, thanks)
	idle := l.converse(first, second, len(thanks))
	l.until("the chat is paused", func() bool { return l.current(idle.chat).State == message.ChatPaused }, func() any { return second.heard() })
	assert.Contains(t, l.current(idle.chat).Why, "nothing new is said")
	l.until("the last is held", func() bool { return len(l.heldFor(message.BecameEmpty)) == 1 })
	said := len(l.bodiesOf(idle.chat, first)) + len(l.bodiesOf(idle.chat, second))
	assert.Less(t, said, len(thanks))
	t.Logf("%d turns of work went on, thanks were paused at turn %d: %s", len(work), said, l.current(idle.chat).Why)
}

// perform has the models of two agents say the lines of a dialogue from now on; the second agent says the first line.
// words are the lines of each.
func (l *labRig) perform(first, second *labAgent, lines []string) (words func(a *labAgent, n int) string) {
	l.Helper()
	words = func(a *labAgent, n int) string {
		if at := 2 * (n - 1); a == second && at < len(lines) {
			return lines[at]
		} else if a == first && at+1 < len(lines) {
			return lines[at+1]
		}
		return ""
	}
	before := map[*labAgent]int{first: len(first.Received()), second: len(second.Received())}
	l.lab.Model.Script(func(x labtest.Exchange) (labtest.Reply, bool) {
		for a, n := range before {
			if x.Agent == a.Name && x.Side == "" {
				text := words(a, x.Earlier+len(x.User)-n)
				return labtest.Reply{Text: text}, text != ""
			}
		}
		return labtest.Reply{}, false
	})
	return words
}

// dialogue are the bodies of one of the project's labelled dialogues.
func dialogue(t *testing.T, name string) (bodies []string) {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "testdata", "dialogues", name+".jsonl"))
	require.NoError(t, err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var m struct{ Body string }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &m), name)
		bodies = append(bodies, m.Body)
	}
	return bodies
}

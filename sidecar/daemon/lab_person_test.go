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
	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A person keeps writing in an agent's composer while it talks with another one: letter by letter, at a terminal of
// their own, with gaps. A draft that they take back is gone, a draft that they send goes alone and as they wrote it,
// and no answer is cut off. The other agent's words come in the gaps, each once and in order.
func TestLab_S5_V5_H23_APersonTypesAllTheTime(t *testing.T) {
	eachLabKind(t, func(t *testing.T, kind labtest.Kind) {
		peer := labtest.Codex
		if kind == peer {
			peer = labtest.Claude
		}
		l := newLab(t, []labtest.Kind{kind, peer})
		person := l.person(l.panes()[0]) // before the agents come: Gemini CLI does not clear up behind a change of size
		a, b := l.agent(kind), l.agent(peer)
		for _, one := range []*labAgent{a, b} {
			one.says("Good morning.") // as it goes to its first conversation, opencode loses keys
		}
		heard := [2]int{len(a.Received()), len(b.Received())}
		l.lab.Model.Converse("seed")
		line := "Let us talk, while somebody writes."
		l.rig.Run("select-window", "-t", a.Pane)
		w := &scribe{labAgent: a, person: person}
		chat, err := l.client.StartChat(l.Context(), api.StartChatRequest{
			Panes: []string{a.Pane, b.Pane}, Say: line, Set: map[string]string{"depth": "1000", "rate": "1000"},
		})
		require.NoError(t, err)
		names := []string{chat.Participants[0].Name, chat.Participants[1].Name}
		session, other := a.session().ID, b.session().ID
		// The chat goes on until enough was said in it and enough was written beside it: the machine decides which
		// takes longer.
		closing := false
		for end := time.Now().Add(time.Duration(long(4, 12)) * time.Minute); l.current(chat).State != message.ChatOver; {
			require.True(t, time.Now().Before(end), "the end of the chat")
			w.write()
			if turns := len(l.bodiesOf(chat, a)) + len(l.bodiesOf(chat, b)); !closing && w.drafts >= 3 && turns >= long(12, 100) {
				_, err := l.client.StopChat(l.Context(), api.ChatRef{Chat: string(chat.ID), After: true})
				require.NoError(t, err)
				closing = true
			}
		}

		var arrived, mixed []string
		l.until("the end of all deliveries", func() bool {
			arrived, mixed = nil, nil
			last, more := map[message.ID]message.Receipt{}, map[message.ID]bool{}
			for _, r := range l.receiptsIn(chat) {
				if r.Target == session {
					last[r.Message] = r
					more[r.Message] = more[r.Message] || slices.ContainsFunc(r.Evidence, func(e message.Evidence) bool { return strings.HasSuffix(e.Says, "and more with it") })
				}
			}
			lost := 0
			for _, m := range l.turns() {
				switch r := last[m.ID]; {
				case m.Thread != chat.ID || m.From.Peer != other || r.State == "":
				case r.State == message.Submitted || r.State == message.Answered:
					arrived = append(arrived, a.typed(attributed(names[1], 2, []string{m.Body})[0]))
					if more[m.ID] {
						mixed = append(mixed, arrived[len(arrived)-1])
					}
				case r.State == message.Uncertain:
					lost++
				case r.State == message.Typed || r.State == message.Queued:
					return false
				}
			}
			assert.LessOrEqual(t, lost, w.spoilt, "what nobody spoilt has arrived")
			return true
		})
		a.WaitForIdle()
		t.Logf("%s: %d drafts, %d of them sent, beside %d messages; %d were spoilt by hand", a.Name, w.drafts, len(w.sent), len(arrived), w.spoilt)
		assert.GreaterOrEqual(t, len(arrived), 4)
		assert.GreaterOrEqual(t, w.drafts, 3)

		sent := slices.Clone(w.sent)
		for _, text := range a.heard()[heard[0]:] {
			if len(sent) > 0 && text == sent[0] {
				sent = sent[1:]
				continue
			}
			assert.NotContains(t, text, "a draft of mine", "nobody else has sent it")
			for rest := text; rest != ""; { // several that have waited come at once
				require.NotEmpty(t, arrived, "nobody said %q", rest)
				after, ok := strings.CutPrefix(rest, arrived[0])
				require.True(t, ok, "next is %q, and heard was %q", arrived[0], rest)
				rest = strings.TrimSpace(after)
				if strings.HasPrefix("a draft of mine", rest) && slices.Contains(mixed, arrived[0]) {
					rest = "" // the letters that followed our text before its Enter went with it, and the receipt says so
				}
				arrived = arrived[1:]
			}
		}
		assert.Empty(t, arrived, "each was heard")
		assert.Empty(t, sent, "and each draft that was sent")
		for _, x := range append(a.Conversation(), b.Conversation()...) {
			assert.False(t, x.Cut, "an answer was cut off: %q", x.Answer)
		}
		want := []string{line}
		want = append(attributed("tester", 0, want), attributed(names[0], 1, l.bodiesOf(chat, a))...)
		rest := strings.Join(b.heard()[heard[1]:], "\n\n")
		for _, text := range want {
			at := strings.Index(rest, b.typed(text))
			if at != 0 { // the last may have come too late for the chat
				assert.Empty(t, rest, "heard by the other one beside what was said")
				break
			}
			rest = strings.TrimSpace(rest[len(b.typed(text)):])
		}
		assert.Empty(t, rest, "heard by the other one beside what was said")
	})
}

// scribe is a person who writes into an agent's composer.
type scribe struct {
	*labAgent
	person *person
	drafts int
	sent   []string
	spoilt int // messages of ours that stood among the letters, and were cleared with them
}

// write writes a draft, sends it or takes it back, and rests.
func (w *scribe) write() {
	w.l.Helper()
	w.drafts++
	draft := fmt.Sprintf("a draft of mine, number %d", w.drafts)
	for _, letter := range draft {
		w.person.keys(string(letter))
		time.Sleep(30 * time.Millisecond) // as fast as one writes
	}
	w.WaitForText(draft[len("a draft of mine, "):])
	now := w.explain()
	if w.drafts%3 == 0 && now.State == message.Draft && now.Composer.Text == draft {
		before := len(w.Received())
		w.WaitForStill(labtest.Stillness)
		w.person.keys("\r")
		w.sent = append(w.sent, draft)
		w.hears(before + 1)
	} else {
		w.person.keys(strings.Repeat("\x7f", len(draft)))
		w.l.until("the composer without the draft", func() bool { return !strings.Contains(w.explain().Composer.Text, "draft") })
	}
	time.Sleep(2500 * time.Millisecond) // the gap: for up to two seconds after a key nothing is typed
	for end := time.Now().Add(5 * time.Second); w.explain().State == message.Draft; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) { // our text got between the first letters, so our Enter cannot follow
			w.spoilt++
			w.clear()
		}
	}
}

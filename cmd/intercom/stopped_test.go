package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// While everything is stopped, no list recommends a command for a paused chat that would be refused.
func TestPausedChat_whileEverythingIsStopped(t *testing.T) {
	chat := message.Chat{ID: message.NewID(), Name: "plans", State: message.ChatPaused, Why: "paused by ada"}
	b := &fakeBackend{
		chats: []message.Chat{chat}, detail: api.ChatDetail{Chat: chat},
		status: api.Status{Chats: []message.Chat{chat}},
		log:    []message.Event{{Seq: 1, Kind: "chat", Chat: chat.ID, Change: &chat}},
	}
	w := newWorld(t)
	w.serve(t, b)
	for _, line := range [][]string{{"status"}, {"chat", "list"}, {"chat", "show", "plans"}, {"log"}} {
		b.mu.Lock()
		b.status.Stopped = false
		b.mu.Unlock()
		r := w.run(line...)
		assert.Contains(t, r.out, "→ intercom chat resume plans", line)
		b.mu.Lock()
		b.status.Stopped = true
		b.mu.Unlock()
		r = w.run(line...)
		assert.Contains(t, r.out, "→ intercom chat resume --all", line)
		assert.NotContains(t, r.out, "resume plans", line)
	}
	// `chat resume --all` names the chats that it resumes, says that messages are typed again, or that nothing was stopped.
	b.mu.Lock()
	b.status.Stopped = false
	b.mu.Unlock()
	assert.Equal(t, "chat plans "+chat.ID.Short()+" resumed\nmessages are typed again\n", w.run("chat", "resume", "--all").out)
	b.mu.Lock()
	b.chats, b.status.Stopped = nil, true
	b.mu.Unlock()
	assert.Equal(t, "messages are typed again\n", w.run("chat", "resume", "--all").out)
	b.mu.Lock()
	b.status.Stopped = false
	b.mu.Unlock()
	assert.Regexp(t, `^nothing was stopped; `, w.run("chat", "resume", "--all").out)

	r := w.run("chat", "pause", "--all")
	assert.Contains(t, r.out, "everything is stopped: nothing is typed until you run: intercom chat resume --all")
}

package repository

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A writer that makes its file by a link has two names for it for a moment. The sidecar waits for that. A file
// that was refused for two names or for its permissions is read again once these have changed, though nothing
// was written to it.
func TestH54_H59_twoNamesForAMoment(t *testing.T) {
	t.Parallel()
	d := repo(t, "repo")
	drop(t, d, "message-1-from-linked.json", `{"message_type":"update","message":{"body":"x"}}`)
	require.NoError(t, os.Link(d.File("message-1-from-linked.json"), d.at(".draft")))
	b := newBox(&Peers{Now: time.Now}, d, message.Peer{})
	_, text, err := d.Read("message-1-from-linked.json")
	b.unread(t.Context(), Entry{Name: "message-1-from-linked.json"}, text, err)
	assert.Contains(t, b.tries, "message-1-from-linked.json", "it is tried again")

	h := newHouse(t)
	h.run()
	defer h.end()
	name, err := h.target.Put(letter(h.asker, h.target, "update"), "linked")
	require.NoError(t, err)
	h.until(func() bool { return h.marked(name) })

	text, err = os.ReadFile(h.target.File(name))
	require.NoError(t, err)
	draft, late := h.target.at(".draft"), "message-20251014T054200Z-from-claude-asker-late.json"
	require.NoError(t, os.WriteFile(draft, []byte(strings.Replace(string(text), `"message_id": "`, `"message_id": "x`, 1)), 0o600))
	require.NoError(t, os.Link(draft, h.target.File(late)))
	h.until(func() bool {
		h.later.Add(int64(tryEvery))
		log, _ := os.ReadFile(h.target.at(logName))
		return strings.Contains(string(log), "Refused: .aea/"+late+" -> it has more than one name")
	})
	assert.False(t, h.marked(late))
	require.NoError(t, os.Remove(draft))
	h.until(func() bool { return h.marked(late) })
}

// A half-written file that its author removes is looked for once more, not at each tick from then on.
func TestLook_forgetsATriedFileThatHasGone(t *testing.T) {
	t.Parallel()
	d := repo(t, "repo")
	const name = "message-1-from-half.json"
	drop(t, d, name, `{"message_type":`)
	now := time.Now()
	b := newBox(&Peers{Now: func() time.Time { return now }}, d, message.Peer{})
	_, text, err := d.Read(name)
	b.unread(t.Context(), Entry{Name: name}, text, err)
	require.Contains(t, b.tries, name)
	require.NoError(t, os.Remove(d.File(name)))
	now = now.Add(rescan)
	b.look(t.Context())
	assert.Empty(t, b.tries)
}

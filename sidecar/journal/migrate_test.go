package journal

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A journal of schema 1, as the first version wrote it: two chats, one of them ended, with
// deliveries in every state. The columns and tables added since schema 2 hold what a journal would
// have that began with schema 2.
func TestMigrate_schema1(t *testing.T) {
	dir := private(t)
	golden, err := os.ReadFile(filepath.Join("testdata", "schema1.db"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, fileName), golden, 0o600))
	const on, over message.ID = "01930000-0000-7000-8000-0000000000c1", "01930000-0000-7000-8000-0000000000c2"

	j := mustOpen(t, dir)
	assert.Empty(t, j.Notice())
	assert.Equal(t, len(migrations()), version(t, j))
	assert.Equal(t, "ok", scalar(t, j, "PRAGMA integrity_check"))
	assert.Equal(t, "2", scalar(t, j, "PRAGMA auto_vacuum"), "its space cannot be given back")
	assert.Len(t, events(t, j, Query{}), 53)
	assert.Len(t, events(t, j, Query{Search: "masked"}), 1)

	r, err := j.Restore(t.Context())
	require.NoError(t, err)
	assert.False(t, r.Stopped)
	assert.Equal(t, map[message.ID]Depth{
		"ada": {Last: 1, Cause: -1}, "ben": {Last: 5, Cause: -1}, // spoke last
		"dan": {Last: 1, Cause: 7}, // a person's message was typed, but not taken yet
		"eve": {Last: 1, Cause: 3}, // one was taken, and later an agent's message was typed
	}, r.Depths)
	assert.Equal(t, map[message.ID]int{on: 3}, r.Taken)
	assert.Equal(t, []message.ID{"new-2-ada", "single-1-ben", "word-dan", "later-eve"}, ids(r.Pending), "submitted is not under way, nor what waits for one who has gone")
	assert.True(t, r.Pending[0].Delivery.Typed)
	require.Len(t, r.Undecided, 1)
	assert.Equal(t, message.ID("new-3"), r.Undecided[0].ID)

	waiting, err := j.Waiting(t.Context(), "")
	require.NoError(t, err)
	assert.Equal(t, []message.ID{"old-1-cyd", "new-2-ada", "single-1-ben", "word-dan", "later-eve"}, ids(waiting))
	held, err := j.Held(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 3, held)

	stats, err := j.Stats(t.Context(), over)
	require.NoError(t, err)
	assert.Equal(t, message.Stats{
		Chat: over, Turns: 2, Depth: 2, LatencyP50: 30 * time.Millisecond, LatencyP99: 50 * time.Millisecond,
		Deliveries: map[message.ReceiptState]int{message.Answered: 1, message.Submitted: 1, message.Held: 1},
	}, stats)
	stats, err = j.Stats(t.Context(), on)
	require.NoError(t, err)
	assert.Equal(t, message.Stats{
		Chat: on, Turns: 3, Depth: 5, LatencyP50: 50 * time.Millisecond, LatencyP99: 50 * time.Millisecond,
		Deliveries: map[message.ReceiptState]int{message.Submitted: 1, message.Held: 1},
	}, stats)
	chat, err := j.Chat(t.Context(), "TALK")
	require.NoError(t, err)
	assert.Equal(t, on, chat.ID)

	// A delivery that was submitted before can still be answered.
	mustCommit(t, j, message.Step{Receipts: []message.Receipt{{Delivery: "new-1-ben", Message: "new-1", Target: "ben", State: message.Answered}}})
	require.NoError(t, j.Close())

	// The same events, written by this version from the start, lead to the same tables; except that
	// in those days more messages counted as the last words of a session
	// (message.Envelope.EndsTurn).
	fresh := replay(t, dir)
	for _, query := range []string{
		`SELECT group_concat(id || ' ' || target || ' ' || state || ' ' || open || typed || parked, x'0a') FROM (SELECT * FROM deliveries ORDER BY id)`,
		`SELECT group_concat(id || ' ' || present, x'0a') FROM (SELECT * FROM sessions ORDER BY id)`,
		`SELECT group_concat(id || ' ' || ended || ' ' || name || ' ' || turns || ' ' || depth || ' ' || waits, x'0a') FROM (SELECT * FROM chats ORDER BY id)`,
		`SELECT group_concat(chat || ' ' || state || ' ' || n, x'0a') FROM (SELECT * FROM tallies WHERE n > 0 ORDER BY 1)`,
		`SELECT group_concat(chat || ' ' || slot || ' ' || ns, x'0a') FROM (SELECT * FROM waits ORDER BY 1)`,
	} {
		j = mustOpen(t, dir)
		assert.Equal(t, scalar(t, fresh, query), scalar(t, j, query))
		require.NoError(t, j.Close())
	}
}

// A journal of schema 4, in which each delivery had its text in its body, subject included. Now the
// subject is stored once, and a text that an older version composed differently is marked to be
// typed as it is. Package pane tests that the text is the same.
func TestMigrate_schema4(t *testing.T) {
	dir := private(t)
	golden, err := os.ReadFile(filepath.Join("testdata", "schema4.db"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, fileName), golden, 0o600))
	text, err := os.ReadFile(filepath.Join("testdata", "schema4.json"))
	require.NoError(t, err)
	var made []struct {
		Delivery     message.ID
		Why, Subject string
		State        message.ReceiptState
	}
	require.NoError(t, json.Unmarshal(text, &made))

	j := mustOpen(t, dir)
	assert.Empty(t, j.Notice())
	assert.Equal(t, "ok", scalar(t, j, "PRAGMA integrity_check"))
	var asIs []string
	for _, one := range made {
		d, err := j.Delivery(t.Context(), one.Delivery)
		require.NoError(t, err)
		assert.Equal(t, one.Subject, d.Message.Subject, one.Why)
		if d.AsIs {
			asIs = append(asIs, one.Why)
		}
	}
	assert.Equal(t, []string{
		"held, with blanks in the subject", "held, with a blank subject",
		"held by a policy, formatted", "held by a policy, formatted to the same body",
		"held, edited", "held, edited, without the subject",
	}, asIs)
	var other []message.ID // in the log, with a text that differs from the message
	for _, e := range events(t, j, Query{}) {
		if e.Delivery != nil && e.Delivery.Message.Body != "" {
			other = append(other, e.Delivery.ID)
		}
	}
	assert.Empty(t, other)

	// A person's edit of a message replaces the text that is kept of it, with its subject.
	waiting, err := j.Waiting(t.Context(), "")
	require.NoError(t, err)
	kept := waiting[slices.IndexFunc(waiting, func(p Pending) bool { return p.Last.Reason == message.AgentGone })].Delivery
	assert.Equal(t, []string{"kept", "to be kept"}, []string{kept.Message.Subject, kept.Message.Body})
	subject, body := "another", "text"
	mustCommit(t, j, message.Step{Verdicts: []message.Verdict{{
		Message: kept.Message.ID, Decision: message.Decision{Verb: message.VerbDeliver}, Subject: &subject, Body: &body, Person: message.Person{Name: "ada"},
	}}})
	edited, err := j.Delivery(t.Context(), kept.ID)
	require.NoError(t, err)
	kept.Message.Subject, kept.Message.Body = subject, body
	assert.Equal(t, kept, edited)
}

// Helpers of the tests.

// replay writes the events of the journal in dir into a new one, one by one.
func replay(t *testing.T, dir string) *Journal {
	t.Helper()
	old, fresh := mustOpen(t, dir), mustOpen(t, private(t))
	for _, e := range events(t, old, Query{}) {
		var step message.Step
		switch e.Kind {
		case kindMessage:
			step.Received = []message.Envelope{*e.Message}
		case kindReceipt:
			if e.Receipt.State == message.Queued {
				verdicts, err := old.Verdicts(t.Context(), e.Receipt.Message)
				require.NoError(t, err)
				step.Verdicts = verdicts
				d, err := old.Delivery(t.Context(), e.Receipt.Delivery)
				require.NoError(t, err)
				d.Typed = false
				step.Deliveries = []message.Delivery{d}
			}
			step.Receipts = []message.Receipt{*e.Receipt}
		case kindChat:
			step.Chats = []message.Chat{*e.Change}
		case kindSession:
			step.Peers = []message.Peer{*e.Peer}
		case kindNotice:
			step.Notices = []message.Notice{{Chat: e.Chat, Text: e.Notice}}
		}
		mustCommit(t, fresh, step)
	}
	require.NoError(t, old.Close())
	return fresh
}

func ids(pending []Pending) (found []message.ID) {
	for _, p := range pending {
		found = append(found, p.Delivery.ID)
	}
	return found
}

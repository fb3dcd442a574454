package agent

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// An agent of an unknown kind is never taken for a known one, although its home may hold the same files.
func TestKinds_anUnknownOneIsNoOther(t *testing.T) {
	records := map[Kind]string{
		Claude:   promptRecord,
		Codex:    `{"timestamp":"2026-11-22T19:00:00.000Z","type":"event_msg","payload":{"type":"task_complete","turn_id":"t","last_agent_message":"hello"}}` + "\n",
		Gemini:   `{"id":"1","type":"user","timestamp":"2026-11-22T19:00:00.000Z","content":[{"text":"hello"}]}` + "\n",
		OpenCode: "",
	}
	homes := map[Kind]string{Claude: ".claude", Codex: ".codex", Gemini: ".gemini", OpenCode: ".local/share/opencode", "": "", "new": ""}
	desks := map[Kind]string{Claude: "projects/-w", Codex: "intercom", Gemini: "", OpenCode: "tool-output", "": "", "new": ""}
	for kind, home := range homes {
		a := Agent{Kind: kind, Home: t.TempDir(), Dir: "/w"}
		_, known := records[kind]
		if home != "" {
			home = filepath.Join("/home/ada", home)
		}
		assert.Equal(t, home, homeIn(kind, map[string]string{"HOME": "/home/ada"}, "/w"), "home of %q", kind)
		if desk := a.Desk(nil); desks[kind] == "" {
			assert.Empty(t, desk, "desk of %q", kind)
		} else {
			assert.Equal(t, filepath.Join(a.Home, desks[kind]), desk)
		}
		assert.Equal(t, known, kind.Verified() != "", "version of %q", kind)
		assert.Equal(t, kind == Claude || kind == Codex, a.pattern("*") != "", "pattern of %q", kind) // Gemini has given that directory no name
		for of, record := range records {
			r := NewReader(kind, 0)
			events := r.Feed([]byte(record))
			assert.Equal(t, of == kind && record != "", len(events) > 0, "a record of %q, read as one of %q", of, kind)
		}
		if known {
			continue
		}
		_, err := a.Find()
		assert.ErrorIs(t, err, ErrNoTranscript)
		_, err = a.Status()
		assert.ErrorIs(t, err, ErrNoTranscript)
		_, err = a.FindThread("11111111-aaaa")
		assert.ErrorIs(t, err, ErrNoTranscript)
		_, err = a.FindText("hello", time.Now(), nil)
		assert.ErrorIs(t, err, ErrNoTranscript)
		_, err = newBeside(a).archive.since(time.Time{})
		assert.ErrorIs(t, err, ErrNoTranscript)
		f := NewFollower(a, nil, time.Now)
		_, err = f.ask()
		assert.ErrorIs(t, err, ErrNoTranscript)
		f.listen(time.Now())
		assert.Empty(t, f.heard, "%q", kind)
		r := NewReader(kind, 0)
		for range 8 {
			r.Feed([]byte(promptRecord))
		}
		assert.NotEmpty(t, r.Health().Unreadable(), "%q", kind)
		assert.False(t, r.head("/w/x.jsonl"))
	}
}

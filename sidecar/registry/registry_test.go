package registry

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Row 36 of the hostile inputs, as far as the form of a name is concerned. The relay's TestH36 covers the refusal
// by a rename and an adoption.
func TestCheckName(t *testing.T) {
	s := New([]message.Peer{session(1, "Bob", "%1"), ended(session(2, "carol", "%2"))}, nil)
	for name, ok := range map[string]bool{
		"alice": true, "claude-2": true, "a": true, "A.b_c-9": true, strings.Repeat("x", 64): true,
		"carol": true, // the session with this name has ended
		"":      false, "Alice] | x": false, "../../x": false, "/x": false, strings.Repeat("x", 65): false, strings.Repeat("y", 300): false,
		"\U0001F600": false, "Alic\u0435": false /* Cyrillic */, "a b": false, "a\n": false, "a:b": false, "a|b": false, "%1": false, "#(x)": false, "\xff": false,
		"AI": false, "ai": false, "local": false, "Relay": false, "notice": false, "system": false, "person": false, "ALL": false, "yes": false, "No": false,
		".": false, "..": false, ".x": false, "-x": false, "--all": false,
		"bob": false, "BOB": false, "Bob": false, // taken, in any case of letters
		"deadbeef": false, "DEADBEEF": false, "12345678": false, "0198b2c1-0000-7000-8000-000000000001": false,
	} {
		err := s.CheckName(name, "")
		if ok {
			assert.NoError(t, err, "%q", name)
		} else {
			assert.ErrorIs(t, err, ErrName, "%q", name)
		}
	}
	assert.NoError(t, s.CheckName("BOB", id(1)), "its bearer may keep it, in another case too")
}

func TestNameFrom(t *testing.T) {
	for title, want := range map[string]string{
		"Worker Task":                 "Worker-Task",
		"  ✳ Fix   the bug! ":         "Fix-the-bug",
		"../../etc/passwd":            "etc-passwd",
		"AI[local:x] | approve":       "AI-local-x-approve",
		"-rf":                         "rf",
		"日本":                          "",
		"":                            "",
		"a" + strings.Repeat("é", 90): "a",
	} {
		assert.Equal(t, want, NameFrom(title), "%q", title)
	}
	assert.Len(t, NameFrom(strings.Repeat("ab ", 90)), MaxName)
}

func TestFreeName(t *testing.T) {
	s := New([]message.Peer{
		session(1, "claude", "%1"), session(2, "Claude-2", "%2"), session(3, strings.Repeat("x", 64), "%3"), session(4, "agent", "%4"),
	}, nil)
	assert.Equal(t, "claude-3", s.FreeName("claude"))
	assert.Equal(t, "codex", s.FreeName("codex"))
	assert.Equal(t, "local-2", s.FreeName("local"))
	assert.Equal(t, "agent-2", s.FreeName("日本"))
	assert.Equal(t, strings.Repeat("x", 62)+"-2", s.FreeName(strings.Repeat("x", 200)))
	assert.Equal(t, "root-2", s.FreeName("root", "Root"), "a name that is somebody else's")

	err := s.CheckName("CLAUDE", "")
	assert.ErrorIs(t, err, ErrName)
	var taken *TakenError
	require.ErrorAs(t, err, &taken)
	assert.Equal(t, `name taken: "CLAUDE" is the name of pane %1`, err.Error())
}

// For any title, the name made from it is valid.
func TestFreeName_alwaysAName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sessions []message.Peer
		for i := range rapid.IntRange(0, 6).Draw(t, "sessions") {
			s := New(sessions, nil)
			title := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"claude", "ai", "a", ".", "deadbeef"})).Draw(t, "title")
			name := s.FreeName(title)
			require.NoError(t, s.CheckName(name, ""), "%q made %q", title, name)
			sessions = append(sessions, session(i, name, fmt.Sprintf("%%%d", i)))
		}
	})
}

func TestSnapshot_Find(t *testing.T) {
	twin := session(7, "erin", "%7")
	twin.ID = "0198b2c1-0000-7000-9000-0000" + message.ID(id(1).Short())
	s := New([]message.Peer{
		session(1, "alice", "%1"), session(2, "bob", "%2"), ended(session(3, "carol", "%1")), ended(session(4, "bob", "%4")), twin,
	}, []message.Chat{
		{ID: id(21), State: message.ChatOver, Participants: []message.Participant{{Peer: id(1), Number: 3}}},
		{ID: id(22), Participants: []message.Participant{{Peer: id(1), Number: 1}, {Peer: twin.ID, Number: 2, Left: true}}},
	})
	for ref, want := range map[string]string{
		"alice": "alice", "ALICE": "alice", "%1": "alice", "%2": "bob", "bob": "bob",
		"local/bob": "bob", "Local/BOB": "bob", "local/%2": "bob", "local/" + string(id(1)): "alice", // C34
		"[alice] (1)": "alice", "[Alice] (1)": "alice", // C33
		string(id(2)): "bob", strings.ToUpper(string(id(2))): "bob", id(2).Short(): "bob",
	} {
		got, err := s.Find(ref)
		require.NoError(t, err, "%q", ref)
		assert.Equal(t, want, got.Name, "%q", ref)
	}
	for ref, want := range map[string]struct {
		is   error
		text string
	}{
		"carol":        {ErrEnded, `session "carol" has ended: agent gone`},
		string(id(3)):  {ErrEnded, `session "` + string(id(3)) + `" has ended: agent gone`},
		"%4":           {ErrEnded, `session "%4" has ended: agent gone`},
		id(1).Short():  {ErrAmbiguous, `session "` + id(1).Short() + `" is ambiguous: alice (` + string(id(1)) + `), erin (` + string(twin.ID) + `)`},
		"alcie":        {ErrUnknown, `no session "alcie"; nearest: alice`},
		"al":           {ErrUnknown, `no session "al"; nearest: alice`},
		"zzzzzz":       {ErrUnknown, `no session "zzzzzz"`},
		"":             {ErrUnknown, `no session ""`},
		"%99":          {ErrUnknown, `no session "%99"`},
		"[alice] (3)":  {ErrUnknown, `no session "[alice] (3)"`},
		"[alice] (01)": {ErrUnknown, `no session "[alice] (01)"`},
		"[bob] (1)":    {ErrUnknown, `no session "[bob] (1)"`},
		"[erin] (2)":   {ErrUnknown, `no session "[erin] (2)"`},
	} {
		_, err := s.Find(ref)
		require.ErrorIs(t, err, want.is, "%q", ref)
		assert.EqualError(t, err, want.text)
	}
	_, err := s.Find(strings.Repeat("a", 1<<20))
	assert.ErrorIs(t, err, ErrUnknown)
}

func TestSnapshot_FindChat(t *testing.T) {
	s := New(nil, []message.Chat{
		{ID: id(11), Name: "plan", State: message.ChatOver},
		{ID: id(12), Name: "Plan", State: message.ChatPaused},
		{ID: id(13), State: message.ChatOver},
	})
	for ref, want := range map[string]message.ID{"plan": id(12), id(12).Short(): id(12), string(id(11)): id(11), id(13).Short(): id(13)} {
		got, err := s.FindChat(ref)
		require.NoError(t, err)
		assert.Equal(t, want, got.ID)
	}
	_, err := s.FindChat("plam")
	assert.EqualError(t, err, `no chat "plam"; nearest: Plan`)
}

func TestSnapshot_neverChanges(t *testing.T) {
	sessions := []message.Peer{session(1, "alice", "%1"), session(2, "bob", "%2")}
	chats := []message.Chat{{ID: id(9), State: message.ChatOn, Participants: []message.Participant{
		{Peer: id(1), Name: "alice", Number: 1}, {Peer: id(2), Name: "bob", Number: 2, Left: true},
	}}}
	s := New(sessions, chats)
	sessions[0].Name = "mallory"
	chats[0].Participants[0].Name = "mallory"
	c, ok := s.ChatOf(id(1))
	require.True(t, ok)
	c.Participants[0].Name = "mallory"
	s.Chats()[0].Participants[0].Name = "mallory"
	s.Peers()[0].Name = "mallory"

	again, ok := s.Chat(id(9))
	require.True(t, ok)
	assert.Equal(t, "alice", again.Participants[0].Name)
	assert.Equal(t, "alice", s.Peers()[0].Name)
	_, ok = s.ChatOf(id(2))
	assert.False(t, ok, "who has left is in no chat")
}

// test helpers

func id(n int) message.ID {
	return message.ID(fmt.Sprintf("0198b2c1-0000-7000-8000-0000%08x", 0xabc00000+n))
}

func session(n int, name, pane string) message.Peer {
	return message.Peer{ID: id(n), Name: name, PaneOf: message.PaneOf{Pane: pane}}
}

func ended(s message.Peer) message.Peer {
	at := time.Unix(1, 0)
	s.Ended, s.EndReason = &at, "agent gone"
	return s
}

// A row is reused in another snapshot if and only if nothing in it has changed.
func TestSnapshot_Rows(t *testing.T) {
	t.Parallel()
	all := func(s Snapshot) (rows [][]message.Peer, flat []message.Peer) {
		for _, r := range s.Rows() {
			rows = append(rows, slices.Collect(r.Peers()))
			flat = append(flat, rows[len(rows)-1]...)
		}
		return rows, flat
	}
	rapid.Check(t, func(t *rapid.T) {
		var s Snapshot
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			before := s
			var now []message.Peer
			for range rapid.IntRange(0, 90).Draw(t, "now") {
				n := rapid.IntRange(0, 600).Draw(t, "n")
				one := session(n, fmt.Sprint("n", n), fmt.Sprintf("%%%d", n))
				if rapid.IntRange(0, 4).Draw(t, "ended") == 0 {
					one = ended(one)
				}
				now = append(now, one)
			}
			var gone []message.ID
			for range rapid.IntRange(0, 90).Draw(t, "gone") {
				gone = append(gone, id(rapid.IntRange(0, 600).Draw(t, "n")))
			}
			s = s.With(now, nil).Without(gone, nil)
			was, wasFlat := all(before)
			is, flat := all(s)
			require.Equal(t, s.Peers(), flat)
			require.Equal(t, before.Peers(), wasFlat)
			for i, row := range s.Rows() {
				if i < len(was) && row == before.Rows()[i] {
					require.Equal(t, was[i], is[i])
				}
			}
			require.True(t, slices.Equal(s.Rows(), s.With(nil, nil).Rows()))
		}
	})
	many := make([]message.Peer, 3*row)
	for i := range many {
		many[i] = session(i, fmt.Sprint("n", i), fmt.Sprintf("%%%d", i))
	}
	s := New(many, nil)
	many[row].State = message.Working
	other := s.With(many[row:row+1], nil)
	assert.True(t, s.Rows()[0] == other.Rows()[0] && s.Rows()[2] == other.Rows()[2])
	assert.False(t, s.Rows()[1] == other.Rows()[1])
}

package team

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func TestP31_C18_TheLessonsBytes(t *testing.T) {
	t.Parallel()
	yes, feedback, plan := true, "", "1. measure\n2. cut"
	for _, c := range []struct {
		m    Message
		want string
	}{
		{say("hi"), `{"type": "message", "from": "lead", "content": "hi", "timestamp": 1772625600.123456}`},
		{
			Message{Type: "shutdown_request", From: "lead", Content: "Please shut down gracefully.", At: noon, RequestID: "1a2b3c4d"},
			`{"type": "shutdown_request", "from": "lead", "content": "Please shut down gracefully.", "timestamp": 1772625600.123456, "request_id": "1a2b3c4d"}`,
		},
		{
			Message{Type: "shutdown_response", From: "alice", At: noon, RequestID: "1a2b3c4d", Approve: &yes},
			`{"type": "shutdown_response", "from": "alice", "content": "", "timestamp": 1772625600.123456, "request_id": "1a2b3c4d", "approve": true}`,
		},
		{
			Message{Type: "plan_approval_response", From: "alice", Content: plan, At: time.Unix(1772625600, 0), RequestID: "1a2b3c4d", Plan: &plan},
			`{"type": "plan_approval_response", "from": "alice", "content": "1. measure\n2. cut", "timestamp": 1772625600.0, "request_id": "1a2b3c4d", "plan": "1. measure\n2. cut"}`,
		},
		{
			Message{Type: "plan_approval_response", From: "lead", At: noon, RequestID: "1a2b3c4d", Approve: new(bool), Feedback: &feedback},
			`{"type": "plan_approval_response", "from": "lead", "content": "", "timestamp": 1772625600.123456, "request_id": "1a2b3c4d", "approve": false, "feedback": ""}`,
		},
	} {
		line, err := c.m.encode()
		require.NoError(t, err)
		assert.Equal(t, c.want+"\n", string(line))
		read, err := parse(line)
		require.NoError(t, err)
		assert.Equal(t, c.want, string(read.Line))
		read.Line, read.At, c.m.At = nil, read.At.UTC(), c.m.At.UTC()
		assert.Equal(t, c.m, read)
	}

	// Python writes the same bytes for any text.
	d := newTeam(t)
	var texts strings.Builder
	var want bytes.Buffer
	for _, content := range []string{
		"", "plain", `"quoted" \ and 'so' <b>&amp;</b>`, "tab\tbell\adel\x7fnul\x00cr\rff\fbs\b\x1b[31m", "é日本語\u0085\u2028\u2029\ufeff\ue000\ufffd", "🙂👩‍👩‍👧🏴󠁧󠁢󠁳󠁣󠁴󠁿", "a\nb\r\nc",
	} {
		m := say(content)
		line, err := m.encode()
		require.NoError(t, err)
		want.Write(line)
		texts.Write(line)
		var plain struct{ Content string }
		require.NoError(t, json.Unmarshal(line, &plain))
		assert.Equal(t, content, plain.Content)
	}
	assert.Equal(t, want.String(), python(t, d, texts.String(), "dumps"))
}

func TestC19_whatOthersWrite(t *testing.T) {
	for line, want := range map[string]Message{
		`{}`: {},
		`{"type":"plan_approval","from":"alice","request_id":"1a2b3c4d","plan":"p","x":[1]}`: {Type: "plan_approval_response", From: "alice", RequestID: "1a2b3c4d", Plan: new("p")},
		`{"type":"message","content":"é","timestamp":1772625600}`:                            {Type: "message", Content: "é", At: time.Unix(1772625600, 0)},
		// A value of the wrong kind is not taken for a yes or a no.
		`{"type":"shutdown_response","request_id":7,"approve":"true"}`: {Type: "shutdown_response"},
		`{"type":"shutdown_response","approve":1,"timestamp":"now"}`:   {Type: "shutdown_response"},
		`{"type":["a"],"from":null,"approve":null,"timestamp":1e300}`:  {},
	} {
		m, err := parse([]byte(line))
		require.NoError(t, err, line)
		assert.Equal(t, line, string(m.Line))
		m.Line = nil
		assert.Equal(t, want, m, line)
	}
	for _, line := range []string{"", "null", "[]", "1", `"x"`, "{", `{"a":1}{}`, "{\"a\":\"\xff\"}", `{"a":NaN}`, strings.Repeat(`{"a":`, 20_000)} {
		_, err := parse([]byte(line))
		assert.Error(t, err, "%.40q", line)
	}
}

func TestSend_refuses(t *testing.T) {
	d := newTeam(t)
	for name, c := range map[string]struct {
		to   string
		m    Message
		want string
	}{
		"a type":           {"alice", Message{Type: "bogus", From: Lead}, "Error: Invalid type 'bogus'"},
		"no type":          {"alice", Message{From: Lead}, "Error: Invalid type ''"},
		"somebody unknown": {"carol", say("x"), `no teammate "carol"; there are alice, bob`},
		"of nobody":        {"alice", Message{Type: TypeMessage, From: "carol"}, `no teammate "carol"; there are alice, bob`},
		"too much":         {"alice", say(strings.Repeat("x", message.MaxBody+1)), "the limit is"},
	} {
		assert.ErrorContains(t, d.Send(c.to, c.m), c.want, name)
	}
	assert.NoDirExists(t, d.at(inboxes))

	none := Dir{t.TempDir()}
	require.NoError(t, os.Mkdir(none.at(), 0o755))
	assert.EqualError(t, none.Send("alice", say("x")), `no teammate "alice": the team has none`)
	assert.NoError(t, none.Send(Lead, say("x")), "who leads has an inbox from the first")
}

func TestP34_NamesAreNoPaths(t *testing.T) {
	d := newTeam(t)
	bad := []string{"../x", "a/b", "/etc/passwd", ".", "..", ".alice", "-x", "", "a\x00b", "a\nb", "\x1b[31m", "\xff", strings.Repeat("a", 65), "a\u202eb"}
	members := []Member{}
	for _, name := range append(bad, "José", "alice smith", "bob") {
		members = append(members, Member{Name: name})
	}
	text, err := json.Marshal(Config{Members: members}) // a hostile one
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(d.at(configName), text, 0o644))
	for _, name := range bad {
		for what, err := range map[string]error{
			"to":   d.Send(name, say("x")),
			"from": d.Send("bob", Message{Type: TypeMessage, From: name}),
			"peek": func() error { _, _, err := d.Peek(name); return err }(),
			"drain": func() error {
				_, err := d.Drain(name, func([]Message) error { return nil })
				return err
			}(),
		} {
			var refused *NameError
			assert.ErrorAs(t, err, &refused, "%s %q", what, name)
		}
	}
	n, err := d.Broadcast(say("x"))
	assert.Equal(t, 4, n, "those that have names get it: JSON makes one of the bad ones \ufffd")
	require.NoError(t, err)
	made, err := os.ReadDir(d.at(inboxes))
	require.NoError(t, err)
	assert.Len(t, made, 4)
	for _, name := range []string{"José", "alice smith", "bob"} {
		require.NoError(t, d.Send(name, say("x")), "%s", name)
		assert.FileExists(t, d.inbox(name))
	}
	around, err := os.ReadDir(d.Path)
	require.NoError(t, err)
	assert.Len(t, around, 1, "nothing but .team")
}

func FuzzParse(f *testing.F) {
	yes := true
	for _, m := range []Message{say("x"), {Type: "shutdown_response", From: "alice", RequestID: "1a2b3c4d", Approve: &yes, At: noon}} {
		line, err := m.encode()
		require.NoError(f, err)
		f.Add(line)
	}
	f.Add([]byte(`{"approve":"yes","timestamp":-1}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := parse(line)
		if err != nil {
			return
		}
		assert.True(t, json.Valid(m.Line))
		m.Type = TypeMessage
		if len(m.Content) > message.MaxBody {
			return
		}
		text, err := m.encode()
		require.NoError(t, err)
		assert.Equal(t, 1, bytes.Count(text, []byte("\n")), "one line")
		assert.False(t, bytes.ContainsFunc(text[:len(text)-1], func(r rune) bool { return r < ' ' || r > '~' }), "visible ASCII")
		again, err := parse(text)
		require.NoError(t, err)
		again.Line, m.Line = nil, nil
		if m.At.IsZero() {
			again.At = m.At
		}
		assert.WithinDuration(t, m.At, again.At, time.Millisecond)
		again.At = m.At
		assert.Equal(t, m, again)
	})
}

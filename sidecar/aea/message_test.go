package aea_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
)

const name = "message-20251014T054200Z-from-claude-xpull-hub.json"

var at = time.Date(2025, 10, 14, 5, 42, 0, 0, time.UTC)

func message() aea.Message {
	return aea.Message{
		ID: "550e8400-e29b-41d4-a716-446655440000", Type: "question", Priority: "normal", Time: at,
		From: aea.Agent{ID: "claude-a", Path: "/a b/é", User: "ada"}, To: aea.Agent{ID: "claude-b", Path: "/b"}, Subject: "s", Body: "b",
	}
}

// The five examples of the document, verbatim.
var examples = map[string]string{
	"question": `{
  "message_type": "question",
  "priority": "normal",
  "message": {
    "subject": "Connection pool sizing for high throughput?",
    "question": "What pool_size should we use for 10k updates/sec?",
    "context": {
      "current_throughput": "10000 updates/sec",
      "batch_size": 100
    }
  }
}`,
	"update": `{
  "message_type": "update",
  "priority": "normal",
  "requires_response": false,
  "message": {
    "subject": "Deployed v2.1.0 to production",
    "body": "New version includes batch optimization...",
    "changes": ["batch_size: 50 -> 100", "pool_size: 10 -> 25"]
  }
}`,
	"issue": `{
  "message_type": "issue",
  "priority": "high",
  "message": {
    "subject": "Memory leak in batch processing",
    "issue_description": "Memory grows 100MB/hour under load",
    "reproduction_steps": ["Start server", "Send 10k updates", "Monitor memory"],
    "impact": "Production stability at risk"
  }
}`,
	"handoff": `{
  "message_type": "handoff",
  "priority": "normal",
  "message": {
    "subject": "Batch API integration complete",
    "handoff_details": "Implemented batch endpoints, ready for client integration",
    "next_steps": ["Update client to use batch API", "Test end-to-end"],
    "documentation": "See docs/batch-api.md"
  }
}`,
	"request": `{
  "message_type": "request",
  "priority": "normal",
  "message": {
    "subject": "Add connection retry logic",
    "request_details": "Need exponential backoff for failed connections",
    "rationale": "Improve resilience during Redis restarts",
    "acceptance_criteria": ["3 retries", "Exponential backoff", "Logging"]
  }
}`,
}

func TestA16_A17_A18_A20_A21_ExamplesAreRead(t *testing.T) {
	t.Parallel()
	for kind, wants := range map[string][]string{
		"question": {"What pool_size should we use for 10k updates/sec?", `"batch_size": 100`},
		"update":   {"New version includes batch optimization...", "Changes:\n- batch_size: 50 -> 100\n- pool_size: 10 -> 25"},
		"issue":    {"Memory grows 100MB/hour under load", "Reproduction steps:\n- Start server\n- Send 10k updates", "Impact: Production stability at risk"},
		"handoff":  {"Implemented batch endpoints", "Next steps:\n- Update client to use batch API", "Documentation: See docs/batch-api.md"},
		"request":  {"Need exponential backoff", "Rationale: Improve resilience during Redis restarts", "Acceptance criteria:\n- 3 retries\n- Exponential backoff\n- Logging"},
	} {
		m, err := aea.Read(name, []byte(examples[kind]))
		require.NoError(t, err, kind)
		assert.Equal(t, kind, m.Type)
		assert.Equal(t, "claude-xpull-hub", m.From.ID, "by the name of the file")
		assert.Equal(t, at, m.Time)
		assert.Equal(t, kind != "update" && kind != "handoff", m.RequiresResponse(), kind)
		for _, want := range wants {
			assert.Contains(t, m.Text(), want)
		}
	}
}

// A written message has the document's form, field by field, and reads back as it was.
func TestA6_A12_A13_A14_A15_A44_Written(t *testing.T) {
	t.Parallel()
	m := message()
	m.Thread, m.ReplyTo, m.Tags, m.Context = "thread-1", "other", []string{"x", "y"}, json.RawMessage(`{"a":1}`)
	text, err := m.Encode()
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(text, &got))
	assert.Equal(t, map[string]any{
		"protocol_version": "1.0", "message_id": m.ID, "message_type": "question", "timestamp": "2025-10-14T05:42:00Z", "priority": "normal", "requires_response": true,
		"from":     map[string]any{"agent_id": "claude-a", "repo_path": "/a b/é", "user": "ada"},
		"to":       map[string]any{"agent_id": "claude-b", "repo_path": "/b"},
		"message":  map[string]any{"subject": "s", "body": "b", "context": map[string]any{"a": 1.0}, "attachments": []any{}},
		"metadata": map[string]any{"conversation_id": "thread-1", "reply_to": "other", "tags": []any{"x", "y"}},
	}, got)
	back, err := aea.Read(name, text)
	require.NoError(t, err)
	assert.Equal(t, m.From, back.From)
	assert.Equal(t, m.ReplyTo, back.ReplyTo)
	assert.Equal(t, m.Body, back.Body)
}

func TestA9_C18_Timestamp(t *testing.T) {
	t.Parallel()
	assert.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`, aea.Timestamp(at.In(time.FixedZone("x", 7200)).Add(123456789)))
	assert.Equal(t, "2025-10-14T05:42:00Z", aea.Timestamp(at.In(time.FixedZone("x", 7200))))
}

// Every type of the document can be sent, and no other. All six can be read.
func TestA8_Types(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"question", "update", "issue", "handoff", "request"} {
		m := message()
		m.Type = kind
		_, err := m.Encode()
		assert.NoError(t, err, kind)
	}
	for _, kind := range []string{"bogus", "response", ""} {
		m := message()
		m.Type = kind
		_, err := m.Encode()
		assert.ErrorContains(t, err, "message_type", kind)
	}
	m, err := aea.Read(name, []byte(`{"message_type":"response","message":{"body":"x"}}`))
	require.NoError(t, err)
	assert.Equal(t, "response", m.Type)
	_, err = aea.Read(name, []byte(`{"message_type":"bogus","message":{"body":"x"}}`))
	assert.ErrorContains(t, err, "message_type")
}

func TestA10_C10_Priorities(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{"low": "low", "normal": "normal", "medium": "normal", "high": "high", "urgent": "urgent", "critical": "urgent", "": "normal"} {
		m, err := aea.Read(name, fmt.Appendf(nil, `{"message_type":"issue","priority":%q,"message":{"body":"x"}}`, word))
		require.NoError(t, err, word)
		assert.Equal(t, want, m.Priority, word)
	}
	m, err := aea.Read(name, []byte(`{"message_type":"issue","severity":"medium","message":{"body":"x"}}`))
	require.NoError(t, err)
	assert.Equal(t, "normal", m.Priority)
	_, err = aea.Read(name, []byte(`{"message_type":"issue","priority":"bogus","message":{"body":"x"}}`))
	assert.ErrorContains(t, err, "priority")
	bad := message()
	bad.Priority = "medium"
	_, err = bad.Encode()
	assert.ErrorContains(t, err, "priority")
}

func TestA11_RequiresResponse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"message_type":"update","requires_response":true,"message":{"body":"x"}}`:              true,
		`{"message_type":"update","message":{"body":"x"}}`:                                       false,
		`{"message_type":"question","requires_response":false,"message":{"body":"x"}}`:           false,
		`{"message_type":"question","message":{"body":"x"}}`:                                     true,
		`{"message_type":"update","routing":{"requires_response":true},"content":{"body":"x"}}`:  true,
		`{"message_type":"handoff","requires_response":null,"message":{"handoff_details":"x"} }`: false,
	} {
		m, err := aea.Read(name, []byte(text))
		require.NoError(t, err, text)
		assert.Equal(t, want, m.RequiresResponse(), text)
	}
	_, err := aea.Read(name, []byte(`{"message_type":"update","requires_response":"yes","message":{"body":"x"}}`))
	assert.ErrorContains(t, err, "requires_response")
}

func TestA22_Names(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "message-20251014T054200Z-from-claude-xpull-hub.json", aea.FileName(at, "claude-xpull-hub", "", 1))
	assert.Equal(t, "message-20251014T161000Z-from-claude-xpull-hub-test.json", aea.FileName(at.Add(10*time.Hour+28*time.Minute), "claude-xpull-hub", "test", 1))
	assert.Equal(t, "message-20251014T054200Z-from-claude-xpull-hub-2.json", aea.FileName(at, "claude-xpull-hub", "", 2))
	assert.Equal(t, "message-20251014T054200Z-from-claude-a-b-.json", aea.FileName(at, "..claude-a/b\n", "", 1))
	for _, bad := range []string{"a b", "../x", strings.Repeat("x", 65), "a/b"} {
		assert.Error(t, aea.CheckDescriptor(bad), bad)
	}
	pattern := regexp.MustCompile(`^message-\d{8}T\d{6}Z-from-[A-Za-z0-9._-]+\.json$`)
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringN(1, 20, -1).Draw(t, "id")
		if n := aea.FileName(at, "claude-"+id, "", rapid.IntRange(1, 3).Draw(t, "n")); !pattern.MatchString(n) || !aea.IsName(n) {
			t.Fatalf("%q", n)
		}
	})
}

// Both forms of names in the document, and the further forms of timestamps in use.
func TestA24_C13_NamesRead(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]aea.Name{
		"message-20251014T054200Z-from-claude-xpull-hub.json":      {Time: at, Agent: "claude-xpull-hub"},
		"message-20251014T161000Z-from-claude-xpull-hub-test.json": {Time: at.Add(10*time.Hour + 28*time.Minute), Agent: "claude-xpull-hub-test"},
		"message-20251014T054200Zz-from-claude-a.json":             {Time: at, Agent: "claude-a"},
		"message-20251014T054200706Z-from-claude-test-simple.json": {Time: at.Add(706 * time.Millisecond), Agent: "claude-test-simple"},
		"message-2025-10-14T05:42:00Z-from-claude-a.json":          {Agent: "claude-a"},
		"message-whatever.json":                                    {},
		"message-1-from-x.json":                                    {Agent: "x"},
		"message-99999999T999999Z-from-claude-a.json":              {Agent: "claude-a"},
	} {
		assert.True(t, aea.IsName(file), file)
		assert.Equal(t, want, aea.ParseName(file), file)
	}
	m, err := aea.Read("message-20251014T054200Z-from-claude-xpull-hub-test.json", []byte(`{"message_type":"update","from":{"agent_id":"claude-other"},"message":{"body":"x"}}`))
	require.NoError(t, err)
	assert.Equal(t, "claude-other", m.From.ID, "it is the message that says who it is from")
	for _, bad := range []string{"message.json", "x-message-1.json", "message-1.json~", ".message-1.json", "message-a/b.json", "message-1.txt"} {
		assert.False(t, aea.IsName(bad), bad)
	}
}

// Every fault of a file is reported, and never costs more than the file.
func TestA39_H60_Refused(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000)
	for text, why := range map[string]string{
		``:      "not valid JSON",
		`[]`:    "no JSON object",
		`null`:  "no JSON object",
		`{"a":`: "not valid JSON",
		`{"message_type":"question","message":{"body":"x"}} {}`:                                             "text after the message",
		`{"message_type":"question","message_type":"update","message":{"body":"x"}}`:                        "twice",
		`{"message_type":"question","message":{"body":"x","body":"y"}}`:                                     "twice",
		`{"message_type":"question","message":{"context":` + deep + `}}`:                                    "nesting",
		`{"message_type":7,"message":{"body":"x"}}`:                                                         "message_type",
		`{"message_type":"question","message":[]}`:                                                          "message",
		`{"message_type":"question","message":{"body":["x"]}}`:                                              "body",
		`{"message_type":"question","message":{"subject":""}}`:                                              "subject or a body",
		`{"message_type":"question","message":{"body":"a\u001b]0;x\u0007"}}`:                                "control characters",
		`{"message_type":"question","message":{"body":"x","subject":"a\nb"}}`:                               "control characters",
		`{"message_type":"question","message":{"body":"x"},"from":{"agent_id":"../../x"}}`:                  "from.agent_id",
		`{"message_type":"question","message":{"body":"x"},"from":{"agent_id":"a/b"}}`:                      "from.agent_id",
		`{"message_type":"question","message":{"body":"x"},"from":{"agent_id":"a\nb"}}`:                     "from.agent_id",
		`{"message_type":"question","message":{"body":"x"},"from":{"agent_id":"a","repo_path":"../x"}}`:     "absolute",
		`{"message_type":"question","message":{"body":"x"},"from":{"agent_id":"a","repo_path":"/a\u0000"}}`: "control",
		`{"message_type":"question","message":{"body":"x"},"metadata":{"tags":"x"}}`:                        "tags",
		`{"message_type":"question","message":{"body":"x"},"protocol_version":"9"}`:                         "protocol_version",
		`{"message_type":"question","message":{"body":"x","context":7}}`:                                    "context",
		`{"message_type":"question","message":{"body":"` + strings.Repeat("x", 10<<20) + `"}}`:              "limit",
	} {
		_, err := aea.Read(name, []byte(text))
		assert.ErrorContains(t, err, why, "%.80s", text)
		var is *aea.InvalidError
		assert.ErrorAs(t, err, &is)
	}
	_, err := aea.Read("message-x.json", []byte(`{"message_type":"question","message":{"body":"x"}}`))
	assert.ErrorContains(t, err, "from")
	_, err = aea.Read(name, []byte(`{"message_type":"question","message":{"body":"x","context":{"n":1e400}}}`))
	assert.NoError(t, err, "a number that nobody reads")
}

// Credentials are found by their shapes, wherever they are in a message.
func TestA42_C29_Secret(t *testing.T) {
	t.Parallel()
	for text, kind := range map[string]string{
		"AKIAIOSFODNN7EXAMPLE":                                          "an AWS key",
		"see ghp_" + strings.Repeat("a", 36):                            "a GitHub token",
		"-----BEGIN PRIVATE KEY-----":                                   "a private key",
		"-----BEGIN OPENSSH PRIVATE KEY-----\nabc":                      "a private key",
		"sk-ant-api03-" + strings.Repeat("x", 20):                       "an Anthropic key",
		"the key AKIA is the beginning of one, ghp_ too, sk-learn not":  "",
		"a message-20251014T054200Z-from-claude-xpull-hub.json of ours": "",
	} {
		assert.Equal(t, kind, aea.Secret(text), text)
	}
	m := message()
	m.Details = []aea.Detail{{Name: "impact", Lines: []string{"AKIAIOSFODNN7EXAMPLE"}}}
	assert.NotEmpty(t, m.Secret())
	m = message()
	m.Context = json.RawMessage(`{"key":"AKIAIOSFODNN7EXAMPLE"}`)
	assert.NotEmpty(t, m.Secret())
	m = message()
	m.Subject = "AKIAIOSFODNN7EXAMPLE"
	assert.NotEmpty(t, m.Secret())
}

// Subject and body come out exactly as they went in.
func TestA53_BytesIdentical(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := message()
		m.Body = rapid.StringMatching(`[ -~\n\tä日🙂'"$()\\]{1,200}`).Draw(t, "body")
		m.Subject = rapid.StringMatching(`[ -~ä日'"$()\\]{1,100}`).Draw(t, "subject")
		text, err := m.Encode()
		if strings.TrimSpace(m.Body) == "" || strings.TrimSpace(m.Subject) == "" {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		back, err := aea.Read(name, text)
		if err != nil || back.Body != m.Body || back.Subject != m.Subject {
			t.Fatalf("%q %q: %v", back.Subject, back.Body, err)
		}
	})
	m := message()
	m.Body, m.Subject = "`x` \"q\" 'p' $(touch /tmp/x) $HOME \\n\nnext", `"; rm -rf / #$()`
	text, err := m.Encode()
	require.NoError(t, err)
	back, err := aea.Read(name, text)
	require.NoError(t, err)
	assert.Equal(t, m.Body, back.Body)
	assert.Equal(t, m.Subject, back.Subject)
}

// The messages of version 0.1.0 as its own tests have them, all six types, with and without the
// optional parts.
func TestA59_Version010(t *testing.T) {
	t.Parallel()
	for kind, more := range map[string]string{
		"question": `"routing":{"priority":"normal","requires_response":true}`, "update": `"processing":{"critical_fields":["message_id"],"allow_partial_processing":true}`,
		"issue": `"routing":{"priority":"high"}`, "handoff": `"metadata":{"tags":["test"]}`, "request": `"routing":{}`,
		"response": `"correlation":{"in_reply_to":"type-question-001"}`,
	} {
		m, err := aea.Read("message-20251026T175356706Z-from-claude-test-simple.json", fmt.Appendf(nil, `{
  "protocol_version": "0.1.0", "message_id": "type-%[1]s-001", "message_type": %[1]q, "timestamp": "2025-10-16T10:30:45Z",
  "sender": {"agent_id": "claude-asker", "repo_path": "/tmp/test", "user": "developer", "agent_type": "claude-sonnet-4.5", "role": "AEA Agent"},
  "recipient": {"agent_id": "claude-answerer", "broadcast": false},
  "content": {"subject": "Special chars: <>&\"'", "body": "Testing: {}, [], (), %%, \\n, \n, \t"}, %[2]s}`, kind, more))
		require.NoError(t, err, kind)
		assert.Equal(t, kind, m.Type)
		assert.Equal(t, aea.Agent{ID: "claude-asker", Path: "/tmp/test", User: "developer"}, m.From)
		assert.Equal(t, "claude-answerer", m.To.ID)
		assert.Equal(t, "Special chars: <>&\"'", m.Subject)
		assert.Equal(t, "Testing: {}, [], (), %, \\n, \n, \t", m.Body)
		assert.Equal(t, time.Date(2025, 10, 16, 10, 30, 45, 0, time.UTC), m.Time)
		if kind == "response" {
			assert.Equal(t, "type-question-001", m.ReplyTo)
		}
		if kind == "issue" {
			assert.Equal(t, "high", m.Priority)
		}
	}
}

// However JSON expands a cut body, there is room for it. A body that is not too long is not cut.
func TestCutBody_hasRoom(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"x", `"`, "\\", "\n", "\t", "\r", "é", "\u2028", "\u2029", "<", "日", "\ufffd", "🙂", `a"`} {
		m := message()
		m.Body = aea.CutBody(strings.Repeat(part, aea.MaxMessage/len(part)))
		assert.True(t, strings.HasSuffix(m.Body, "\n[cut]"), "%q", part)
		text, err := m.Encode()
		require.NoError(t, err, "%q", part)
		back, err := aea.Read(name, text)
		require.NoError(t, err, "%q", part)
		assert.Equal(t, m.Body, back.Body)
	}
	whole := strings.Repeat(`"`, 450_000)
	assert.Equal(t, whole, aea.CutBody(whole))
}

func TestA43_Subject(t *testing.T) {
	t.Parallel()
	m := message()
	m.Subject = " "
	_, err := m.Encode()
	assert.ErrorContains(t, err, "subject")
}

// The beginning of a file that is being written is distinguished from a wrong file.
func TestIncomplete(t *testing.T) {
	t.Parallel()
	whole := []byte(examples["question"])
	for n := range len(whole) {
		assert.True(t, aea.Incomplete(whole[:n]), "%d: %s", n, whole[:n])
	}
	assert.False(t, aea.Incomplete(whole))
	for _, wrong := range []string{`{"a":}`, `{]`, "x", `{"a" 1}`} {
		assert.False(t, aea.Incomplete([]byte(wrong)), wrong)
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range examples {
		f.Add(name, []byte(text))
	}
	f.Add("message-1.json", []byte(`{"message_type":"issue","severity":"critical","content":{"description":"x"},"sender":{"agent_id":"a"}}`))
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		m, err := aea.Read(name, text)
		if err != nil {
			return
		}
		_, _ = m.Text(), m.Secret()
		if aea.Incomplete(text) {
			t.Fatal("it was read, and counts as the beginning of one")
		}
		m.ID, m.Time, m.From.Path, m.To = message().ID, at, "/a", message().To
		m.From.ID = aea.CleanID("a" + m.From.ID)
		if m.Type == "response" {
			m.Type = "update"
		}
		if out, err := m.Encode(); err == nil {
			if back, err := aea.Read(name, out); err != nil || back.Body != m.Body || back.Subject != m.Subject {
				t.Fatalf("%v: %q", err, out)
			}
		}
	})
}

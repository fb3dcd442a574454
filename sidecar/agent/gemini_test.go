package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Gemini CLI writes some records under the user's or the model's name that neither has said.
func TestGemini_whatIsNoPromptAndNoAnswer(t *testing.T) {
	for _, tt := range []struct {
		name, lines string
		want        []string
	}{
		{"the context at the start", `{"type":"user","content":[{"text":"<session_context>\nx"}]}`, nil},
		{"of a hook", `{"type":"user","content":[{"text":"<hook_context>x"}]}`, nil},
		{"results of tools", `{"type":"user","content":[{"functionResponse":{"id":"1","response":{"output":"x"}}}]}`, nil},
		{"a person's shell", `{"type":"user","content":[{"text":"I ran the following shell command:\n` + "```sh\\nls -l\\n```" + `\n\nThis"}]}`, []string{"command !ls -l"}},
		{"nothing", `{"type":"user","content":[]}`, nil},
		{"said of itself", `{"id":"a","type":"gemini","content":[{"text":"x"}],"tokens":null}`, nil},
		{"thoughts", `{"id":"a","type":"gemini","model":"m","content":[{"text":"hm","thought":true},{"text":"so"}]}`, []string{"words so"}},
		{"the files of an @", `{"type":"user","content":[{"text":"see @f"},{"text":"all of f"}],"displayContent":[{"text":"see @f"}]}`, []string{"prompt see @f"}},
		{"parts", `{"type":"user","content":["a",{"text":"b"}]}`, []string{"prompt ab"}},
		{"a remark", `{"type":"info","content":"Request cancelled. Or not."}`, nil},
		{"another error", `{"type":"error","content":"Unknown command: /x"}`, nil},
		{"a sub-agent's", `{"sessionId":"s","projectHash":"h","kind":"subagent"}` + "\n" + `{"type":"user","content":"x"}`, nil},
		{
			"all of it again",
			`{"type":"user","content":[{"text":"<session_context>"}]}` + "\n" + `{"$set":{"lastUpdated":"x"}}` + "\n" +
				`{"type":"user","content":[{"text":"old"}]}` + "\n" + `{"type":"gemini","content":[{"text":"old"}]}` + "\n" +
				`{"$set":{"messages":[{"type":"user","content":[{"text":"old"}]}]}}` + "\n" +
				`{"type":"user","content":[{"text":"new"}]}`,
			[]string{"prompt new"},
		},
		{
			"summed up", `{"$set":{"sessionId":"s"}}` + "\n" + `{"$set":{"messages":[{"type":"user","content":[{"text":"<state_snapshot>"}]}]}}`, nil,
		},
		{"taken back", `{"$rewindTo":"x"}`, nil},
	} {
		var got []string
		r := NewReader(Gemini, 0)
		for _, e := range r.Feed([]byte(tt.lines + "\n")) {
			got = append(got, string(e.Kind)+" "+e.Text)
		}
		assert.Equal(t, tt.want, got, tt.name)
		assert.Equal(t, r.Health().Records, r.Health().Known, tt.name)
		assert.Zero(t, r.Health().Bad, tt.name)
	}
}

// An answer is written again whenever something is added to it; it is reported once.
func TestGemini_anAnswerIsToldOnce(t *testing.T) {
	line := `{"id":"a","type":"gemini","model":"m","timestamp":"2026-11-21T10:00:00Z","content":"I will.","toolCalls":[%s]}` + "\n"
	one := `{"id":"1","name":"read","status":"success","timestamp":"2026-11-21T10:00:05Z"}`
	two := `{"id":"2","name":"write","status":"cancelled"}`
	r := NewReader(Gemini, 0)
	events := r.Feed(fmt.Appendf(nil, line+line+line, "", one, one+","+two))
	var got []string
	for _, e := range events {
		got = append(got, strings.TrimSpace(fmt.Sprint(e.Kind, " ", e.Text, e.Tool.ID, " ", e.Denied)))
	}
	assert.Equal(t, []string{"words I will. false", "tool began 1 false", "tool ended 1 false", "tool began 2 false", "tool ended 2 true"}, got)
	assert.Equal(t, 5*time.Second, events[2].At.Sub(events[1].At))
}

// Gemini CLI does not write down how a turn ends: its screen shows that.
func TestMachine_anotherWitnessEndsATurn(t *testing.T) {
	at := time.Unix(1000, 0)
	feed := func(m *Machine, kind EventKind, text string) {
		at = at.Add(time.Second)
		m.Feed(Event{Kind: kind, Text: text, By: ByKeys, At: at})
	}
	t.Run("it was seen at work", func(t *testing.T) {
		var m Machine
		m.Rests(at, at)
		feed(&m, Prompted, "ours")
		m.Rests(time.Time{}, at)
		feed(&m, Spoke, "words")
		assert.Empty(t, m.Tick(at.Add(time.Hour)).Ended, "it does not wait")
		rests := at.Add(100 * time.Millisecond)
		assert.Empty(t, m.Rests(rests, rests).Ended)
		due, ok := m.Due()
		require.True(t, ok)
		assert.Equal(t, rests.Add(restGrace), due)
		assert.Empty(t, m.Tick(due.Add(-1)).Ended)
		ended := m.Tick(due).Ended
		require.Len(t, ended, 1)
		assert.True(t, ended[0].Whole())
		assert.Equal(t, "words", ended[0].Words)
		assert.True(t, ended[0].Unmarked)
	})
	t.Run("too quick to be seen at work", func(t *testing.T) {
		var m Machine
		m.Rests(at, at)
		feed(&m, Prompted, "ours")
		feed(&m, Spoke, "words")
		due, ok := m.Due()
		require.True(t, ok)
		assert.Equal(t, at.Add(idleGrace), due)
		ended := m.Tick(due).Ended
		require.Len(t, ended, 1)
		assert.True(t, ended[0].Whole())
	})
	t.Run("what was no prompt begins no turn for ever", func(t *testing.T) {
		var m Machine
		m.Rests(at, at)
		feed(&m, Prompted, "?")
		due, ok := m.Due()
		require.True(t, ok)
		assert.Equal(t, at.Add(doubtGrace), due)
		ended := m.Tick(due).Ended
		require.Len(t, ended, 1)
		assert.True(t, ended[0].Interrupted)
	})
	t.Run("it is slow to begin, or to go on after a tool", func(t *testing.T) {
		for name, before := range map[string]func(m *Machine){
			"begin": func(*Machine) {},
			"go on": func(m *Machine) { feed(m, Spoke, "first I read"); feed(m, ToolBegan, ""); feed(m, ToolEnded, "") },
		} {
			var m Machine
			feed(&m, Prompted, "ours")
			before(&m)
			rests := at.Add(100 * time.Millisecond)
			assert.Empty(t, m.Rests(rests, rests).Ended)
			assert.Empty(t, m.Tick(rests.Add(doubtGrace-1)).Ended, name)
		}
	})
	t.Run("the clock was set back meanwhile", func(t *testing.T) {
		var m Machine
		feed(&m, Prompted, "ours")
		feed(&m, Spoke, "words")
		began := at
		now := at.Add(-time.Hour)
		assert.Empty(t, m.Rests(now, now).Ended)
		assert.Empty(t, m.Tick(now.Add(time.Second)).Ended)
		ended := m.Tick(now.Add(20 * time.Second)).Ended
		require.Len(t, ended, 1)
		assert.True(t, ended[0].Whole())
		assert.False(t, ended[0].Ended.Before(ended[0].Began))
		assert.False(t, ended[0].Ended.After(began))
	})
	t.Run("one that was abandoned is nobody's words", func(t *testing.T) {
		var m Machine
		feed(&m, Prompted, "ours")
		feed(&m, Spoke, "words")
		assert.Empty(t, m.Abandons(time.Time{}, at.Add(time.Hour)).Ended, "it works")
		rests := at.Add(time.Second)
		assert.Empty(t, m.Abandons(rests, rests).Ended)
		assert.Empty(t, m.Abandons(time.Time{}, at.Add(time.Hour)).Ended, "it works again")
		assert.Empty(t, m.Abandons(rests, rests).Ended)
		due, ok := m.Due()
		require.True(t, ok)
		assert.Equal(t, rests.Add(abandonedGrace), due)
		assert.Empty(t, m.Tick(due.Add(-1)).Ended)
		ended := m.Tick(due).Ended
		require.Len(t, ended, 1)
		assert.True(t, ended[0].Interrupted)
		assert.True(t, ended[0].Abandoned)
		assert.False(t, ended[0].Whole())
	})
	t.Run("words before a call are not the end", func(t *testing.T) {
		var m Machine
		m.Rests(at, at)
		feed(&m, Prompted, "ours")
		feed(&m, Spoke, "I will.")
		assert.Empty(t, m.Rests(time.Time{}, at.Add(time.Minute)).Ended, "its dialog is open")
		feed(&m, ToolBegan, "")
		feed(&m, ToolEnded, "")
		feed(&m, Spoke, "done")
		rests := at.Add(time.Second)
		ended := append(m.Rests(rests, rests).Ended, m.Tick(rests.Add(restGrace)).Ended...)
		require.Len(t, ended, 1)
		assert.Equal(t, "done", ended[0].Words)
	})
}

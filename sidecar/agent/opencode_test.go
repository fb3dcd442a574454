package agent

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// chatter writes events of opencode, as rows of its database.
type chatter struct {
	rows []row
	ms   int64
	ids  int
}

func newChatter(at time.Time) *chatter { return &chatter{ms: at.UnixMilli()} }

func (c *chatter) add(kind, data string, args ...any) {
	c.rows = append(c.rows, row{seq: int64(len(c.rows)), kind: kind, data: fmt.Appendf(nil, data, args...)})
}

func (c *chatter) id(kind string) string { c.ids++; return fmt.Sprintf("%s_%04d", kind, c.ids) }

func (c *chatter) now() int64 { c.ms++; return c.ms }

func (c *chatter) user(text string) string {
	id := c.id("msg")
	c.add("message.updated.1", `{"info":{"id":%q,"role":"user","time":{"created":%d}}}`, id, c.now())
	c.add("message.part.updated.1", `{"part":{"id":%q,"messageID":%q,"type":"text","text":%q},"time":%d}`, c.id("prt"), id, text, c.now())
	return id
}

func (c *chatter) step(answers, more string) string {
	id := c.id("msg")
	c.message(id, answers, more)
	return id
}

func (c *chatter) message(id, answers, more string) {
	c.add("message.updated.1", `{"info":{"id":%q,"role":"assistant","parentID":%q,"time":{"created":%d}%s}}`, id, answers, c.now(), more)
}

// over ends a step twice, as opencode does.
func (c *chatter) over(id, answers, finish string) {
	for range 2 {
		c.add("message.updated.1", `{"info":{"id":%q,"role":"assistant","parentID":%q,"finish":%q,"time":{"completed":%d}}}`, id, answers, finish, c.now())
	}
}

func (c *chatter) text(message, text string) {
	c.add("message.part.updated.1", `{"part":{"id":%q,"messageID":%q,"type":"text","text":%q,"time":{"start":1,"end":%d}},"time":%d}`,
		c.id("prt"), message, text, c.now(), c.now())
}

func (c *chatter) tool(message, call, status, more string) {
	c.add("message.part.updated.1", `{"part":{"id":%q,"messageID":%q,"type":"tool","callID":%q,"tool":"bash","state":{"status":%q%s}},"time":%d}`,
		"prt_"+call, message, call, status, more, c.now())
}

func (c *chatter) turn(prompt, words string) {
	asked := c.user(prompt)
	id := c.step(asked, "")
	c.text(id, words)
	c.over(id, asked, "stop")
}

func (c *chatter) told() (told []string) {
	r := NewReader(OpenCode, 0)
	for _, one := range c.rows {
		for _, e := range r.row(one) {
			line := strings.TrimSpace(fmt.Sprint(e.Kind, " ", e.Text, e.Tool.ID))
			if e.Kind == Prompted {
				line += " by " + string(e.By)
			}
			told = append(told, line)
		}
	}
	return told
}

// A prompt typed while the agent works is answered in the same turn, unless that has ended by then.
func TestOpenCode_promptsThatWait(t *testing.T) {
	t.Run("taken between two steps", func(t *testing.T) {
		c := newChatter(time.Now())
		one := c.user("one")
		step := c.step(one, "")
		c.tool(step, "1", "running", "")
		two := c.user("two")
		c.user("three")
		c.tool(step, "1", "completed", "")
		c.over(step, one, "tool-calls")
		step = c.step(two, "")
		c.text(step, "both")
		c.over(step, two, "stop")
		assert.Equal(t, []string{
			"prompt one by keys", "tool began 1", "queued two", "queued three", "tool ended 1",
			"prompt two by steer", "words both", "turn ended",
		}, c.told(), "three waits on")
	})
	t.Run("taken at the end", func(t *testing.T) {
		c := newChatter(time.Now())
		one := c.user("one")
		step := c.step(one, "")
		two := c.user("two")
		c.text(step, "first")
		c.over(step, one, "stop")
		step = c.step(two, "")
		c.text(step, "second")
		c.over(step, two, "stop")
		assert.Equal(t, []string{"prompt one by keys", "queued two", "words first", "turn ended", "prompt two by queue", "words second", "turn ended"}, c.told())
	})
	t.Run("left over by an interruption", func(t *testing.T) {
		c := newChatter(time.Now())
		one := c.user("one")
		step := c.step(one, "")
		c.user("two")
		c.message(step, one, `,"error":{"name":"MessageAbortedError","data":{"message":"Aborted"}}`)
		c.user("three")
		assert.Equal(t, []string{"prompt one by keys", "queued two", "interrupted Aborted", "prompt two by queue", "prompt three by steer"}, c.told())
	})
}

func TestOpenCode_howStepsEnd(t *testing.T) {
	for _, tt := range []struct {
		name string
		play func(c *chatter, asked string)
		want []string
	}{
		{"refused", func(c *chatter, asked string) {
			step := c.step(asked, "")
			c.tool(step, "1", "error", fmt.Sprintf(`,"error":%q`, opencodeRefused))
			c.over(step, asked, "tool-calls")
		}, []string{"tool began 1", "tool ended 1", "interrupted " + opencodeRefused}},
		{"refused with a word", func(c *chatter, asked string) {
			step := c.step(asked, "")
			c.tool(step, "1", "error", `,"error":"The user rejected permission to use this specific tool call with the following feedback: no"`)
			c.over(step, asked, "tool-calls")
			step = c.step(asked, "")
			c.text(step, "well then")
			c.over(step, asked, "stop")
		}, []string{"tool began 1", "tool ended 1", "words well then", "turn ended"}},
		{"too long", func(c *chatter, asked string) {
			step := c.step(asked, "")
			c.text(step, "so far")
			c.over(step, asked, "length")
		}, []string{"words so far", "turn ended"}},
		{"an error without words", func(c *chatter, asked string) {
			c.step(asked, `,"error":{"name":"ProviderAuthError"}`)
		}, []string{"failed ProviderAuthError"}},
		{"summed up in the middle", func(c *chatter, asked string) {
			step := c.step(asked, `,"summary":true`)
			c.text(step, "a summary")
			c.message(step, asked, `,"summary":true,"finish":"stop"`)
			c.add("message.updated.1", `{"info":{"id":%q,"role":"assistant","summary":true,"time":{"completed":%d}}}`, step, c.now())
			step = c.step(asked, "")
			c.text(step, "goes on")
			c.over(step, asked, "stop")
		}, []string{"compacted", "words goes on", "turn ended"}},
	} {
		c := newChatter(time.Now())
		tt.play(c, c.user("one"))
		assert.Equal(t, append([]string{"prompt one by keys"}, tt.want...), c.told(), tt.name)
	}
}

// A conversation of thousands of messages does not grow in memory.
func TestOpenCode_forgetsOldMessages(t *testing.T) {
	c := newChatter(time.Now())
	for i := range 3 * keptSteps {
		c.turn(fmt.Sprint("question ", i), fmt.Sprint("answer ", i))
	}
	r := NewReader(OpenCode, 0)
	var m Machine
	var ended []Turn
	for _, one := range c.rows {
		for _, e := range r.row(one) {
			ended = append(ended, m.Feed(e).Ended...)
		}
	}
	require.Len(t, ended, 3*keptSteps)
	for i, turn := range ended {
		assert.Equal(t, fmt.Sprint("answer ", i), turn.Words)
	}
	steps := r.parser.(*opencodeSteps)
	assert.LessOrEqual(t, len(steps.messages), keptSteps)
	assert.Len(t, steps.order, len(steps.messages))
}

// A fork repeats the old conversation as events of its own. They are as old as what they report.
func TestOpenCode_copiesAreAsOldAsWhatTheyTell(t *testing.T) {
	r := NewReader(OpenCode, 0)
	for _, from := range []string{"permission-denied", "queue-tool"} {
		data := recording(t, opencode+from+"/transcript.jsonl")
		copied := regexp.MustCompile(`"time":\d{13}\}\}`).ReplaceAll(data, []byte(`"time":1895290675408}}`))
		require.NotEqual(t, string(data), string(copied))
		for _, e := range r.Feed(copied) {
			if e.Kind != ToolBegan { // a call without a result is not copied
				assert.Equal(t, 2026, e.At.Year(), "%s %q", e.Kind, e.Text)
			}
		}
	}
}

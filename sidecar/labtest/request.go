package labtest

import (
	"encoding/json"
	"strings"
)

// A Request is one call of a model, in whatever API it came.
type Request struct {
	Thread string `json:"thread,omitempty"` // the client's name for the conversation, if it gives one
	Side   string `json:"side,omitempty"`   // why this is not the conversation with the user, such as "title"
	Model  string `json:"model,omitempty"`
	Stream bool   `json:"stream,omitempty"`

	// User are the texts that the user's side has added since the model last spoke, each
	// byte for byte; usually one, or none where a tool has answered.
	User []string `json:"user,omitempty"`
	// Earlier counts the user's texts before those, so that a request that is made again
	// is not taken for a text that was said twice.
	Earlier int `json:"earlier"`
	// Results are what tools answered since the model last spoke.
	Results []Result `json:"results,omitempty"`
	// Notes are what the client itself has put into the user's messages since then:
	// reminders, the directory, the date.
	Notes []string `json:"notes,omitempty"`

	Tools []string `json:"tools,omitempty"` // on offer, by the names that a call uses

	asked    string   // the user's last text in the whole conversation
	plain    []string // of Tools, those that take a text and not JSON: what Call has as "input"
	planFile string   // where Claude Code wants a plan to be written, if it does
	calls    int      // tool calls that were answered since that text
}

// A Result is what a tool answered.
type Result struct {
	Call string `json:"call"` // its id
	Text string `json:"text"`
}

// Who said one thing of a conversation.
type speaker int

const (
	byUser speaker = iota
	byClient
	byModel
	byTool
)

// said is one thing of a conversation; every API's messages are first taken apart into
// these.
type said struct {
	by   speaker
	text string
	call string // the id, if a tool said it
}

// hear fills the request from a whole conversation.
func (r *Request) hear(all []said) {
	for _, s := range all {
		switch s.by {
		case byModel:
			r.Earlier += len(r.User)
			r.User, r.Results, r.Notes = nil, nil, nil
		case byUser:
			r.User = append(r.User, s.text)
			r.asked, r.calls = s.text, 0
		case byClient:
			r.Notes = append(r.Notes, s.text)
		case byTool:
			r.Results = append(r.Results, Result{s.call, s.text})
			r.calls++
		}
	}
}

// fromUser is what one text of a user's message is: the user's own, or a note of the
// client, which is always a whole text of its own.
func fromUser(text string) said {
	for _, note := range []struct{ begin, end string }{
		{"<system-reminder>", "</system-reminder>"},
		{"<environment_context>", "</environment_context>"},
		{"<user_instructions>", "</user_instructions>"},
		{"# AGENTS.md instructions", "</INSTRUCTIONS>"},
		{"<skill>", "</skill>"},
		{"<session_context>", "</session_context>"},
		{"[Request interrupted by user", "]"},
	} {
		trimmed := strings.TrimSpace(text)
		if strings.HasPrefix(trimmed, note.begin) && strings.HasSuffix(trimmed, note.end) {
			return said{by: byClient, text: text}
		}
	}
	return said{by: byUser, text: text}
}

// content is the content of a message, which all APIs but Gemini's write either as one
// string or as a list of parts.
type content []part

// part is the union of what the APIs have as parts of a message.
type part struct {
	Type    string  `json:"type"`
	Text    string  `json:"text"`
	ID      string  `json:"tool_use_id"` // of a tool_result
	Content content `json:"content"`     // of a tool_result
}

func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	var parts []part
	if json.Unmarshal(data, &parts) == nil {
		*c = parts
		return nil
	}
	*c = content{{Type: "text", Text: string(data)}} // a form that nobody has told us of: as it is
	return nil
}

// text is the content's texts, a line break between two of them.
func (c content) text() string {
	var texts []string
	for _, p := range c {
		if p.isText() {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func (p part) isText() bool {
	return p.Type == "text" || p.Type == "input_text" || p.Type == "output_text"
}

package labtest

import (
	"encoding/json"
	"strings"
)

// A Request is one call of a model, in any of the APIs.
type Request struct {
	Thread string `json:"thread,omitempty"` // the client's name for the conversation, if it gives one
	Side   string `json:"side,omitempty"`   // why this is not the conversation with the user, such as "title"
	Model  string `json:"model,omitempty"`
	Stream bool   `json:"stream,omitempty"`

	// User has the texts that the user has added since the model last spoke, byte for byte: usually one, or none after
	// an answer of a tool.
	User []string `json:"user,omitempty"`
	// Earlier is the number of the user's texts before those, so that a repeated request is not taken for a repeated
	// text.
	Earlier int `json:"earlier"`
	// Results are the answers of tools since the model last spoke.
	Results []Result `json:"results,omitempty"`
	// Notes are the texts that the client itself has put into the user's messages since then: reminders, the directory,
	// the date.
	Notes []string `json:"notes,omitempty"`

	Tools []string `json:"tools,omitempty"` // the offered tools, by the names for calls

	asked    string   // the user's last text in the whole conversation
	plain    []string // those of Tools that take a text instead of JSON; in a Call it is the argument "input"
	planFile string   // the file to which Claude Code or Gemini CLI wants a plan to be written, if any
	calls    int      // tool calls answered since that text
}

// A Result is the answer of a tool.
type Result struct {
	Call string `json:"call"` // the id of the call
	Text string `json:"text"`
}

// speaker says who said one thing of a conversation.
type speaker int

const (
	byUser speaker = iota
	byClient
	byModel
	byTool
)

// said is one thing of a conversation. The messages of every API are first split into these.
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

// fromUser classifies one text of a user's message: it is the user's own, or a note of the client, which is always a
// whole text.
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

// content is the content of a message. All APIs but Gemini's write it either as one string or as a list of parts.
type content []part

// part is the union of the APIs' parts of a message.
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
	*c = content{{Type: "text", Text: string(data)}} // an unknown form: taken as it is
	return nil
}

// text returns the content's texts, joined by line breaks.
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

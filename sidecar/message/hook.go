package message

import "time"

// Hook is an event that an agent's own hook reports: `intercom hook AGENT EVENT`.
type Hook struct {
	Agent      string    `json:"agent"`                // name of the profile: claude, codex
	Event      string    `json:"event"`                // as the agent names it: Stop, UserPromptSubmit, …
	Thread     string    `json:"thread,omitempty"`     // the agent's own id of the conversation
	Turn       string    `json:"turn,omitempty"`       // the agent's own id of the turn
	Transcript string    `json:"transcript,omitempty"` // path
	Prompt     string    `json:"prompt,omitempty"`     // of UserPromptSubmit and notify
	Words      string    `json:"words,omitempty"`      // of Stop and notify: the last words
	Detail     string    `json:"detail,omitempty"`     // name of a tool, kind of a notification
	At         time.Time `json:"at"`                   // stamped on arrival
}

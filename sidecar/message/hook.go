package message

import "time"

// Hook is what an agent's own hook tells of it: `intercom hook AGENT EVENT`.
type Hook struct {
	Agent      string    `json:"agent"`                // name of the profile: claude, codex
	Event      string    `json:"event"`                // as the agent names it: Stop, UserPromptSubmit, …
	Thread     string    `json:"thread,omitempty"`     // the agent's own id of the conversation
	Turn       string    `json:"turn,omitempty"`       // and of the turn
	Transcript string    `json:"transcript,omitempty"` // path
	Prompt     string    `json:"prompt,omitempty"`     // of UserPromptSubmit and notify
	Words      string    `json:"words,omitempty"`      // of Stop and notify: the last that was said
	Detail     string    `json:"detail,omitempty"`     // name of a tool, kind of a notification
	At         time.Time `json:"at"`                   // stamped where it arrives
}

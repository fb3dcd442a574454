package policy

import (
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Entry is one line of `intercom policy log`. It contains no text of any message.
type Entry struct {
	At           time.Time         `json:"at"`
	Event        string            `json:"event"` // decided, in use, refused, rolled back, agent-config
	Generation   string            `json:"generation,omitempty"`
	Message      message.ID        `json:"message,omitempty"`
	Verb         message.Verb      `json:"verb,omitempty"`
	Reason       string            `json:"reason,omitempty"`
	By           string            `json:"by,omitempty"`
	Outcomes     []message.Outcome `json:"outcomes,omitempty"`
	Floor        []message.ID      `json:"floor,omitempty"`
	Failures     []Failure         `json:"failures,omitempty"`
	Said         []LogLine         `json:"said,omitempty"`
	Micros       int64             `json:"us,omitempty"`
	Instructions int               `json:"instructions,omitempty"`
	Unfiltered   bool              `json:"unfiltered,omitempty"`
	Error        string            `json:"error,omitempty"`
	Tried        int               `json:"tried,omitempty"`
	Of           int               `json:"of,omitempty"` // how many were to be tried, if there was no time for all
	Changed      []Change          `json:"changed,omitempty"`
	Loosened     []Change          `json:"loosened,omitempty"`
}

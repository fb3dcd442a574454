package policyset

import (
	"encoding/json"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// entry is one line of `intercom policy log`. It has no words of any message.
type entry struct {
	At           time.Time         `json:"at"`
	Event        string            `json:"event"` // decided, in use, refused, rolled back
	Generation   string            `json:"generation,omitempty"`
	Message      message.ID        `json:"message,omitempty"`
	Verb         message.Verb      `json:"verb,omitempty"`
	Reason       string            `json:"reason,omitempty"`
	By           string            `json:"by,omitempty"`
	Outcomes     []message.Outcome `json:"outcomes,omitempty"`
	Floor        []message.ID      `json:"floor,omitempty"`
	Failures     []policy.Failure  `json:"failures,omitempty"`
	Said         []policy.LogLine  `json:"said,omitempty"`
	Micros       int64             `json:"us,omitempty"`
	Instructions int               `json:"instructions,omitempty"`
	Unfiltered   bool              `json:"unfiltered,omitempty"`
	Error        string            `json:"error,omitempty"`
	Tried        int               `json:"tried,omitempty"`
	Changed      []policy.Change   `json:"changed,omitempty"`
	Loosened     []policy.Change   `json:"loosened,omitempty"`
}

func (p *InUse) recordVerdict(v policy.Verdict, out message.Verdict) {
	p.record(entry{
		Event: "decided", Generation: v.Generation, Message: out.Message, Verb: out.Verb, Reason: out.Reason, By: out.By,
		Outcomes: out.Outcomes, Floor: out.Floor, Failures: v.Failures, Said: v.Log, Micros: v.Took.Microseconds(),
		Instructions: v.Instructions, Unfiltered: v.Unfiltered,
	})
}

func (p *InUse) record(e entry) {
	e.At = p.Now()
	line, err := json.Marshal(e)
	if err == nil {
		_, err = p.Record.Write(append(line, '\n'))
	}
	if err != nil {
		p.Log.Warn("policy log", "err", err)
	}
}

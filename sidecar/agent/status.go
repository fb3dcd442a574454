package agent

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The states that the status file of Claude Code gives. What else it may say means that we
// do not know.
const (
	StatusIdle    = "idle"
	StatusBusy    = "busy"
	StatusWaiting = "waiting"
)

// Status is what Claude Code says about itself: the content of its file for one process.
type Status struct {
	State   string    // StatusIdle and so on
	For     string    // of StatusWaiting: "permission prompt", "input needed", "dialog open"
	Since   time.Time // when the state last changed; its age is the strength of the signal
	Thread  string    // the conversation
	Dir     string    // the working directory
	Version string
}

// PaneState is what the status means for a pane. Idle says that no turn is open; whether a
// composer is there and empty it does not say.
func (s Status) PaneState() message.PaneState {
	switch s.State {
	case StatusIdle:
		return message.Idle
	case StatusBusy:
		return message.Working
	case StatusWaiting:
		return message.Blocked
	}
	return message.Unknown
}

// Age is how old the signal is at a time.
func (s Status) Age(now time.Time) time.Duration {
	if s.Since.IsZero() {
		return 0
	}
	return max(0, now.Sub(s.Since))
}

type statusFile struct {
	PID           int             `json:"pid"`
	ProcStart     json.RawMessage `json:"procStart"` // a text, but a number would do as well
	SessionID     string          `json:"sessionId"`
	Cwd           string          `json:"cwd"`
	Version       string          `json:"version"`
	Status        string          `json:"status"`
	WaitingFor    string          `json:"waitingFor"`
	StatusUpdated float64         `json:"statusUpdatedAt"` // milliseconds
	Updated       float64         `json:"updatedAt"`
}

// parseStatus reads a status file and the start time of the process that it is about.
func parseStatus(data []byte) (s Status, pid int, start string, err error) {
	var f statusFile
	if err := json.Unmarshal(data, &f); err != nil {
		return Status{}, 0, "", fmt.Errorf("status file: %w", err)
	}
	if f.SessionID == "" {
		return Status{}, 0, "", fmt.Errorf("status file: no session")
	}
	ms := f.StatusUpdated
	if ms == 0 {
		ms = f.Updated
	}
	s = Status{State: f.Status, Thread: f.SessionID, Dir: f.Cwd, Version: f.Version}
	if s.State == StatusWaiting {
		s.For = f.WaitingFor
	}
	if ms > 0 {
		s.Since = time.UnixMilli(int64(ms))
	}
	var text string
	if json.Unmarshal(f.ProcStart, &text) != nil {
		text = string(f.ProcStart)
	}
	return s, f.PID, text, nil
}

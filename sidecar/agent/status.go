package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The states in the status file of Claude Code. Any other value means that the state is unknown.
const (
	StatusIdle    = "idle"
	StatusBusy    = "busy"
	StatusWaiting = "waiting"

	// ForInput is the value of Status.For when the agent has asked a question.
	ForInput = "input needed"
)

// Status is what Claude Code says about itself in its status file for one process.
type Status struct {
	State   string    // StatusIdle and so on
	For     string    // of StatusWaiting: "permission prompt", ForInput, "dialog open"
	Since   time.Time // when the state last changed; the older, the stronger the signal
	Thread  string    // the conversation
	Dir     string    // the working directory
	Version string
}

// PaneState returns what the status means for a pane. Idle says that no turn is open; it does not say whether there
// is an empty composer.
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

// Age returns how old the status is at a time.
func (s Status) Age(now time.Time) time.Duration {
	if s.Since.IsZero() {
		return 0
	}
	return max(0, now.Sub(s.Since))
}

type statusFile struct {
	PID           int             `json:"pid"`
	ProcStart     json.RawMessage `json:"procStart"` // a string, but a number would do as well
	SessionID     string          `json:"sessionId"`
	Cwd           string          `json:"cwd"`
	Version       string          `json:"version"`
	Status        string          `json:"status"`
	WaitingFor    string          `json:"waitingFor"`
	StatusUpdated float64         `json:"statusUpdatedAt"` // milliseconds
	Updated       float64         `json:"updatedAt"`
}

// parseStatus reads a status file, including the pid and start time of its process.
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

// Status reads the agent's own status file. Only Claude Code has one. It returns ErrNoTranscript for other agents,
// if there is no file, or if an earlier process with the same pid wrote it.
func (a Agent) Status() (Status, error) {
	read := a.Kind.format().status
	if read == nil {
		return Status{}, fmt.Errorf("status of %s: %w", a.Kind, ErrNoTranscript)
	}
	return read(a)
}

// claudeStatus reads the status file of one of the agent's processes.
func claudeStatus(a Agent) (Status, error) {
	for _, pid := range a.Tried {
		path := filepath.Join(a.Home, "sessions", strconv.Itoa(pid)+".json")
		data, err := foreign.Read(path, smallFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Status{}, fmt.Errorf("status of %s: %w", a.Kind, err)
		}
		s, of, start, err := parseStatus(data)
		if err != nil {
			return Status{}, fmt.Errorf("%q: %w: %w", path, ErrNoTranscript, err)
		}
		now, err := started(pid)
		if err != nil {
			return Status{}, err
		}
		if of != pid || now != 0 && start != strconv.FormatUint(now, 10) {
			return Status{}, fmt.Errorf("%q is of an earlier process: %w", path, ErrNoTranscript)
		}
		if !plainName(s.Thread) {
			return Status{}, fmt.Errorf("%q names the session %q: %w", path, s.Thread, ErrNoTranscript)
		}
		return s, nil
	}
	return Status{}, fmt.Errorf("status of %s process %d below %q: %w", a.Kind, a.Process.PID, a.Home, ErrNoTranscript)
}

// byStatus finds the transcript by the agent's own status file.
func (f *Follower) byStatus() (Transcript, error) {
	s, err := f.Agent.Status()
	f.unasked = nil
	if err != nil {
		if f.told.State != "" {
			f.unasked = err // the last status may no longer be true
		}
		return Transcript{}, err
	}
	f.status = &s
	known := s.Thread == f.bound.Thread && f.bound.How == ByStatusFile && f.tail != nil
	if known && exists(f.bound.Path) {
		return f.bound, nil
	}
	t := f.Agent.claudeTranscript(s)
	if known && !exists(t.Path) {
		return f.bound, nil // not written yet, or removed
	}
	return t, nil
}

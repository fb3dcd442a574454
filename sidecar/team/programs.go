package team

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

// ProgramsName is the file of Programs. It is beside the lesson's files, which have no place for it: its programs rewrite
// config.json as they know it.
const ProgramsName = "processes.json"

// Program is what runs in the pane of a teammate. Whoever descends from it, or is at its terminal, is that teammate,
// which a process cannot forget as it can its environment, and which shows where no sidecar runs.
type Program struct {
	Name  string `json:"name"`
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`                   // clock ticks since boot; 0 where the system does not tell
	Boot  string `json:"boot,omitempty"`          // of the system in which it has that number,
	Space string `json:"pid_namespace,omitempty"` // and where there
}

// Programs are those of the teammates who have sessions, as a sidecar wrote them down last: some may have ended.
func (d Dir) Programs() (all []Program, err error) {
	text, _, err := foreign.ReadOurs(d.at(ProgramsName), maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("processes of team %q: %w", d.Path, err)
	}
	return all, nil
}

// SetPrograms writes down all that there are now. The error of a team that was removed is one of fs.ErrNotExist.
func (d Dir) SetPrograms(all []Program) error {
	var err error
	if len(all) == 0 {
		if err = os.Remove(d.at(ProgramsName)); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	} else {
		var text []byte
		if text, err = json.MarshalIndent(all, "", "  "); err == nil {
			err = atomicfile.Write(d.at(ProgramsName), append(text, '\n'), 0o600)
		}
	}
	if err != nil {
		return fmt.Errorf("processes of team %q: %w", d.Path, err)
	}
	return nil
}

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

// ProgramsName is the name of the file of Programs. The file stands beside the lesson's files because these
// have no place for it: the lesson's programs rewrite config.json with only the fields that they know.
const ProgramsName = "processes.json"

// Program is the program that runs in the pane of a teammate. A process that descends from it, or is at its
// terminal, is that teammate. A process can lose its environment, but not this, and it works even where no
// sidecar runs.
type Program struct {
	Name  string `json:"name"`
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`                   // clock ticks since boot; 0 if the system does not tell
	Boot  string `json:"boot,omitempty"`          // boot id of the system in which it has that PID,
	Space string `json:"pid_namespace,omitempty"` // and the PID namespace there
}

// Programs returns the programs of the teammates that have sessions, as a sidecar last recorded them. Some may
// have ended.
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

// SetPrograms records all programs that there are now. If the team was removed, the error wraps fs.ErrNotExist.
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

package repository

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// Enabled is the list of repositories in which a person of this computer allows messages to be processed and
// answers to be written. Each repository has a file in a directory of the person's state. Nothing that a
// repository brings along, as after git clone, enables it.
type Enabled struct{ Dir string }

// Monitor says when the messages of a repository are processed.
type Monitor string

// The monitors.
const (
	MonitorAuto Monitor = ""    // while any sidecar runs
	MonitorOn   Monitor = "on"  // always: a sidecar stays for it
	MonitorOff  Monitor = "off" // never
)

// Wish is what a person said about one repository.
type Wish struct {
	Path    string    `json:"path"`
	Agent   string    `json:"agent_id"`
	Since   time.Time `json:"since"`
	Monitor Monitor   `json:"monitor,omitempty"`
}

// EnabledIn returns the list in the directory of the person's state,
// ${XDG_STATE_HOME:-~/.local/state}/intercom.
func EnabledIn(state string) Enabled { return Enabled{filepath.Join(state, "repositories")} }

// Key returns the text that stands for a repository in the names of files.
func Key(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:10])
}

func (e Enabled) file(path string) string { return filepath.Join(e.Dir, Key(path)+".json") }

// List returns all wishes, ordered by path. A file that cannot be read enables nothing.
func (e Enabled) List() ([]Wish, error) {
	entries, err := own.List(e.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("repositories: %w", err)
	}
	var all []Wish
	for _, entry := range entries {
		if w, ok := e.read(filepath.Join(e.Dir, entry.Name())); ok {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b Wish) int { return cmp.Compare(a.Path, b.Path) })
	return all, nil
}

func (e Enabled) read(file string) (w Wish, ok bool) {
	text, err := own.Read(file, 64<<10)
	if err != nil || json.Unmarshal(text, &w) != nil {
		return Wish{}, false
	}
	return w, e.file(w.Path) == file
}

// Find returns what a person said about a repository, given its path without links.
func (e Enabled) Find(path string) (Wish, bool) { return e.read(e.file(path)) }

// Set records what a person says about a repository.
func (e Enabled) Set(w Wish) error {
	if err := atomicfile.MkdirAll(e.Dir, 0o700); err != nil {
		return fmt.Errorf("repositories: %w", err)
	}
	text, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return atomicfile.Write(e.file(w.Path), append(text, '\n'), 0o600)
}

// Remove deletes what a person said about a repository. The ledger, which says how far its messages have come,
// stays.
func (e Enabled) Remove(path string) error {
	err := os.Remove(e.file(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = atomicfile.SyncDir(filepath.Dir(e.file(path))) // otherwise a power cut could enable it again
	}
	if err != nil {
		return fmt.Errorf("repositories: %w", err)
	}
	return nil
}

// Unsay removes the PIDFile that a killed sidecar has left in a repository: its number may be another process's by now.
// While a sidecar serves the repository, Unsay does nothing.
func (e Enabled) Unsay(d Dir) error {
	c, err := claim.Take(e.claim(d.Path))
	if errors.Is(err, claim.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Release()
	if d.there() != nil { // through a link it would be somebody else's
		return nil
	}
	if err := os.Remove(d.at(PIDFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Served reports whether a sidecar processes the messages of a repository now.
func (e Enabled) Served(path string) bool { return claim.Held(e.claim(path)) }

package scripting

import (
	"path/filepath"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

// ReadNamed reads one policy wherever it lies, to look at it: its name in problems is its
// path, and init.lua may configure.
func ReadNamed(path string) (policy.Source, error) {
	source, err := readSource(path, sourceName(path), foreign.Read)
	source.Settings = filepath.Base(path) == "init.lua"
	return source, err
}

// ReadProject reads the policy of a project. It is no link to something elsewhere: whoever
// wrote the project wrote it.
func ReadProject(dir string) (policy.Source, error) {
	path := filepath.Join(dir, ProjectFile)
	return readSource(path, sourceName(path), foreign.ReadItself)
}

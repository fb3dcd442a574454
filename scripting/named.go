package scripting

import (
	"path/filepath"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

// ReadNamed reads one policy from anywhere, for inspection. Problems name it by its path. An init.lua may configure.
func ReadNamed(path string) (policy.Source, error) {
	source, err := readSource(path, sourceName(path), foreign.Read)
	source.Settings = filepath.Base(path) == "init.lua"
	return source, err
}

// ReadProject reads the policy of a project. It follows no symbolic link, because the author of the project controls
// the file.
func ReadProject(dir string) (policy.Source, error) {
	path := filepath.Join(dir, ProjectFile)
	return readSource(path, sourceName(path), foreign.ReadItself)
}

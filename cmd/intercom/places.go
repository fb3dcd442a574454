package main

import (
	"path/filepath"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// configDir returns the directory of a person's own policies.
func (a *app) configDir() (string, error) { return a.ours("XDG_CONFIG_HOME", ".config") }

// dataDir returns the directory for what can be made again.
func (a *app) dataDir() (string, error) {
	return a.ours("XDG_DATA_HOME", filepath.Join(".local", "share"))
}

// stateDir returns the directory for what is remembered for all tmux servers.
func (a *app) stateDir() (string, error) {
	return a.ours("XDG_STATE_HOME", filepath.Join(".local", "state"))
}

// ours returns our directory in the one that a variable names. A relative path in the variable is ignored, as its
// specification demands.
func (a *app) ours(variable, otherwise string) (string, error) {
	return ourDir(a.Getenv, variable, otherwise)
}

func ourDir(getenv func(string) string, variable, otherwise string) (string, error) {
	dir := getenv(variable)
	if !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", api.Errorf(api.CodeUsage, "neither %s nor HOME is an absolute path", variable).WithHint("set HOME")
		}
		dir = filepath.Join(home, otherwise)
	}
	return filepath.Join(dir, "intercom"), nil
}

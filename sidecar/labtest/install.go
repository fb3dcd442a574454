package labtest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// Version returns the version of an agent that the lab uses: the one that its profile was verified with.
func (k Kind) Version() string {
	if _, ok := clients[k]; !ok {
		return ""
	}
	a, _ := profile.AgentByName(string(k))
	return a.Verified
}

// Package returns the npm package that .ci/agents installs.
func (k Kind) Package() string { return clients[k].npm }

// Installed returns the directory in which .ci/agents has installed the agent. The error says what is missing.
func (k Kind) Installed() (string, error) { return k.InstalledAt(k.Version()) }

// InstalledAt is Installed for another version of the agent.
func (k Kind) InstalledAt(version string) (string, error) {
	if k.Version() == "" {
		return "", fmt.Errorf("%q is no agent of the lab", k)
	}
	return installed(string(k), version)
}

// MCPClients returns the directory in which .ci/agents has installed the official MCP clients of a lock file.
func MCPClients(lock []byte) (string, error) {
	return installed("mcp-clients", fmt.Sprintf("%x", sha256.Sum256(lock))[:12])
}

func installed(name, version string) (string, error) {
	root := os.Getenv("INTERCOM_AGENTS")
	if root == "" {
		cache := os.Getenv("XDG_CACHE_HOME")
		if cache == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return "", fmt.Errorf("cache: %w", err)
			}
			cache = filepath.Join(home, ".cache")
		}
		root = filepath.Join(cache, "tmux-intercom", "agents")
	}
	dir := filepath.Join(root, name+"-"+version)
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("%s %s is not installed in %s: .ci/agents %s@%s does that, with node and npm", name, version, root, name, version)
	}
	return dir, nil
}

// one returns the first regular file of an install that matches a pattern.
func one(install string, pattern ...string) (string, error) {
	joined := filepath.Join(append([]string{install, "node_modules"}, pattern...)...)
	files, err := filepath.Glob(joined)
	if err != nil {
		return "", fmt.Errorf("program: %w", err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file, nil
		}
	}
	return "", fmt.Errorf("program: nothing is %q", joined)
}

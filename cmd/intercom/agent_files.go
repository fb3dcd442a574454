package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/tmux-intercom/tmux-intercom/docs/skill"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// knownAgents are those that the sidecar recognises by their process.
var knownAgents = func() (names []string) {
	for _, a := range profile.Agents() {
		names = append(names, a.Name)
	}
	return names
}()

// agentNamed is what is known of an agent.
func agentNamed(name string) profile.Agent {
	a, _ := profile.AgentByName(name)
	return a
}

// titles are what people call the agents, as one would list them.
func titles(last string, are func(profile.Agent) bool) string {
	var names []string
	for _, a := range profile.Agents() {
		if are(a) {
			names = append(names, a.Title)
		}
	}
	return inWords(last, names)
}

// anyAgent is every agent.
func anyAgent(profile.Agent) bool { return true }

// heldByHooks says of an agent that its hooks keep it from using a tool.
func heldByHooks(a profile.Agent) bool { return a.Settings.Hooks.Holds }

// paragraph is a part of a help text whose words come from a table.
func paragraph(text string) string {
	return strings.ReplaceAll(wrapped(text, helpWidth+1)[1:], "\n ", "\n")
}

// inWords are words in a row, with another before the last: "a, b and c".
func inWords(last string, words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}

// ofAgents is a part of a help text that says something of each agent.
func ofAgents(names []string, says func(profile.Settings) string) string {
	width := len(slices.MaxFunc(names, func(a, b string) int { return len(a) - len(b) }))
	var b strings.Builder
	for _, name := range names {
		text := wrapped(" "+says(agentNamed(name).Settings), helpWidth-width-4)
		fmt.Fprintf(&b, "  %-*s %s\n", width, name, strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", width+3)))
	}
	return b.String()
}

// hooksFile is the configuration of an agent where its hooks go.
func (a *app) hooksFile(agent string) (string, error) {
	return a.fileOf(agent, agentNamed(agent).Settings.Hooks.File)
}

// serverFile is the configuration in which an agent's MCP servers stand.
func (a *app) serverFile(agent string) (string, error) {
	return a.fileOf(agent, agentNamed(agent).Settings.Server.File)
}

// skillFile is where an agent looks for the skill.
func skillFile(agent string) profile.File {
	file := agentNamed(agent).Settings.Skills
	file.Path = filepath.Join(file.Path, skill.Name, "SKILL.md")
	return file
}

// fileOf is where a file of an agent's stands, links followed: settings are often links into a
// repository.
func (a *app) fileOf(agent string, f profile.File) (string, error) {
	dir, err := a.directoryOf(agent, f)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, f.Path)
	if f.Or != "" && !exists(path) {
		if other := filepath.Join(dir, f.Or); exists(other) {
			path = other
		}
	}
	return follow(path)
}

// tidy removes the directories that were made for a file of an agent's which is gone, as far as nothing else is in them: no
// link, nor what a link led to, and no directory that a variable names, or that all programs share.
func (a *app) tidy(agent string, f profile.File, file string) {
	top, err := a.directoryOf(agent, f)
	if err != nil || filepath.Dir(file) != filepath.Dir(filepath.Join(top, f.Path)) {
		return
	}
	if home := a.Getenv("HOME"); top == filepath.Join(home, f.Dir) && !strings.HasPrefix(f.Variable, "XDG_") {
		top = home
	}
	for dir := filepath.Dir(file); strings.HasPrefix(dir, filepath.Clean(top)+"/"); dir = filepath.Dir(dir) {
		if syscall.Rmdir(dir) != nil {
			return
		}
	}
}

// directoryOf is the directory that a variable names, else one below the home. A relative one is
// the agent's own matter, but for those of XDG, which have to be ignored then.
func (a *app) directoryOf(agent string, f profile.File) (string, error) {
	if f.Variable != "" {
		own := a.Getenv(f.Variable)
		if filepath.IsAbs(own) {
			return own, nil
		}
		if own != "" && !strings.HasPrefix(f.Variable, "XDG_") {
			return filepath.Abs(own)
		}
	}
	home := a.Getenv("HOME")
	switch {
	case filepath.IsAbs(home):
		return filepath.Join(home, f.Dir), nil
	case f.Variable == "":
		return "", api.Errorf(api.CodeUsage, "no place for the configuration of %s: HOME is not an absolute path", agent).WithHint("set HOME")
	}
	return "", api.Errorf(api.CodeUsage, "no place for the configuration of %s: neither %s nor HOME is an absolute path", agent, f.Variable).WithHint("set HOME")
}

// follow is what a path leads to, there or not.
func follow(path string) (string, error) {
	for range 40 {
		target, err := os.Readlink(path)
		if err != nil {
			return path, nil // no link, or nothing
		}
		if !filepath.IsAbs(target) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(path)) // where .. leads from a directory that is a link itself
			if err != nil {
				dir = filepath.Dir(path)
			}
			target = filepath.Join(dir, target)
		}
		path = target
	}
	return "", api.Errorf(api.CodeFailed, "file %q: too many links", path)
}

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

// knownAgents are the names of the agents that the sidecar recognises by their process.
var knownAgents = func() (names []string) {
	for _, a := range profile.Agents() {
		names = append(names, a.Name)
	}
	return names
}()

// agentNamed returns the agent of that name, or the zero value.
func agentNamed(name string) profile.Agent {
	a, _ := profile.AgentByName(name)
	return a
}

// titles lists the titles of the agents for which are reports true, with last before the last one.
func titles(last string, are func(profile.Agent) bool) string {
	var names []string
	for _, a := range profile.Agents() {
		if are(a) {
			names = append(names, a.Title)
		}
	}
	return inWords(last, names)
}

// anyAgent selects every agent.
func anyAgent(profile.Agent) bool { return true }

// heldByHooks selects the agents whose hooks can keep them from using a tool.
func heldByHooks(a profile.Agent) bool { return a.Settings.Hooks.Holds }

// paragraph wraps a part of a help text whose words come from a table.
func paragraph(text string) string {
	return strings.ReplaceAll(wrapped(text, helpWidth+1)[1:], "\n ", "\n")
}

// inWords joins words to a list, with last before the last of them: "a, b and c".
func inWords(last string, words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}

// ofAgents returns the part of a help text that says something about each agent.
func ofAgents(names []string, says func(profile.Settings) string) string {
	width := len(slices.MaxFunc(names, func(a, b string) int { return len(a) - len(b) }))
	var b strings.Builder
	for _, name := range names {
		text := wrapped(" "+says(agentNamed(name).Settings), helpWidth-width-4)
		fmt.Fprintf(&b, "  %-*s %s\n", width, name, strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", width+3)))
	}
	return b.String()
}

// hooksFile returns the configuration file of an agent that its hooks go into.
func (a *app) hooksFile(agent string) (string, error) {
	return a.fileOf(agent, agentNamed(agent).Settings.Hooks.File)
}

// serverFile returns the configuration file of an agent that lists its MCP servers.
func (a *app) serverFile(agent string) (string, error) {
	return a.fileOf(agent, agentNamed(agent).Settings.Server.File)
}

// skillFile returns the file in which an agent looks for the skill.
func skillFile(agent string) profile.File {
	file := agentNamed(agent).Settings.Skills
	file.Path = filepath.Join(file.Path, skill.Name, "SKILL.md")
	return file
}

// fileOf returns the path of an agent's file, with links followed: settings are often links into a repository.
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

// tidy removes the directories that were made for an agent's file that is gone, as far as they are empty. It keeps
// links and the directories that they lead to, a directory that a variable names, and directories that all programs
// share.
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

// directoryOf returns the directory that the agent's variable names, else the agent's directory below the home. A
// relative value is relative to the current directory, as the agent takes it; in an XDG variable it has to be ignored.
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

// follow returns the path that a chain of links leads to, whether or not it exists.
func follow(path string) (string, error) {
	for range 40 {
		target, err := os.Readlink(path)
		if err != nil {
			return path, nil // not a link, or nothing is there
		}
		if !filepath.IsAbs(target) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(path)) // a .. in target starts from the real directory, not from a link to it
			if err != nil {
				dir = filepath.Dir(path)
			}
			target = filepath.Join(dir, target)
		}
		path = target
	}
	return "", api.Errorf(api.CodeFailed, "file %q: too many links", path)
}

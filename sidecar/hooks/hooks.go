// Package hooks writes into the configuration files of agents that they shall call
// `intercom hook`, or start `intercom mcp`, and takes exactly that out again. It is text in, text out: whoever calls
// it reads and writes the files. It has no state and starts no goroutine.
//
// What stands in a file is never written anew. It is parsed for places only, and there our
// text is put in or taken out, so that every other byte stays: comments, order, line ends, a
// missing last line break. What is ours is known by what it says, wherever somebody has moved
// it since: a call of intercom with the words hook, the agent and the event.
//
// One thing cannot be seen afterwards: whether a list that has nothing but our call in it was
// there before, empty, or was made for it. So a call says so in a comment where the list was
// there, and without one what is left empty goes too; the whole file, if it was made for us.
package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// ErrTaken is the error of a file in which another program has the one place that there is.
var ErrTaken = errors.New("notify is taken: it calls another program")

// agent is what is known of an agent's configuration. Both functions get the text of the
// file, nil for none, and the program to call; what they return is the file's text from then
// on, nil for none, and may be what they got.
type agent struct {
	name      string
	events    []string
	install   func(text []byte, program string) ([]byte, error)
	uninstall func(text []byte, program string) ([]byte, error)
	holds     bool // it was seen to use no tool that we deny
}

var agents = []agent{
	{name: "claude", events: claude.events, install: claude.install, uninstall: claude.uninstall, holds: true},
	{name: "codex", events: []string{notifyKey}, install: installCodex, uninstall: uninstallCodex},
	{name: "gemini", events: gemini.events, install: gemini.install, uninstall: gemini.uninstall, holds: true},
	{name: "opencode", events: []string{opencodeEvent}, install: installOpencode, uninstall: uninstallOpencode, holds: true},
}

// Agents are the names of the agents that can be told to call us.
func Agents() []string {
	var names []string
	for _, a := range agents {
		names = append(names, a.name)
	}
	return names
}

// Events are the events of which an agent tells us, by its own names for them.
func Events(name string) []string {
	a, err := find(name)
	if err != nil {
		return nil
	}
	return slices.Clone(a.events)
}

// Holds reports whether what Install puts in was seen to keep an agent from using a tool. Codex has such
// a hook too, but takes it from its configuration only once a person has said at its start that they
// trust it, so none is put in.
func Holds(name string) bool {
	a, err := find(name)
	return err == nil && a.holds
}

// Install makes the agent call program, an absolute path, at each of its events. text is what
// stands in its configuration file, nil if there is none. The result is nil too only with an
// error: of a file that is not valid, or that has something else where our calls belong;
// ErrTaken if only one program can be called, and another one is. What is installed already is
// left as it is, but for the program's path.
func Install(name string, text []byte, program string) ([]byte, error) {
	a, err := find(name)
	if err != nil {
		return nil, err
	}
	return beside(text, program, a.install)
}

// Uninstall takes out what Install has put in, whatever else was changed since. A result of
// nil means that nothing is left of a file which Install has made.
func Uninstall(name string, text []byte, program string) ([]byte, error) {
	a, err := find(name)
	if err != nil || text == nil {
		return nil, err
	}
	return beside(text, program, a.uninstall)
}

// beside has a byte order mark left where it is.
func beside(text []byte, program string, change func([]byte, string) ([]byte, error)) ([]byte, error) {
	rest, marked := bytes.CutPrefix(text, []byte("\ufeff"))
	changed, err := change(rest, program)
	if !marked || changed == nil {
		return changed, err
	}
	return slices.Concat(text[:len(text)-len(rest)], changed), err
}

func find(name string) (agent, error) {
	i := slices.IndexFunc(agents, func(a agent) bool { return a.name == name })
	if i < 0 {
		return agent{}, fmt.Errorf("agent %q: not known", name)
	}
	return agents[i], nil
}

// What was there before, and empty, where a call was put in.
const (
	wasNothing  = ""
	wasFile     = "file"
	wasSettings = "settings"
	wasHooks    = "hooks"
	wasList     = "list"
)

// before is the comment that says so.
const before = "there before, empty: "

var beforeComment = regexp.MustCompile(`\s*#\s*` + before + `([a-z]+)\s*$`)

// comment is the comment for what was there, "" for none.
func comment(was string) string {
	if was == wasNothing {
		return ""
	}
	return " # " + before + was
}

// commented splits such a comment off the end of text.
func commented(text string) (rest, was string) {
	if found := beforeComment.FindStringSubmatchIndex(text); found != nil {
		return text[:found[0]], text[found[2]:found[3]]
	}
	return text, wasNothing
}

// isOurs reports whether a program that is called is intercom: the one at hand, or one that
// was installed elsewhere before.
func isOurs(called, program string) bool {
	return called == program || strings.HasPrefix(path.Base(called), "intercom")
}

// lineBreak is how the lines of text end.
func lineBreak(text []byte) string {
	if strings.Contains(string(text), "\r\n") {
		return "\r\n"
	}
	return "\n"
}

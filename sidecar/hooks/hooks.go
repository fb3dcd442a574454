// Package hooks configures agents to call `intercom hook`, or to start `intercom mcp`, and removes exactly that
// again. It works on text only: the caller reads and writes the configuration files. It has no state and starts no
// goroutine.
//
// A file is never rewritten as a whole. It is parsed only to find places, and our text is inserted or removed
// there, so that every other byte stays: comments, order, line ends, a missing last line break. Our text is
// recognised by its content, wherever somebody has moved it: a call of intercom with the words hook, the agent and
// the event.
//
// One thing cannot be seen afterwards: whether a list that contains only our call existed before, empty, or was
// created for the call. So if the list existed, the call says so in a comment. Without such a comment, whatever
// becomes empty is removed too, including the whole file if it was created for us.
package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// ErrTaken says that another program already has the only place in a file.
var ErrTaken = errors.New("notify is taken: it calls another program")

// form is a way to write calls into a configuration. Both functions take the text of the file, nil if there is
// none, and the program to call. They return the new text of the file, nil for none; it may be the text that they
// got.
type form struct {
	install   func(text []byte, program string) ([]byte, error)
	uninstall func(text []byte, program string) ([]byte, error)
}

// formOf returns how the agent of that name is configured to call us.
func formOf(name string) (form, error) {
	a, _ := profile.AgentByName(name)
	switch h := a.Settings.Hooks; h.Form {
	case profile.HooksInGroups:
		g := grouped{name: name, events: h.Events, parse: parserOf(h.Comments)}
		return form{g.install, g.uninstall}, nil
	case profile.HookInNotify:
		n := notice{"hook", name, notifyKey}
		return form{n.install, n.uninstall}, nil
	case profile.HookInPlugin:
		p := plugin(h.Plugin)
		return form{p.install, p.uninstall}, nil
	}
	return form{}, fmt.Errorf("agent %q: not known", name)
}

// Agents returns the names of the agents that can be configured to call us.
func Agents() []string { return namesOf(func(s profile.Settings) bool { return s.Hooks.Form != "" }) }

// namesOf returns the names of the agents whose settings satisfy a condition.
func namesOf(are func(profile.Settings) bool) (names []string) {
	for _, a := range profile.Agents() {
		if are(a.Settings) {
			names = append(names, a.Name)
		}
	}
	return names
}

// Install makes the agent call program, an absolute path, at each of its events. text is the content of its
// configuration file, nil if there is none. The result is nil only with an error: the file is not valid, or it has
// something else in the place of our calls. The error is ErrTaken if the agent can call only one program and calls
// another one. Calls that are already installed stay as they are, except for the program's path.
func Install(name string, text []byte, program string) ([]byte, error) {
	f, err := formOf(name)
	if err != nil {
		return nil, err
	}
	return beside(text, program, f.install)
}

// Uninstall removes what Install added, whatever else has changed since. A nil result means that nothing is left of
// a file that Install created.
func Uninstall(name string, text []byte, program string) ([]byte, error) {
	f, err := formOf(name)
	if err != nil || text == nil {
		return nil, err
	}
	return beside(text, program, f.uninstall)
}

// beside applies a change and keeps a byte order mark in its place.
func beside(text []byte, program string, change func([]byte, string) ([]byte, error)) ([]byte, error) {
	rest, marked := bytes.CutPrefix(text, []byte("\ufeff"))
	changed, err := change(rest, program)
	if !marked || changed == nil {
		return changed, err
	}
	return slices.Concat(text[:len(text)-len(rest)], changed), err
}

// What existed before and was empty, where a call was inserted.
const (
	wasNothing  = ""
	wasFile     = "file"
	wasSettings = "settings"
	wasHooks    = "hooks"
	wasList     = "list"
)

// before begins the comment that says so.
const before = "there before, empty: "

var beforeComment = regexp.MustCompile(`\s*#\s*` + before + `([a-z]+)\s*$`)

// comment returns the comment for what existed before, or "" if nothing did.
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

// isOurs reports whether the called program is intercom: this one, or one that was installed elsewhere before.
func isOurs(called, program string) bool {
	return called == program || strings.HasPrefix(path.Base(called), "intercom")
}

// lineBreak returns the line end that text uses.
func lineBreak(text []byte) string {
	if strings.Contains(string(text), "\r\n") {
		return "\r\n"
	}
	return "\n"
}

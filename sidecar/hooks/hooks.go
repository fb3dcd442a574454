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

	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// ErrTaken is the error of a file in which another program has the one place that there is.
var ErrTaken = errors.New("notify is taken: it calls another program")

// form is a way to write calls into a configuration. Both functions get the text of the file, nil for
// none, and the program to call; what they return is the file's text from then on, nil for none, and may
// be what they got.
type form struct {
	install   func(text []byte, program string) ([]byte, error)
	uninstall func(text []byte, program string) ([]byte, error)
}

// formOf is how the agent of that name is told to call us.
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

// Agents are the names of the agents that can be told to call us.
func Agents() []string { return namesOf(func(s profile.Settings) bool { return s.Hooks.Form != "" }) }

// namesOf are the names of the agents whose settings are such.
func namesOf(are func(profile.Settings) bool) (names []string) {
	for _, a := range profile.Agents() {
		if are(a.Settings) {
			names = append(names, a.Name)
		}
	}
	return names
}

// Install makes the agent call program, an absolute path, at each of its events. text is what
// stands in its configuration file, nil if there is none. The result is nil too only with an
// error: of a file that is not valid, or that has something else where our calls belong;
// ErrTaken if only one program can be called, and another one is. What is installed already is
// left as it is, but for the program's path.
func Install(name string, text []byte, program string) ([]byte, error) {
	f, err := formOf(name)
	if err != nil {
		return nil, err
	}
	return beside(text, program, f.install)
}

// Uninstall takes out what Install has put in, whatever else was changed since. A result of
// nil means that nothing is left of a file which Install has made.
func Uninstall(name string, text []byte, program string) ([]byte, error) {
	f, err := formOf(name)
	if err != nil || text == nil {
		return nil, err
	}
	return beside(text, program, f.uninstall)
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

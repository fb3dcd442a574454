package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Claude Code has its hooks in its settings, by event, in groups:
//
//	{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "intercom hook claude Stop"}]}]}}
//
// The settings are JSON without comments; of a file that is not, it takes nothing at all.

const hooksKey = "hooks"

// claudeEvents are where a conversation begins and ends, where a turn does, and where Claude
// Code asks.
var claudeEvents = []string{"SessionStart", "UserPromptSubmit", "PermissionRequest", "Notification", "Stop", "SessionEnd"}

// calling is the command of our hook at an event.
func calling(program, event, was string) string {
	return shellWord(program) + " hook claude " + event + comment(was)
}

// group is a group that has our hook alone.
func group(command string) any {
	return []member{{hooksKey, []any{[]member{{"type", "command"}, {"command", command}}}}}
}

// ourCall takes a command apart: whether it is our hook at that event, and what its comment
// says.
func ourCall(command, event, program string) (was string, ours bool) {
	call, was := commented(command)
	word, ours := strings.CutSuffix(strings.TrimSpace(call), " hook claude "+event)
	if !ours {
		return "", false
	}
	called, ours := shellUnword(word)
	return was, ours && isOurs(called, program)
}

var (
	plainWord  = regexp.MustCompile(`^[A-Za-z0-9_/.:@%+=,-]+$`)
	quotedWord = regexp.MustCompile(`^'(?:[^']|'\\'')*'$`)
)

// shellWord is text as one word of a shell's command line.
func shellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// shellUnword is what such a word says.
func shellUnword(word string) (string, bool) {
	switch {
	case plainWord.MatchString(word):
		return word, true
	case quotedWord.MatchString(word):
		return strings.ReplaceAll(word[1:len(word)-1], `'\''`, "'"), true
	}
	return "", false
}

// settings are the settings of Claude Code, and where our hooks stand in them.
type settings struct {
	text []byte
	root node
	hook int // place of the hooks among the members of root, -1: there are none

	was map[string]bool // what our calls say that was there before
}

// errBlank is the error of a file in which nothing stands.
var errBlank = errors.New("nothing stands there")

func readSettings(text []byte) (*settings, error) {
	if len(bytes.Trim(text, " \t\r\n")) == 0 {
		return nil, errBlank
	}
	root, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	s := &settings{text: text, root: root, was: map[string]bool{}}
	if root.kind != '{' {
		return nil, errors.New("the settings are not a JSON object")
	}
	if s.hook, err = root.member(hooksKey); err != nil || s.hook < 0 {
		return s, err
	}
	hooks := root.kids[s.hook]
	if hooks.kind != '{' {
		return nil, fmt.Errorf("%q is not a JSON object", hooksKey)
	}
	for i, event := range hooks.names {
		if _, err := hooks.member(event); err != nil {
			return nil, fmt.Errorf("%q: %w", hooksKey, err)
		}
		if hooks.kids[i].kind != '[' && slices.Contains(claudeEvents, event) {
			return nil, fmt.Errorf("%q: %q is not a list", hooksKey, event)
		}
	}
	return s, nil
}

// command is the command of one hook of a group, with its place; none has no kind.
func (s *settings) command(hook node) (node, string) {
	if i, err := hook.member("command"); err == nil && i >= 0 {
		return hook.kids[i], hook.kids[i].text(s.text)
	}
	return node{}, ""
}

// hooksOf are the hooks of a group.
func (s *settings) hooksOf(group node) node {
	if i, err := group.member(hooksKey); err == nil && i >= 0 && group.kids[i].kind == '[' {
		return group.kids[i]
	}
	return node{}
}

// installClaude puts a call into the list of each event that has none.
func installClaude(text []byte, program string) ([]byte, error) {
	rest, marked := bytes.CutPrefix(text, byteOrderMark)
	s, err := readSettings(rest)
	if errors.Is(err, errBlank) {
		return blankClaude(text, rest, program), nil
	}
	if err != nil {
		return nil, err
	}
	rest = s.install(program)
	if marked {
		rest = append(slices.Clone(byteOrderMark), rest...)
	}
	return rest, nil
}

// blankClaude are settings that have our hooks alone: the file that is made, or one in which
// there were blanks at most, which then follow.
func blankClaude(text, blanks []byte, program string) []byte {
	var b strings.Builder
	s, was := style{line: "\n", indent: "  ", space: " "}, wasNothing
	if text != nil {
		was, s.line = wasFile, lineBreak(text)
	}
	b.Write(text[:len(text)-len(blanks)])
	s.write(&b, []member{newHooks(program, was)}, "", true)
	if text == nil {
		b.WriteString(s.line)
	}
	b.Write(blanks)
	return []byte(b.String())
}

// newHooks is the member that has our hooks alone.
func newHooks(program, was string) member {
	var lists []member
	for _, event := range claudeEvents {
		lists = append(lists, newList(program, event, was))
	}
	return member{hooksKey, lists}
}

func newList(program, event, was string) member {
	return member{event, []any{group(calling(program, event, was))}}
}

func (s *settings) install(program string) []byte {
	style := styleOf(s.text, s.root)
	if s.hook < 0 {
		was := wasNothing
		if len(s.root.kids) == 0 {
			was = wasSettings
		}
		return edited(s.text, []edit{added(s.text, s.root, style, newHooks(program, was))})
	}
	hooks := s.root.kids[s.hook]
	was := wasNothing
	if len(hooks.kids) == 0 {
		was = wasHooks
	}
	var edits []edit
	var missing []any
	for _, event := range claudeEvents {
		i, _ := hooks.member(event)
		if i < 0 {
			missing = append(missing, newList(program, event, was))
			continue
		}
		list := hooks.kids[i]
		if renewed, there := s.renewed(list, event, program); there {
			edits = append(edits, renewed...)
			continue
		}
		was := wasNothing
		if len(list.kids) == 0 {
			was = wasList
		}
		edits = append(edits, added(s.text, list, style, group(calling(program, event, was))))
	}
	if len(missing) > 0 {
		edits = append(edits, added(s.text, hooks, style, missing...))
	}
	return edited(s.text, edits)
}

// renewed are the edits that make our calls in a list call that program; there says whether
// there is one.
func (s *settings) renewed(list node, event, program string) (edits []edit, there bool) {
	for _, group := range list.kids {
		for _, hook := range s.hooksOf(group).kids {
			at, command := s.command(hook)
			was, ours := ourCall(command, event, program)
			if !ours {
				continue
			}
			there = true
			if want := calling(program, event, was); want != command {
				edits = append(edits, edit{at.start, at.end, quoted(want)})
			}
		}
	}
	return edits, there
}

// uninstallClaude takes our calls out, and what is left empty of what was made for them.
func uninstallClaude(text []byte, program string) ([]byte, error) {
	rest, marked := bytes.CutPrefix(text, byteOrderMark)
	s, err := readSettings(rest)
	switch {
	case errors.Is(err, errBlank):
		return text, nil
	case err != nil:
		return nil, err
	case s.hook < 0:
		return text, nil
	}
	edits, all := s.uninstall(program)
	if !all || s.was[wasSettings] {
		rest = edited(rest, edits)
		if marked {
			rest = append(slices.Clone(byteOrderMark), rest...)
		}
		return rest, nil
	}
	if !s.was[wasFile] {
		return nil, nil
	}
	blank := edited(rest, []edit{{s.root.start, s.root.end, ""}})
	if marked {
		blank = append(slices.Clone(byteOrderMark), blank...)
	}
	return blank, nil
}

// uninstall are the edits that take our calls out; all says that nothing is left of the
// settings.
func (s *settings) uninstall(program string) (edits []edit, all bool) {
	hooks := s.root.kids[s.hook]
	gone := make([]bool, len(hooks.kids)) // lists of which nothing is left
	inner := make([][]edit, len(hooks.kids))
	for i, list := range hooks.kids {
		inner[i], gone[i] = s.uninstallList(list, hooks.names[i], program)
	}
	everything := len(gone) > 0 && !slices.Contains(gone, false)
	switch {
	case everything && !s.was[wasHooks] && len(s.root.kids) == 1:
		return s.root.without(func(int) bool { return true }), true
	case everything && !s.was[wasHooks]:
		return s.root.without(func(kid int) bool { return kid == s.hook }), false
	}
	for i, list := range inner {
		if !gone[i] {
			edits = append(edits, list...)
		}
	}
	return append(edits, hooks.without(func(kid int) bool { return gone[kid] })...), false
}

// uninstallList are the edits that take our calls out of the list of an event; gone says that
// the list goes too.
func (s *settings) uninstallList(list node, event, program string) (edits []edit, gone bool) {
	if list.kind != '[' {
		return nil, false
	}
	empty := make([]bool, len(list.kids)) // groups in which there was our call alone
	keep := false
	for i, group := range list.kids {
		hooks := s.hooksOf(group)
		ours := make([]bool, len(hooks.kids))
		for j, hook := range hooks.kids {
			_, command := s.command(hook)
			var was string
			if was, ours[j] = ourCall(command, event, program); ours[j] {
				s.was[was] = true
				keep = keep || was == wasList
			}
		}
		if empty[i] = len(ours) > 0 && !slices.Contains(ours, false); !empty[i] {
			edits = append(edits, hooks.without(func(kid int) bool { return ours[kid] })...)
		}
	}
	if gone = len(empty) > 0 && !slices.Contains(empty, false) && !keep; gone {
		return nil, true
	}
	return append(edits, list.without(func(kid int) bool { return empty[kid] })...), false
}

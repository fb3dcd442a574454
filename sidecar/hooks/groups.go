package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// Most agents have their hooks in groups by event in their settings:
//
//	{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "intercom hook claude Stop"}]}]}}
//
// Some agents allow comments in that JSON. The others ignore a file with comments entirely.

// grouped is an agent with such hooks.
type grouped struct {
	name   string // name of the agent
	events []string
	parse  func(text []byte) (hujson.Value, error)
}

const hooksKey = "hooks"

// calling returns the command of our hook for an event.
func (g grouped) calling(program, event, was string) string {
	return shellWord(program) + " hook " + g.name + " " + event + comment(was)
}

// group returns a group that contains only our hook.
func group(command string) string {
	return `{"hooks":[{"type":"command","command":` + quoted(command) + `}]}`
}

// lists returns lists, by event, that contain only our hook.
func (g grouped) lists(program, was string, events ...string) string {
	var all []string
	for _, event := range events {
		all = append(all, quoted(event)+":["+group(g.calling(program, event, was))+"]")
	}
	return "{" + strings.Join(all, ",") + "}"
}

// ourCall reports whether a command is our hook for that event, and returns what its comment says.
func (g grouped) ourCall(command, event, program string) (was string, ours bool) {
	call, was := commented(command)
	word, ours := strings.CutSuffix(strings.TrimSpace(call), " hook "+g.name+" "+event)
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

// shellWord quotes text as one word of a shell's command line.
func shellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// shellUnword undoes shellWord.
func shellUnword(word string) (string, bool) {
	switch {
	case plainWord.MatchString(word):
		return word, true
	case quotedWord.MatchString(word):
		return strings.ReplaceAll(word[1:len(word)-1], `'\''`, "'"), true
	}
	return "", false
}

// readSettings parses text as settings.
func (g grouped) readSettings(text []byte) (root hujson.Value, err error) {
	if root, err = g.parse(text); err != nil {
		return root, err
	}
	return root, g.checkSettings(&root)
}

// checkSettings refuses settings with invalid hooks.
func (g grouped) checkSettings(root *hujson.Value) error {
	if !isObject(root) {
		return errors.New("the settings are not a JSON object")
	}
	hooks, err := member(root, hooksKey)
	if err != nil || hooks == nil {
		return err
	}
	if !isObject(hooks) {
		return fmt.Errorf("%q is not a JSON object", hooksKey)
	}
	events, _ := kids(hooks)
	for _, kid := range events {
		event := says(&kid.Name)
		if _, err := member(hooks, event); err != nil {
			return fmt.Errorf("%q: %w", hooksKey, err)
		}
		if !isList(&kid.Value) && slices.Contains(g.events, event) {
			return fmt.Errorf("%q: %q is not a list", hooksKey, event)
		}
	}
	return nil
}

// blank reports whether a file contains nothing but blanks.
func blank(text []byte) bool { return len(bytes.Trim(text, " \t\r\n")) == 0 }

// install adds a call to the list of each event that has none.
func (g grouped) install(text []byte, program string) ([]byte, error) {
	settings, was := text, wasSettings
	if blank(text) { // text is at most blanks, which then follow
		line := lineBreak(text)
		settings, was = slices.Concat([]byte("{"+line+"}"), text), wasFile
		if text == nil {
			settings, was = append(settings, line...), wasNothing
		}
	}
	root, err := g.readSettings(settings)
	if err != nil {
		return nil, err
	}
	g.addCalls(&root, styleOf(settings, &root), program, was)
	return root.Pack(), nil
}

// addCalls adds our calls to settings. was says what existed before, for the case that the settings are empty.
func (g grouped) addCalls(root *hujson.Value, s style, program, was string) {
	ifEmpty := func(v *hujson.Value, was string) string {
		if all, _ := kids(v); len(all) > 0 {
			return wasNothing
		}
		return was
	}
	hooks, _ := member(root, hooksKey)
	if hooks == nil {
		s.add(root, `{"`+hooksKey+`":`+g.lists(program, ifEmpty(root, was), g.events...)+"}")
		return
	}
	was = ifEmpty(hooks, wasHooks)
	var missing []string
	for _, event := range g.events {
		switch list, _ := member(hooks, event); {
		case list == nil:
			missing = append(missing, event)
		case !g.renew(list, event, program):
			s.add(list, "["+group(g.calling(program, event, ifEmpty(list, wasList)))+"]")
		}
	}
	if len(missing) > 0 {
		s.add(hooks, g.lists(program, was, missing...))
	}
}

// renew changes our calls in a list to call program, and reports whether there is one.
func (g grouped) renew(list *hujson.Value, event, program string) (there bool) {
	for _, group := range list.Value.(*hujson.Array).Elements {
		for _, hook := range hooksOf(&group) {
			command, _ := member(&hook, "command")
			if was, ours := g.ourCall(says(command), event, program); ours {
				there = true
				if want := g.calling(program, event, was); want != says(command) {
					command.Value = hujson.Literal(quoted(want))
				}
			}
		}
	}
	return there
}

// hooksOf returns the hooks of a group.
func hooksOf(group *hujson.Value) []hujson.Value {
	if hooks, _ := member(group, hooksKey); isList(hooks) {
		return hooks.Value.(*hujson.Array).Elements
	}
	return nil
}

// uninstall removes our calls, and everything created for them that becomes empty.
func (g grouped) uninstall(text []byte, program string) ([]byte, error) {
	if blank(text) {
		return text, nil
	}
	root, err := g.readSettings(text)
	if err != nil {
		return nil, err
	}
	switch emptied, was := g.removeCalls(&root, program); {
	case !emptied || was[wasSettings]:
		return root.Pack(), nil
	case was[wasFile]:
		return append(append([]byte{}, root.BeforeExtra...), root.AfterExtra...), nil
	}
	return nil, nil
}

// removeCalls removes our calls. emptied reports that nothing is left of the settings. was holds what our calls say
// existed before.
func (g grouped) removeCalls(root *hujson.Value, program string) (emptied bool, was map[string]bool) {
	was = map[string]bool{}
	emptied = without(root, func(setting *hujson.ObjectMember) bool {
		return says(&setting.Name) == hooksKey && without(&setting.Value, func(list *hujson.ObjectMember) bool {
			return g.removeFrom(list, program, was)
		}) && !was[wasHooks]
	})
	return emptied, was
}

// removeFrom removes our calls from the list of an event, and reports whether the list goes too.
func (g grouped) removeFrom(list *hujson.ObjectMember, program string, was map[string]bool) bool {
	stays := false
	emptied := isList(&list.Value) && without(&list.Value, func(group *hujson.ObjectMember) bool {
		hooks, _ := member(&group.Value, hooksKey)
		return isList(hooks) && without(hooks, func(hook *hujson.ObjectMember) bool {
			command, _ := member(&hook.Value, "command")
			before, ours := g.ourCall(says(command), says(&list.Name), program)
			if ours {
				was[before] = true
				stays = stays || before == wasList
			}
			return ours
		})
	})
	return emptied && !stays
}

package message

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// command matches a line that may be an agent's command: its name, and words of characters that
// every agent takes as plain words.
var command = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(/[a-z0-9][a-z0-9_-]{0,63})(?: [\p{L}\p{N} _.,/#+=-]{0,256})?$`)
})

// CommandLine parses a text that is nothing but one line `/name` or `/name words`. It ignores
// spaces and line breaks at the end.
func CommandLine(text string) (name, line string, ok bool) {
	line = strings.TrimRight(text, " \n")
	found := command().FindStringSubmatch(line)
	if found == nil {
		return "", "", false
	}
	return found[1], line, true
}

// CheckCommand refuses a text that is not the name of a command.
func CheckCommand(name string) error {
	if found, _, ok := CommandLine(name); !ok || found != name {
		return fmt.Errorf("%q is no command: a slash, then small letters, digits, - and _", name)
	}
	return nil
}

package message

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// command is a line that a command of an agent's may be: its name, and words of characters that
// no agent takes for more than words.
var command = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(/[a-z0-9][a-z0-9_-]{0,63})(?: [\p{L}\p{N} _.,/#+=-]{0,256})?$`)
})

// CommandLine takes apart a text that is nothing but one line `/name`, or `/name words`. Blanks and
// line breaks at its end are not looked at.
func CommandLine(text string) (name, line string, ok bool) {
	line = strings.TrimRight(text, " \n")
	found := command().FindStringSubmatch(line)
	if found == nil {
		return "", "", false
	}
	return found[1], line, true
}

// CheckCommand refuses what is no name of a command.
func CheckCommand(name string) error {
	if found, _, ok := CommandLine(name); !ok || found != name {
		return fmt.Errorf("%q is no command: a slash, then small letters, digits, - and _", name)
	}
	return nil
}

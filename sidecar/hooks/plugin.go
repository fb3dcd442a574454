package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// An agent may run each file in a directory of its configuration. One file is ours; a file of that name that is not
// ours stays as it is.

// plugin is the text of such a file, with %s for the program. Its first line identifies it.
type plugin string

// errNotOurs says that somebody else wrote the file in our place.
var errNotOurs = errors.New("it is not the plugin that intercom hooks install wrote")

// wrote reports whether a text is the plugin as written by any of our versions.
func (p plugin) wrote(text []byte) bool {
	mark, _, _ := strings.Cut(string(p), "\n")
	return bytes.HasPrefix(text, []byte(mark+"\n"))
}

func (p plugin) install(text []byte, program string) ([]byte, error) {
	if !blank(text) && !p.wrote(text) {
		return nil, errNotOurs
	}
	return fmt.Appendf(nil, string(p), quoted(program)), nil
}

func (p plugin) uninstall(text []byte, _ string) ([]byte, error) {
	if !p.wrote(text) {
		return text, nil
	}
	return nil, nil
}

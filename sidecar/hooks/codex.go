package hooks

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Codex calls one program at the end of a turn, with JSON as its last argument:
//
//	notify = ["intercom", "hook", "codex", "notify"]
//
// It has hooks like those of Claude Code too, in hooks.json. They run only after a person has
// looked at each of them, and until then every start of Codex begins with a dialog about it;
// so none is installed.

const notifyKey = "notify"

// notice is the call, without the program.
var notice = []string{"hook", "codex", "notify"}

// schema begins the comments of a TOML file that say what it is, and have to stand first.
const schema = "#:"

// readNotify is the entry of the configuration that says what is called; none has no key.
func readNotify(text []byte) (entry, error) {
	entries, err := parseTOML(text)
	if err != nil {
		return entry{}, err
	}
	for _, e := range entries {
		if len(e.table) == 0 && e.key[0] == notifyKey {
			return e, nil
		}
	}
	return entry{}, nil
}

// oursIs reports whether an entry calls intercom.
func (e entry) oursIs(program string) bool {
	return len(e.key) == 1 && len(e.strings) == 1+len(notice) && slices.Equal(e.strings[1:], notice) && isOurs(e.strings[0], program)
}

// installCodex puts the call on a line of its own before all else, where no table has begun.
func installCodex(text []byte, program string) ([]byte, error) {
	marked := len(text) - len(bytes.TrimPrefix(text, byteOrderMark))
	there, err := readNotify(text[marked:])
	if err != nil {
		return nil, err
	}
	words := append([]string{program}, notice...)
	for i := range words {
		words[i] = quoted(words[i])
	}
	call := "[" + strings.Join(words, ", ") + "]"
	if there.key != nil {
		switch {
		case !there.oursIs(program):
			return nil, fmt.Errorf("%w: %s", ErrTaken, bytes.TrimSpace(text[marked+there.start:marked+there.end]))
		case there.strings[0] == program:
			return text, nil
		}
		return edited(text, []edit{{marked + there.value, marked + there.valueEnd, call}}), nil
	}
	at := marked
	for bytes.HasPrefix(text[at:], []byte(schema)) {
		end := bytes.IndexByte(text[at:], '\n')
		if end < 0 { // it is the last line, and has no end
			at = marked
			break
		}
		at += end + 1
	}
	was := wasNothing
	if text != nil && len(text) == 0 {
		was = wasFile
	}
	return edited(text, []edit{{at, at, notifyKey + " = " + call + comment(was) + lineBreak(text)}}), nil
}

// uninstallCodex takes the line of the call out.
func uninstallCodex(text []byte, program string) ([]byte, error) {
	marked := len(text) - len(bytes.TrimPrefix(text, byteOrderMark))
	there, err := readNotify(text[marked:])
	if err != nil {
		return nil, err
	}
	if !there.oursIs(program) {
		return text, nil
	}
	_, was := commented(strings.TrimRight(string(text[marked+there.start:marked+there.end]), "\r\n"))
	rest := edited(text, []edit{{marked + there.start, marked + there.end, ""}})
	if len(rest) == 0 && was != wasFile {
		return nil, nil
	}
	return rest, nil
}

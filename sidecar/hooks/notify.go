package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// An agent may call one program at the end of a turn, with JSON as its last argument:
//
//	notify = ["intercom", "hook", "codex", "notify"]

const notifyKey = "notify"

// notice is the call without the program.
type notice []string

// schema begins the comments that declare the type of a TOML file. They must stand first.
const schema = "#:"

// entry is the entry under the key, as positions in the text.
type entry struct {
	start, end      int      // its lines, including the last line end
	value, valueEnd int      // its value; value is only set for a list
	call            []string // the strings of a list that contains only strings
}

// readNotify returns the entry that says what is called, or nil if there is none.
func readNotify(text []byte) (*entry, error) {
	all, err := readTOML(text)
	if err != nil {
		return nil, err
	}
	if _, there := all[notifyKey]; !there {
		return nil, nil
	}
	p, top := unstable.Parser{}, true
	for p.Reset(text); p.NextExpression(); {
		e := p.Expression()
		top = top && e.Kind == unstable.KeyValue
		key := e.Key()
		key.Next()
		if string(key.Node().Data) == notifyKey && (top || e.Kind != unstable.KeyValue) {
			return newEntry(text, e, key), nil
		}
	}
	return nil, fmt.Errorf("invalid TOML: %w", p.Error()) // an entry with the key has a position
}

// readTOML parses a TOML text.
func readTOML(text []byte) (all map[string]any, err error) {
	if err := toml.Unmarshal(text, &all); err != nil {
		says := strings.TrimPrefix(err.Error(), "toml: ")
		if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ := wrong.Position()
			return nil, fmt.Errorf("invalid TOML, line %d: %s", line, says)
		}
		return nil, fmt.Errorf("invalid TOML: %s", says)
	}
	return all, nil
}

// newEntry returns the entry for an expression with the key.
func newEntry(text []byte, e *unstable.Node, key unstable.Iterator) *entry {
	end := func(r unstable.Range) int { return int(r.Offset + r.Length) }
	first := key.Node().Raw
	n := &entry{start: 1 + bytes.LastIndexByte(text[:first.Offset], '\n'), valueEnd: max(end(first), end(e.Raw)), end: len(text)}
	if i := bytes.IndexByte(text[n.valueEnd:], '\n'); i >= 0 {
		n.end = n.valueEnd + i + 1
	}
	if e.Kind != unstable.KeyValue || !key.IsLast() || e.Value().Kind != unstable.Array {
		return n
	}
	n.value = end(first) + bytes.IndexByte(text[end(first):], '[')
	for it := e.Value().Children(); it.Next(); {
		if it.Node().Kind != unstable.String {
			n.call = nil
			break
		}
		n.call = append(n.call, string(it.Node().Data))
	}
	return n
}

// calls reports whether an entry is our call.
func (n notice) calls(e *entry, program string) bool {
	return e != nil && len(e.call) == 1+len(n) && slices.Equal(e.call[1:], n) && isOurs(e.call[0], program)
}

// install inserts the call on a line of its own, before everything else, where no table has begun.
func (n notice) install(text []byte, program string) ([]byte, error) {
	there, err := readNotify(text)
	if err != nil {
		return nil, err
	}
	words := append([]string{program}, n...)
	for i := range words {
		words[i] = quoted(words[i])
	}
	call := "[" + strings.Join(words, ", ") + "]"
	switch {
	case there != nil && !n.calls(there, program):
		return nil, fmt.Errorf("%w: %s", ErrTaken, bytes.TrimSpace(text[there.start:there.end]))
	case there != nil && there.call[0] == program:
		return text, nil
	case there != nil:
		return slices.Concat(text[:there.value], []byte(call), text[there.valueEnd:]), nil
	}
	at := 0
	for bytes.HasPrefix(text[at:], []byte(schema)) {
		end := bytes.IndexByte(text[at:], '\n')
		if end < 0 { // the last line, without a line end
			at = 0
			break
		}
		at += end + 1
	}
	was := wasNothing
	if text != nil && len(text) == 0 {
		was = wasFile
	}
	return slices.Concat(text[:at], []byte(notifyKey+" = "+call+comment(was)+lineBreak(text)), text[at:]), nil
}

// uninstall removes the line of the call.
func (n notice) uninstall(text []byte, program string) ([]byte, error) {
	there, err := readNotify(text)
	if err != nil {
		return nil, err
	}
	if !n.calls(there, program) {
		return text, nil
	}
	_, was := commented(strings.TrimRight(string(text[there.valueEnd:there.end]), "\r\n"))
	if there.start == 0 && there.end == len(text) && was != wasFile {
		return nil, nil
	}
	return append(append([]byte{}, text[:there.start]...), text[there.end:]...), nil
}

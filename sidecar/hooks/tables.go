package hooks

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// A configuration in TOML has a table for each server:
//
//	[mcp_servers.intercom]
//	command = "intercom"
//	args = ["mcp"]
//	env_vars = ["TMUX", "INTERCOM_SERVER"]

// tables describes the tables of the servers.
type tables struct {
	key    string   // key of the table that contains them all
	passes []string // environment variables that the agent is to pass on
}

// endless says, as a comment, that the line before the table was the last of the file and had no line end.
const endless = " # the line above had no end"

// table is our table, as positions in the text.
type table struct {
	parts           []part // other tables may stand between them
	value, valueEnd int    // the program
	header          string
}

// part is a range of lines, from a header to the last key before another table or the end.
type part struct{ start, end int }

// NoRoomError says that the servers of a configuration have a form to which TOML cannot add a table.
type NoRoomError struct {
	Key string // key of the table that contains them all
}

func (e *NoRoomError) Error() string {
	return fmt.Sprintf("no table can be added to %q, for example because it is written in braces", e.Key)
}

// read reports whether there is a server of our name, and returns its command. own is nil if the server has another
// form than a table of its own.
func (t tables) read(text []byte) (there bool, command []string, own *table, err error) {
	all, err := readTOML(text)
	if err != nil {
		return false, nil, nil, err
	}
	servers, are := all[t.key].(map[string]any)
	if _, there := all[t.key]; there && !are {
		return false, nil, nil, fmt.Errorf("%q is not a table", t.key)
	}
	one, there := servers[serverName]
	if !there {
		return false, nil, nil, nil
	}
	says, _ := one.(map[string]any)
	program, _ := says["command"].(string)
	command = []string{program}
	arguments, _ := says["args"].([]any)
	for _, a := range arguments {
		argument, _ := a.(string)
		command = append(command, argument)
	}
	return true, command, t.find(text), nil
}

// find returns the table of our name with everything below it, wherever the parts stand.
func (t tables) find(text []byte) *table {
	p, ours := unstable.Parser{}, &table{}
	inside := 0 // words in our header, while the keys belong to it
	for p.Reset(text); p.NextExpression(); {
		e := p.Expression()
		key := e.Key()
		var words []string
		var first, last unstable.Range
		for key.Next() {
			if words == nil {
				first = key.Node().Raw
			}
			words, last = append(words, string(key.Node().Data)), key.Node().Raw
		}
		switch {
		case len(words) == 0:
			continue
		case e.Kind != unstable.KeyValue:
			if len(words) < 2 || words[0] != t.key || words[1] != serverName {
				inside = 0
				continue
			}
			lines := part{1 + bytes.LastIndexByte(text[:first.Offset], '\n'), lineEnd(text, int(last.Offset))}
			if len(words) == 2 {
				ours.header = string(text[lines.start:lines.end])
			}
			if n := len(ours.parts); inside > 0 {
				ours.parts[n-1].end = lines.end
			} else {
				ours.parts = append(ours.parts, lines)
			}
			inside = len(words)
		case inside > 0:
			n := newEntry(text, e, e.Key())
			end := max(n.valueEnd, int(last.Offset+last.Length))
			if v := e.Value(); v != nil {
				end = max(end, int(v.Raw.Offset+v.Raw.Length))
				if inside == 2 && len(words) == 1 && words[0] == "command" {
					ours.value, ours.valueEnd = int(v.Raw.Offset), int(v.Raw.Offset+v.Raw.Length)
				}
			}
			ours.parts[len(ours.parts)-1].end = lineEnd(text, end)
		}
	}
	if ours.header == "" {
		return nil
	}
	return ours
}

// lineEnd returns the end of the line that contains a position, including its line end.
func lineEnd(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

func isOurServer(command []string, program string) bool {
	return len(command) >= 2 && isOurs(command[0], program) && command[1] == serverWord
}

// install appends the table. It returns a *NoRoomError if the result would not be TOML.
func (t tables) install(text []byte, program string) ([]byte, error) {
	there, command, own, err := t.read(text)
	switch {
	case err != nil:
		return nil, err
	case there && !isOurServer(command, program):
		return nil, fmt.Errorf("%w: %s", ErrOtherServer, strings.Join(command, " "))
	case there && (command[0] == program || own == nil || own.value == 0):
		return text, nil
	case there:
		return slices.Concat(text[:own.value], []byte(quoted(program)), text[own.valueEnd:]), nil
	}
	line, header := lineBreak(text), "["+t.key+"."+serverName+"]"
	var b bytes.Buffer
	b.Write(text)
	switch {
	case text == nil:
	case len(text) == 0:
		header += comment(wasFile)
	case !bytes.HasSuffix(text, []byte("\n")):
		header += endless
		b.WriteString(line + line)
	default:
		b.WriteString(line)
	}
	for _, one := range []string{header, "command = " + quoted(program), "args = [" + quoted(serverWord) + "]", "env_vars = " + t.handedOn()} {
		b.WriteString(one + line)
	}
	if _, err := readTOML(b.Bytes()); err != nil {
		return nil, &NoRoomError{t.key}
	}
	return b.Bytes(), nil
}

// uninstall removes the table, and the empty line before each part of it. The first of these lines was added with
// the table.
func (t tables) uninstall(text []byte, program string) ([]byte, error) {
	there, command, own, err := t.read(text)
	switch {
	case err != nil:
		return nil, err
	case !there || !isOurServer(command, program):
		return text, nil
	case own == nil:
		return nil, fmt.Errorf("%s.%s does not stand in a table of its own", t.key, serverName)
	}
	header := strings.TrimRight(own.header, "\r\n")
	_, was := commented(header)
	if own.parts[0] == (part{0, len(text)}) && was != wasFile {
		return nil, nil
	}
	left, at := []byte{}, 0
	cut := func() {
		if rest, ok := bytes.CutSuffix(left, []byte("\n")); ok {
			left = bytes.TrimSuffix(rest, []byte("\r"))
		}
	}
	for _, lines := range own.parts {
		left, at = append(left, text[at:lines.start]...), lines.end
		if bytes.HasSuffix(left, []byte("\n\n")) || bytes.HasSuffix(left, []byte("\n\r\n")) || string(bytes.Trim(left, "\r")) == "\n" {
			cut()
			if strings.HasSuffix(header, strings.TrimSpace(endless)) && at == len(text) && len(own.parts) == 1 {
				cut()
			}
		}
	}
	return append(left, text[at:]...), nil
}

// handedOn returns the list of the variables that an agent is to pass on.
func (t tables) handedOn() string {
	names := make([]string, len(t.passes))
	for i, name := range t.passes {
		names[i] = quoted(name)
	}
	return "[" + strings.Join(names, ", ") + "]"
}

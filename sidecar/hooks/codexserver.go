package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Codex has a table for each server. It gives servers hardly anything of its environment, and starts
// them in a daemon that all its windows share: the variables by which a sidecar is found have to be
// asked for, and none of them says in which pane the agent is.
//
//	[mcp_servers.intercom]
//	command = "intercom"
//	args = ["mcp"]
//	env_vars = ["TMUX", "INTERCOM_SERVER", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"]

const (
	codexServers = "mcp_servers"
	codexPasses  = `["TMUX", "INTERCOM_SERVER", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"]`
	// endless says in a comment that the line before the table was the file's last, and had no end.
	endless = " # the line above had no end"
)

// codexTable is our table, in places of the text.
type codexTable struct {
	start, end      int // its lines, from its header to its last key's
	value, valueEnd int // what is started
	header          string
}

// readCodexServer says whether there is a server of our name, and what is started; table is nil if
// that stands in another form than a table of its own.
func readCodexServer(text []byte) (there bool, command []string, table *codexTable, err error) {
	var all struct {
		Servers map[string]struct {
			Command string   `toml:"command"`
			Args    []string `toml:"args"`
		} `toml:"mcp_servers"`
	}
	if err := toml.Unmarshal(text, &all); err != nil {
		says := strings.TrimPrefix(err.Error(), "toml: ")
		if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ := wrong.Position()
			return false, nil, nil, fmt.Errorf("invalid TOML, line %d: %s", line, says)
		}
		return false, nil, nil, fmt.Errorf("invalid TOML: %s", says)
	}
	one, there := all.Servers[serverName]
	if !there {
		return false, nil, nil, nil
	}
	return true, append([]string{one.Command}, one.Args...), findCodexTable(text), nil
}

// findCodexTable is the table of our name with all that is below it.
func findCodexTable(text []byte) (table *codexTable) {
	p, inside := unstable.Parser{}, false
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
		case e.Kind == unstable.Table:
			own := len(words) >= 2 && words[0] == codexServers && words[1] == serverName
			inside = own
			if own && table == nil && len(words) == 2 {
				table = &codexTable{start: 1 + bytes.LastIndexByte(text[:first.Offset], '\n')}
				table.header = string(text[table.start:lineEnd(text, int(last.Offset))])
			}
			if own && table != nil {
				table.end = lineEnd(text, int(last.Offset))
			}
		case e.Kind == unstable.KeyValue && inside && table != nil:
			n := newEntry(text, e, e.Key())
			end := max(n.valueEnd, int(last.Offset+last.Length))
			if v := e.Value(); v != nil {
				end = max(end, int(v.Raw.Offset+v.Raw.Length))
				if len(words) == 1 && words[0] == "command" && table.value == 0 {
					table.value, table.valueEnd = int(v.Raw.Offset), int(v.Raw.Offset+v.Raw.Length)
				}
			}
			table.end = lineEnd(text, end)
		default:
			inside = inside && e.Kind == unstable.KeyValue
		}
	}
	return table
}

// lineEnd is where the line ends in which a place is, with its end.
func lineEnd(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

func isOurServer(command []string, program string) bool {
	return len(command) >= 2 && (command[0] == program || strings.HasPrefix(path.Base(command[0]), "intercom")) && command[1] == serverWord
}

// installCodexServer puts the table behind all else.
func installCodexServer(text []byte, program string) ([]byte, error) {
	there, command, table, err := readCodexServer(text)
	switch {
	case err != nil:
		return nil, err
	case there && !isOurServer(command, program):
		return nil, fmt.Errorf("%w: %s", ErrOtherServer, strings.Join(command, " "))
	case there && (command[0] == program || table == nil || table.value == 0):
		return text, nil
	case there:
		return slices.Concat(text[:table.value], []byte(quoted(program)), text[table.valueEnd:]), nil
	}
	line, header := lineBreak(text), "["+codexServers+"."+serverName+"]"
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
	for _, one := range []string{header, "command = " + quoted(program), "args = [" + quoted(serverWord) + "]", "env_vars = " + codexPasses} {
		b.WriteString(one + line)
	}
	return b.Bytes(), nil
}

// uninstallCodexServer takes the table out, and the empty line that came with it.
func uninstallCodexServer(text []byte, program string) ([]byte, error) {
	there, command, table, err := readCodexServer(text)
	switch {
	case err != nil:
		return nil, err
	case !there || !isOurServer(command, program):
		return text, nil
	case table == nil:
		return nil, fmt.Errorf("%s.%s does not stand in a table of its own", codexServers, serverName)
	}
	header := strings.TrimRight(table.header, "\r\n")
	_, was := commented(header)
	before, after := text[:table.start], text[table.end:]
	if len(before) == 0 && len(after) == 0 && was != wasFile {
		return nil, nil
	}
	cut := func() {
		if rest, ok := bytes.CutSuffix(before, []byte("\n")); ok {
			before = bytes.TrimSuffix(rest, []byte("\r"))
		}
	}
	if bytes.HasSuffix(before, []byte("\n\n")) || bytes.HasSuffix(before, []byte("\n\r\n")) || string(bytes.Trim(before, "\r")) == "\n" {
		cut()
		if strings.HasSuffix(header, strings.TrimSpace(endless)) && len(after) == 0 {
			cut()
		}
	}
	return append(append([]byte{}, before...), after...), nil
}

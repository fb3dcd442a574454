package hooks

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// An agent starts the MCP servers that its configuration names. Ours is named intercom:
//
//	claude    .claude.json    {"mcpServers": {"intercom": {"type": "stdio", "command": "intercom", "args": ["mcp"]}}}
//	gemini    settings.json   {"mcpServers": {"intercom": {"command": "intercom", "args": ["mcp"]}}}
//	opencode  opencode.json   {"mcp": {"intercom": {"type": "local", "command": ["intercom", "mcp"], "enabled": true}}}
//	codex     config.toml     [mcp_servers.intercom], see tables.go
//
// JSON has no comments, so an environment variable of the server records what existed before and was empty.

// ErrOtherServer says that another server in a configuration has our name.
var ErrOtherServer = errors.New("another MCP server is called " + serverName)

const (
	serverName    = "intercom"
	serverWord    = "mcp" // its argument
	wasServers    = "servers"
	wasAsVariable = "INTERCOM_THERE_BEFORE_EMPTY"
)

// ServerAgents returns the names of the agents that can be given an MCP server.
func ServerAgents() []string {
	return namesOf(func(s profile.Settings) bool { return s.Server.Form != "" })
}

// InstallServer makes the agent start program, an absolute path, as its MCP server. Text and result are as for
// Install. The error is ErrOtherServer if another server has the name.
func InstallServer(agent string, text []byte, program string) ([]byte, error) {
	s, err := serverOf(agent)
	if err != nil {
		return nil, err
	}
	return beside(text, program, s.install)
}

// UninstallServer removes what InstallServer added, as Uninstall does.
func UninstallServer(agent string, text []byte, program string) ([]byte, error) {
	s, err := serverOf(agent)
	if err != nil || text == nil {
		return nil, err
	}
	return beside(text, program, s.uninstall)
}

// serverOf returns how the configuration of the agent of that name holds servers.
func serverOf(name string) (form, error) {
	a, _ := profile.AgentByName(name)
	switch s := a.Settings.Server; s.Form {
	case profile.ServerInJSON:
		e := entries{s.Key, parserOf(s.Comments), s.Environment, s.Entry}
		return form{e.install, e.uninstall}, nil
	case profile.ServerInTOML:
		t := tables{s.Key, s.Passes}
		return form{t.install, t.uninstall}, nil
	}
	return form{}, fmt.Errorf("agent %q: not known", name)
}

// entries is the member with an agent's servers in a JSON configuration, and the content of our entry.
type entries struct {
	key         string
	parse       func([]byte) (hujson.Value, error)
	environment string
	says        string // content of our entry, with a verb for the program
}

// entry returns our entry.
func (e entries) entry(program, was string) string {
	text := quoted(serverName) + ":{" + fmt.Sprintf(e.says, quoted(program))
	if was != wasNothing {
		text += "," + quoted(e.environment) + ":{" + quoted(wasAsVariable) + ":" + quoted(was) + "}"
	}
	return "{" + text + "}}"
}

// read parses text as a configuration and returns its servers, or nil if there are none.
func (e entries) read(text []byte) (root hujson.Value, all *hujson.Value, err error) {
	if root, err = e.parse(text); err != nil {
		return root, nil, err
	}
	if !isObject(&root) {
		return root, nil, errors.New("the settings are not a JSON object")
	}
	if all, err = member(&root, e.key); err != nil {
		return root, nil, err
	}
	if all != nil && !isObject(all) {
		return root, nil, fmt.Errorf("%q is not a JSON object", e.key)
	}
	_, err = member(all, serverName)
	return root, all, err
}

// program returns the value in an entry that names the program, or nil if the entry does not start intercom as its
// server.
func (e entries) program(entry *hujson.Value, program string) *hujson.Value {
	command, _ := member(entry, "command")
	arguments, _ := member(entry, "args")
	words := []*hujson.Value{command}
	for _, list := range []*hujson.Value{command, arguments} {
		if isList(list) {
			if list == command {
				words = nil
			}
			all := list.Value.(*hujson.Array).Elements
			for i := range all {
				words = append(words, &all[i])
			}
		}
	}
	if len(words) < 2 || !isOurs(says(words[0]), program) || says(words[1]) != serverWord {
		return nil
	}
	return words[0]
}

// was returns what an entry says existed before.
func (e entries) was(entry *hujson.Value) string {
	environment, _ := member(entry, e.environment)
	was, _ := member(environment, wasAsVariable)
	return says(was)
}

func (e entries) install(text []byte, program string) ([]byte, error) {
	settings, was := text, wasSettings
	if blank(text) { // as for hooks
		line := lineBreak(text)
		settings, was = slices.Concat([]byte("{"+line+"}"), text), wasFile
		if text == nil {
			settings, was = append(settings, line...), wasNothing
		}
	}
	root, all, err := e.read(settings)
	if err != nil {
		return nil, err
	}
	s := styleOf(settings, &root)
	if all == nil {
		if some, _ := kids(&root); len(some) > 0 {
			was = wasNothing
		}
		s.add(&root, "{"+quoted(e.key)+":"+e.entry(program, was)+"}")
		return root.Pack(), nil
	}
	entry, _ := member(all, serverName)
	if entry == nil {
		was = wasServers
		if some, _ := kids(all); len(some) > 0 {
			was = wasNothing
		}
		s.add(all, e.entry(program, was))
		return root.Pack(), nil
	}
	there := e.program(entry, program)
	switch {
	case there == nil:
		return nil, fmt.Errorf("%w: %s", ErrOtherServer, strings.TrimSpace(entry.String()))
	case says(there) != program:
		there.Value = hujson.Literal(quoted(program))
	}
	return root.Pack(), nil
}

func (e entries) uninstall(text []byte, program string) ([]byte, error) {
	if blank(text) {
		return text, nil
	}
	root, _, err := e.read(text)
	if err != nil {
		return nil, err
	}
	was := wasNothing
	emptied := without(&root, func(setting *hujson.ObjectMember) bool {
		return says(&setting.Name) == e.key && without(&setting.Value, func(one *hujson.ObjectMember) bool {
			ours := says(&one.Name) == serverName && e.program(&one.Value, program) != nil
			if ours {
				was = e.was(&one.Value)
			}
			return ours
		}) && was != wasServers
	})
	switch {
	case !emptied || was == wasSettings:
		return root.Pack(), nil
	case was == wasFile:
		return append(append([]byte{}, root.BeforeExtra...), root.AfterExtra...), nil
	}
	return nil, nil
}

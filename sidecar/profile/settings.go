package profile

import (
	"path"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Settings are what a person may have intercom put among an agent's own files, and what the agent
// then says and asks. What is left out, the agent does not have.
type Settings struct {
	Hooks  Hooks
	Server Server
	Skills File // the directory in which it looks for skills
}

// File is where a file of an agent's stands.
type File struct {
	Variable string // of its environment: the directory, where it is set
	Dir      string // below the home otherwise
	Path     string // in that directory
	Or       string // another path there that counts if it exists and Path does not
}

// String says where that is, for people.
func (f File) String() string {
	place := "~"
	if f.Dir != "" {
		place = "~/" + f.Dir
	}
	dir, name := path.Split(f.Path)
	dir = strings.TrimSuffix(dir, "/")
	if f.Variable == "" {
		return path.Join(place, dir, name)
	}
	return name + " in " + path.Join("$"+f.Variable, dir) + ", or " + path.Join(place, dir)
}

// HookForm is how an agent is told to call a program.
type HookForm string

// The forms of hooks.
const (
	HooksInGroups HookForm = "groups" // {"hooks": {EVENT: [{"hooks": [{"type": "command", "command": …}]}]}}
	HookInNotify  HookForm = "notify" // notify = [PROGRAM, ARGUMENTS…], in TOML
	HookInPlugin  HookForm = "plugin" // a file of ours alone, in the agent's own language
)

// Hooks are an agent's calls of a program at what it does.
type Hooks struct {
	Form     HookForm
	File     File
	Comments bool     // its JSON may have comments and trailing commas
	Events   []string // that are asked for
	Plugin   string   // the text of HookInPlugin; its first line, a comment, is how it is known, %s is the program
	Holds    bool     // it was seen to use no tool that its gate denies, with what is installed
	Help     string   // what is installed, for people
	Taken    string   // what to do where the one place that there is calls another program
	Tells    []Tell   // what its events mean, those too that only a person asks for
	Gate     Gate
}

// Tell is what an event of a hook says of the state of its agent.
type Tell struct {
	Event  string
	Detail string // a part of what the event is about; "" for any
	State  message.PaneState
}

// Means is the state that an event tells of, "" for one that tells of none.
func (h Hooks) Means(event, detail string) message.PaneState {
	for _, t := range h.Tells {
		if t.Event == event && strings.Contains(detail, t.Detail) {
			return t.State
		}
	}
	return ""
}

// Gate is how an agent asks whether a tool may be used, and what it has to hear if not.
type Gate struct {
	Event   string
	Shell   string   // its tool that runs a command line, in the field command
	Ours    string   // how the names of our own tools begin
	Reading []string // its tools that change nothing; all others are taken to, those too that are not known
	Deny    string   // the answer, with %s for why, as a JSON string
}

// ServerForm is how an agent's settings name an MCP server.
type ServerForm string

// The forms of servers.
const (
	ServerInJSON ServerForm = "json" // a member of an object
	ServerInTOML ServerForm = "toml" // a table of its own
)

// Server is the entry of an agent's settings that starts an MCP server.
type Server struct {
	Form        ServerForm
	File        File
	Comments    bool
	Key         string   // of what has all servers
	Entry       string   // the members of one in JSON, with %s for the program, as a JSON string
	Environment string   // the member of one that has its variables
	Passes      []string // variables that it has to be told to hand on
}

// Denials as agents understand them.
const (
	denyDecision   = `{"decision":"deny","reason":%s}`
	denyPermission = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":%s}}`
)

// tellsOfClaude are the events of Claude Code, and of the hooks that others took from it.
var tellsOfClaude = []Tell{
	{"UserPromptSubmit", "", message.Working},
	{"PermissionRequest", "", message.Blocked},
	{"Notification", "permission", message.Blocked},
	{"Stop", "", message.Idle},
	{"SessionStart", "", message.Idle},
	{"Interrupt", "", message.Idle},
}

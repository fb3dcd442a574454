package profile

import (
	"path"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Settings describes what a person may let intercom add to an agent's own files, and what the agent then reports
// and asks. An agent lacks what is left out.
type Settings struct {
	Hooks  Hooks
	Server Server
	Skills File // the directory in which the agent looks for skills
}

// File is the place of an agent's file.
type File struct {
	Variable string // the environment variable that names the directory, if set
	Dir      string // otherwise, the directory below the home
	Path     string // in that directory
	Or       string // another path there, used if it exists and Path does not
}

// String describes the place for people.
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

// HookForm is the way in which an agent is configured to call a program.
type HookForm string

// The forms of hooks.
const (
	HooksInGroups HookForm = "groups" // {"hooks": {EVENT: [{"hooks": [{"type": "command", "command": …}]}]}}
	HookInNotify  HookForm = "notify" // notify = [PROGRAM, ARGUMENTS…], in TOML
	HookInPlugin  HookForm = "plugin" // a file of ours alone, in the agent's own language
)

// Hooks describes how an agent calls a program when something happens.
type Hooks struct {
	Form     HookForm
	File     File
	Comments bool     // its JSON may have comments and trailing commas
	Events   []string // the events that intercom asks for
	Plugin   string   // the text for HookInPlugin: its first line, a comment, identifies it; %s is the program
	Holds    bool     // with what is installed, it was seen to obey its gate's denials
	Help     string   // what is installed, for people
	Taken    string   // what to do if the only place already calls another program
	Tells    []Tell   // what its events mean, including those that only a person asks for
	Gate     Gate
}

// Tell says what a hook's event means for the state of its agent.
type Tell struct {
	Event  string
	Detail string // must be part of the event's detail; "" for any
	State  message.PaneState
}

// Means returns the state that an event implies, or "" if it implies none.
func (h Hooks) Means(event, detail string) message.PaneState {
	for _, t := range h.Tells {
		if t.Event == event && strings.Contains(detail, t.Detail) {
			return t.State
		}
	}
	return ""
}

// Gate describes how an agent asks whether it may use a tool, and the answer that denies it.
type Gate struct {
	Event   string
	Shell   string   // its tool that runs a command line, in the field command
	Ours    string   // prefix of the names of our own tools
	Reading []string // its tools that change nothing; all others, including unknown ones, are assumed to change something
	Deny    string   // the denial, with %s for the reason as a JSON string
}

// ServerForm is the form in which an agent's settings name an MCP server.
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
	Key         string   // the key of the object or table of all servers
	Entry       string   // the members of one entry in JSON, with %s for the program as a JSON string
	Environment string   // the member of one entry with its variables
	Passes      []string // variables that the agent must be told to pass on
}

// The denials that agents understand.
const (
	denyDecision   = `{"decision":"deny","reason":%s}`
	denyPermission = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":%s}}`
)

// tellsOfClaude lists the meanings of the events of Claude Code, and of the same hooks in other agents.
var tellsOfClaude = []Tell{
	{"UserPromptSubmit", "", message.Working},
	{"PermissionRequest", "", message.Blocked},
	{"Notification", "permission", message.Blocked},
	{"Stop", "", message.Idle},
	{"SessionStart", "", message.Idle},
	{"Interrupt", "", message.Idle},
}

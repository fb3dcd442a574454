package policy

import "time"

// Settings are what init.lua says by intercom.configure. What it does not say is the zero
// value of its field.
type Settings struct {
	Computer    string                    `json:"computer,omitempty"`    // the name of this machine
	Attribution string                    `json:"attribution,omitempty"` // with {name} and {number}
	Chats       map[string]string         `json:"chats,omitempty"`       // settings of every new chat, as --set takes them
	Brakes      map[string]string         `json:"brakes,omitempty"`      // limits, as the table of limits names them
	Health      map[string]string         `json:"health,omitempty"`      // after: how long a turn goes on before its session is asked, like 10m
	Profiles    map[string]map[string]any `json:"profiles,omitempty"`    // fields of profiles, by profile: string, float64, bool or list of strings
	Sessions    Sessions                  `json:"sessions,omitzero"`     // what agents may start
	Answer      []string                  `json:"answer,omitempty"`      // the command that answers messages of repositories in which no agent works
	Team        Team                      `json:"team,omitzero"`         // what holds in all teams
	Notices     Notices                   `json:"notices,omitzero"`      // how a person is told, beside the line in tmux
}

// Notices says how a person is told that they are waited for, beside the line that tmux shows.
type Notices struct {
	Bell    bool     `json:"bell,omitempty"`    // at each terminal
	OSC9    bool     `json:"osc9,omitempty"`    // the sequence of iTerm2, Windows Terminal and others
	OSC777  bool     `json:"osc777,omitempty"`  // that of urxvt, foot, Ghostty and others
	Command []string `json:"command,omitempty"` // a program and its arguments, run with the notice as its last one
}

// Team is what holds in all teams.
type Team struct {
	RequirePlan bool          `json:"require_plan,omitempty"` // teammates are to change nothing before the lead has approved a plan; hooks hold Claude Code to it
	Timeout     time.Duration `json:"timeout,omitempty"`      // after which a request expires that has no answer; 0: never
}

// Sessions is what agents may start by themselves. A list that is nil was not given.
type Sessions struct {
	Allow []string `json:"allow,omitzero"` // profiles, and absolute paths of programs
	Roots []string `json:"roots,omitzero"` // absolute paths of directories, below which they may
}

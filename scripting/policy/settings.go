package policy

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Settings are what init.lua says by intercom.configure. What it does not say is the zero
// value of its field.
type Settings struct {
	Computer    string                    `json:"computer,omitempty"`    // the name of this machine
	Link        Link                      `json:"link,omitzero"`         // how it reaches others
	Computers   map[string]Computer       `json:"computers,omitempty"`   // what others may do here, by their names in lower case
	Attribution string                    `json:"attribution,omitempty"` // with {name} and {number}
	Chats       map[string]string         `json:"chats,omitempty"`       // settings of every new chat, as --set takes them
	Brakes      map[string]string         `json:"brakes,omitempty"`      // limits, as the table of limits names them
	Health      map[string]string         `json:"health,omitempty"`      // after: how long a turn goes on before its session is asked, like 10m
	Profiles    map[string]map[string]any `json:"profiles,omitempty"`    // fields of profiles, by profile: string, float64, bool or list of strings
	Sessions    Sessions                  `json:"sessions,omitzero"`     // what agents may start
	Answer      []string                  `json:"answer,omitempty"`      // the command that answers messages of repositories in which no agent works
	Team        Team                      `json:"team,omitzero"`         // what holds in all teams
	Deliver     Deliver                   `json:"deliver,omitzero"`      // how messages are typed
	Notices     Notices                   `json:"notices,omitzero"`      // how a person is told, beside the line in tmux
}

// Differ names, in order, the fields that are others in then.
func (s Settings) Differ(then Settings) (names []string) {
	fields := func(s Settings) (all map[string]json.RawMessage) {
		text, err := json.Marshal(s)
		if err == nil {
			err = json.Unmarshal(text, &all)
		}
		if err != nil {
			return nil
		}
		return all
	}
	was, is := fields(s), fields(then)
	for name, value := range was {
		if !bytes.Equal(value, is[name]) {
			names = append(names, name)
		}
	}
	for name := range is {
		if _, had := was[name]; !had {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Link says how this machine reaches others. The zero value is not at all.
type Link struct {
	NATS     string `json:"nats,omitempty"`     // URLs of servers, with commas between
	Creds    string `json:"creds,omitempty"`    // path of the credentials
	Insecure bool   `json:"insecure,omitempty"` // plain text, or no credentials, will do
}

// Computer is what another machine may do here, and how it is known.
type Computer struct {
	May []string `json:"may,omitzero"`  // words of Powers; nil: DefaultMay
	Key string   `json:"key,omitempty"` // the public key that it signs with; "": whichever is seen first
}

// Powers are what another machine may be let do: send messages, answer those that it was sent, have sessions here in its chats,
// start sessions and end those again, and read what was said.
var Powers = []string{"send", "answer", "chat", "start", "read"}

// DefaultMay is what one may of which nothing is said.
var DefaultMay = []string{"send", "answer"}

// May reports whether another machine may do that.
func (s Settings) May(computer, what string) bool {
	c, said := s.Computers[strings.ToLower(computer)]
	if !said || c.May == nil {
		return slices.Contains(DefaultMay, what)
	}
	return slices.Contains(c.May, what)
}

// Notices says how a person is told that they are waited for, beside the line that tmux shows.
type Notices struct {
	Bell    bool     `json:"bell,omitempty"`    // at each terminal
	OSC9    bool     `json:"osc9,omitempty"`    // the sequence of iTerm2, Windows Terminal and others
	OSC777  bool     `json:"osc777,omitempty"`  // that of urxvt, foot, Ghostty and others
	Command []string `json:"command,omitempty"` // a program and its arguments, run with the notice as its last one
}

// Deliver is how messages are typed.
type Deliver struct {
	BareSlash []string `json:"bare_slash,omitempty"` // commands, `/name`, that go without a header
}

// Team is what holds in all teams.
type Team struct {
	RequirePlan bool          `json:"require_plan,omitempty"` // teammates are to change nothing before the lead has approved a plan; hooks hold Claude Code, Gemini CLI and opencode to it
	Timeout     time.Duration `json:"timeout,omitempty"`      // after which a request expires that has no answer; 0: never
}

// Sessions is what agents may start by themselves. A list that is nil was not given.
type Sessions struct {
	Allow []string `json:"allow,omitzero"` // profiles, and absolute paths of programs
	Roots []string `json:"roots,omitzero"` // absolute paths of directories, below which they may
	Most  *int     `json:"most,omitempty"` // how many of what they have started may run at once
}

package policy

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Settings are the arguments of intercom.configure in init.lua. A setting that init.lua does not give has the zero
// value.
type Settings struct {
	Computer    string                    `json:"computer,omitempty"`    // the name of this machine
	Link        Link                      `json:"link,omitzero"`         // how it reaches others
	Computers   map[string]Computer       `json:"computers,omitempty"`   // what other machines may do here, by their names in lower case
	Attribution string                    `json:"attribution,omitempty"` // with {name} and {number}
	Chats       map[string]string         `json:"chats,omitempty"`       // settings of every new chat, in the form that --set takes
	Brakes      map[string]string         `json:"brakes,omitempty"`      // limits, under the names of the table of limits
	Health      map[string]string         `json:"health,omitempty"`      // after: how long a turn may run before its session is asked, like 10m
	Profiles    map[string]map[string]any `json:"profiles,omitempty"`    // fields of profiles, by profile: string, float64, bool or list of strings
	Sessions    Sessions                  `json:"sessions,omitzero"`     // what agents may start
	Answer      []string                  `json:"answer,omitempty"`      // the command that answers messages for repositories in which no agent works
	Team        Team                      `json:"team,omitzero"`         // rules for all teams
	Deliver     Deliver                   `json:"deliver,omitzero"`      // how messages are typed
	Notices     Notices                   `json:"notices,omitzero"`      // how a person is notified, besides the line in tmux
}

// Differ returns the names of the fields whose values differ in then, sorted.
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

// Link says how this machine reaches others. With the zero value it does not.
type Link struct {
	NATS     string `json:"nats,omitempty"`     // URLs of servers, with commas between
	Creds    string `json:"creds,omitempty"`    // path of the credentials
	Insecure bool   `json:"insecure,omitempty"` // allows plain text, or a connection without credentials
}

// Computer says what another machine may do here, and how it is recognised.
type Computer struct {
	May []string `json:"may,omitzero"`  // words of Powers; nil: DefaultMay
	Key string   `json:"key,omitempty"` // the public key that it signs with; "": the first one seen
}

// Powers lists what another machine may be permitted: to send messages, to answer messages sent to it, to include
// sessions of this machine in its chats, to start sessions and end those that it started, and to read what was said.
var Powers = []string{"send", "answer", "chat", "start", "read"}

// DefaultMay lists the powers of a machine for which init.lua names none.
var DefaultMay = []string{"send", "answer"}

// May reports whether another machine has a power.
func (s Settings) May(computer, what string) bool {
	c, said := s.Computers[strings.ToLower(computer)]
	if !said || c.May == nil {
		return slices.Contains(DefaultMay, what)
	}
	return slices.Contains(c.May, what)
}

// Notices says how a person is told that something waits for them, besides the line that tmux shows.
type Notices struct {
	Bell    bool     `json:"bell,omitempty"`    // at each terminal
	OSC9    bool     `json:"osc9,omitempty"`    // the sequence of iTerm2, Windows Terminal and others
	OSC777  bool     `json:"osc777,omitempty"`  // the sequence of urxvt, foot, Ghostty and others
	Command []string `json:"command,omitempty"` // a program and its arguments; the notice is appended as the last argument
}

// Deliver says how messages are typed.
type Deliver struct {
	BareSlash []string `json:"bare_slash,omitempty"` // commands, `/name`, that are typed without a header
}

// Team has the rules for all teams.
type Team struct {
	RequirePlan bool          `json:"require_plan,omitempty"` // teammates must not change anything before the lead has approved a plan; hooks enforce this in Claude Code, Gemini CLI and opencode
	Timeout     time.Duration `json:"timeout,omitempty"`      // after which an unanswered request expires; 0: never
}

// Sessions says what agents may start by themselves. A nil list was not given.
type Sessions struct {
	Allow []string `json:"allow,omitzero"` // profiles, and absolute paths of programs
	Roots []string `json:"roots,omitzero"` // absolute paths of directories; agents may start sessions below these
	Most  *int     `json:"most,omitempty"` // how many of the started sessions may run at once
}

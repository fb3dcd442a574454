package message

import "time"

// StartOrder is a session that is to be started. One of an agent that may not start it by itself
// waits for a person's yes. It is written down until what came of it has been told.
type StartOrder struct {
	ID      ID        `json:"id"`   // the session's too, once there is one
	From    Address   `json:"from"` // who has it started; a person has no Peer
	What    string    `json:"what"` // an agent, the path of a program, or a command
	Dir     string    `json:"dir"`  // absolute, without links
	Program []string  `json:"program"`
	Profile string    `json:"profile,omitempty"` // by which it is adopted; "" recognises an agent
	Name    string    `json:"name,omitempty"`
	Title   string    `json:"title,omitempty"`
	Near    string    `json:"near,omitempty"`    // a pane: the window opens in its session of tmux; "" is where somebody is
	Message string    `json:"message,omitempty"` // the first one
	Why     string    `json:"why,omitempty"`     // the agent may not start it by itself
	At      time.Time `json:"at"`
	// Seat is the place in a team that the session takes; nil: none.
	Seat *StartSeat `json:"seat,omitempty"`
	// Approved is who said yes; nil while it waits, and of one that nobody had to approve.
	Approved *Person `json:"approved,omitempty"`
	// Begun says that its window may have been opened.
	Begun bool `json:"begun,omitempty"`
}

// StartSeat is a place in a team.
type StartSeat struct {
	Dir         string `json:"dir"` // of the team's project
	Name        string `json:"name"`
	Role        string `json:"role,omitempty"`
	RequirePlan bool   `json:"require_plan,omitempty"` // it may change nothing before its plan is approved
}

// Waits reports whether a person has to decide about it first.
func (o StartOrder) Waits() bool { return o.Approved == nil && !o.Begun }

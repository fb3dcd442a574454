package message

import "time"

// StartOrder is a session that is to be started. If an agent may not start it by itself, it waits
// for a person's yes. The order stays on disk until its outcome has been told.
type StartOrder struct {
	ID      ID        `json:"id"`   // also the id of the session, once there is one
	From    Address   `json:"from"` // who asked for it; a person has no Peer
	What    string    `json:"what"` // an agent, the path of a program, or a command
	Dir     string    `json:"dir"`  // absolute, without links
	Program []string  `json:"program"`
	Profile string    `json:"profile,omitempty"` // profile by which it is adopted; "": the agent is recognised
	Name    string    `json:"name,omitempty"`
	Title   string    `json:"title,omitempty"`
	Near    string    `json:"near,omitempty"`    // a pane: the window opens in its tmux session; "": where somebody is
	Message string    `json:"message,omitempty"` // the first message
	Why     string    `json:"why,omitempty"`     // why the agent may not start it by itself
	At      time.Time `json:"at"`
	// Seat is the place in a team that the session takes; nil: none.
	Seat *StartSeat `json:"seat,omitempty"`
	// Approved is the person who said yes. It is nil while the order waits, and if nobody had to
	// approve it.
	Approved *Person `json:"approved,omitempty"`
	// Begun says that its window may have been opened.
	Begun bool `json:"begun,omitempty"`
}

// StartSeat is a place in a team.
type StartSeat struct {
	Dir         string `json:"dir"` // directory of the team's project
	Name        string `json:"name"`
	Role        string `json:"role,omitempty"`
	RequirePlan bool   `json:"require_plan,omitempty"` // it may change nothing before its plan is approved
}

// Waits reports whether a person must decide about it first.
func (o StartOrder) Waits() bool { return o.Approved == nil && !o.Begun }

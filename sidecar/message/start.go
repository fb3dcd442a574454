package message

import "time"

// StartOrder is a session that an agent asked to have started and may not start by itself. It
// waits for a person's yes.
type StartOrder struct {
	ID      ID        `json:"id"`
	From    Address   `json:"from"` // the agent
	What    string    `json:"what"` // an agent, or the path of a program
	Dir     string    `json:"dir"`  // without links
	Program []string  `json:"program"`
	Profile string    `json:"profile,omitempty"`
	Name    string    `json:"name,omitempty"`
	Title   string    `json:"title,omitempty"`
	Near    string    `json:"near,omitempty"`
	Message string    `json:"message,omitempty"` // the first one
	Why     string    `json:"why"`               // the agent may not start it by itself
	At      time.Time `json:"at"`
	// Approved is who said yes; nil while it waits. What came of it has not been told yet.
	Approved *Person `json:"approved,omitempty"`
}

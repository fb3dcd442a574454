package api

import "github.com/tmux-intercom/tmux-intercom/sidecar/message"

// Adopt lets a pane be read and typed into.
var Adopt = Op[AdoptRequest, message.Peer]{Name: "adopt", Door: persons("adopt a pane", "")}

// Rename gives a session another name.
var Rename = Op[RenameRequest, message.Peer]{Name: "name", Door: persons("rename a session", "policies go by names")}

// Sessions lists the sessions that are present, oldest first.
var Sessions = Op[None, []message.Peer]{Name: "sessions", Door: everybody("list the adopted sessions", ""), Reads: true, Whole: list[message.Peer]}

// Pressed tells that the caller was started by a key that a person pressed at a client of tmux. If
// that is so, it acts for that person.
var Pressed = Op[PressedRequest, None]{Name: "pressed", Door: everybody("report a pressed key", "it counts where tmux saw a key at that client")}

// AdoptRequest names a pane that may be read and typed into from now on.
type AdoptRequest struct {
	Pane   string `json:"pane"`             // %7
	As     string `json:"as"`               // the profile: claude, codex, line or line-paste; "" recognises an agent
	Name   string `json:"name,omitempty"`   // "" lets the sidecar make one from the program
	Prompt string `json:"prompt,omitempty"` // RE2 of the prompt; "" learns it from the screen
}

// RenameRequest gives a session, found by pane, name or id, another name.
type RenameRequest struct {
	Pane string `json:"pane"`
	Name string `json:"name"` // [A-Za-z0-9._-]{1,64}
}

// PressedRequest says what a key has begun beside the caller itself.
type PressedRequest struct {
	Menu      bool `json:"menu,omitempty"` // a menu, from which something is chosen later
	Next      bool `json:"next,omitempty"` // another program, once the caller has found out which (plugin unfit)
	Successor int  `json:"heir,omitempty"` // pid of a child of the caller that goes on for it
}

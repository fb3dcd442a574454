package api

import "github.com/tmux-intercom/tmux-intercom/sidecar/message"

// Adopt adopts a pane: from then on the sidecar may read it and type into it.
var Adopt = Op[AdoptRequest, message.Peer]{Name: "adopt", Door: persons("adopt a pane", "")}

// Rename gives a session another name.
var Rename = Op[RenameRequest, message.Peer]{Name: "name", Door: persons("rename a session", "policies go by names")}

// Sessions lists the sessions that are present, oldest first.
var Sessions = Op[None, []message.Peer]{Name: "sessions", Door: everybody("list the adopted sessions", ""), Reads: true, Whole: list[message.Peer]}

// Pressed reports that a person started the caller by pressing a key at a tmux client. If tmux confirms that,
// the caller acts for that person.
var Pressed = Op[PressedRequest, None]{Name: "pressed", Door: everybody("report a pressed key", "it counts where tmux saw a key at that client")}

// AdoptRequest names a pane to adopt.
type AdoptRequest struct {
	Pane   string `json:"pane"`             // %7
	As     string `json:"as"`               // the profile: claude, codex, line or line-paste; "" recognises an agent
	Name   string `json:"name,omitempty"`   // "" lets the sidecar make one from the program
	Prompt string `json:"prompt,omitempty"` // RE2 expression that matches the prompt; "" learns it from the screen
}

// RenameRequest gives a session, found by pane, name or id, another name.
type RenameRequest struct {
	Pane string `json:"pane"`
	Name string `json:"name"` // [A-Za-z0-9._-]{1,64}
}

// PressedRequest says what else, besides the caller itself, the key has started.
type PressedRequest struct {
	Menu      bool `json:"menu,omitempty"` // a menu, from which the person chooses later
	Next      bool `json:"next,omitempty"` // another program, once the caller knows which (plugin unfit)
	Successor int  `json:"heir,omitempty"` // pid of a child of the caller that continues for it
}

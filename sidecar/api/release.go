package api

import "github.com/tmux-intercom/tmux-intercom/sidecar/message"

// Release ends the adoption of a pane.
var Release = Op[ReleaseRequest, message.Peer]{Name: "release", Door: persons("release a pane", "")}

// MayRelease refuses the same callers as Release, and tells the others what a release would lose. A command
// that asks the person for a yes first calls it, so that it does not ask somebody who may not release at all.
var MayRelease = Op[MayReleaseRequest, Losses]{Name: "may-release", Door: persons("ask what a release would drop", "as for release"), Reads: true, Whole: func(l Losses) Losses {
	l.Messages, l.Chats = list(l.Messages), wholeChats(l.Chats)
	return l
}}

// ReleaseRequest names a session, by pane, name or id. The sidecar stops reading its pane and typing into it.
type ReleaseRequest struct {
	Pane string `json:"pane"`
}

// MayReleaseRequest names a session as ReleaseRequest does; "" is all of them.
type MayReleaseRequest struct {
	Pane string `json:"pane,omitempty"`
}

// Losses are the messages that wait now and would not be delivered, and the chats that would end.
type Losses struct {
	ID       message.ID     `json:"id,omitempty"` // of the named session, as are the next two
	Name     string         `json:"name,omitempty"`
	Pane     string         `json:"pane,omitempty"`
	Messages []message.ID   `json:"messages"` // each once, oldest first
	Chats    []message.Chat `json:"chats"`
}

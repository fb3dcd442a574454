package api

import "github.com/tmux-intercom/tmux-intercom/sidecar/message"

// Release ends the adoption of a pane.
var Release = Op[ReleaseRequest, message.Peer]{Name: "release", Door: persons("release a pane", "")}

// MayRelease is refused to whom Release is, and says to others what is lost by it: whoever asks a person before asks
// nobody who may not release at all.
var MayRelease = Op[MayReleaseRequest, Losses]{Name: "may-release", Door: persons("ask what a release would drop", "as for release"), Reads: true, Whole: func(l Losses) Losses {
	l.Messages, l.Chats = list(l.Messages), wholeChats(l.Chats)
	return l
}}

// ReleaseRequest names a session, by pane, name or id, whose pane is neither read nor
// typed into any longer.
type ReleaseRequest struct {
	Pane string `json:"pane"`
}

// MayReleaseRequest names a session as ReleaseRequest does; "" is all of them.
type MayReleaseRequest struct {
	Pane string `json:"pane,omitempty"`
}

// Losses are what waits now and would not be delivered, and the chats that would end.
type Losses struct {
	ID       message.ID     `json:"id,omitempty"` // of the session that was named, as are the next two
	Name     string         `json:"name,omitempty"`
	Pane     string         `json:"pane,omitempty"`
	Messages []message.ID   `json:"messages"` // each once, oldest first
	Chats    []message.Chat `json:"chats"`
}

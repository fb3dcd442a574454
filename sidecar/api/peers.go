package api

import "github.com/tmux-intercom/tmux-intercom/sidecar/message"

// Peers lists whoever can be addressed, the adopted ones first, and for a person the panes
// too in which an agent is recognised.
var Peers = Op[None, []Peer]{Name: "peers", Door: everybody("list who can be addressed", "panes that nobody adopted are listed for a person alone"), Reads: true, Whole: func(peers []Peer) []Peer {
	whole := make([]Peer, len(peers))
	for i, p := range peers {
		p.Aliases, p.Evidence = list(p.Aliases), list(p.Evidence)
		whole[i] = p
	}
	return whole
}}

// Peer is somebody who can be addressed, by any of Aliases.
type Peer struct {
	Name     string            `json:"name,omitempty"` // "" where the pane is not adopted
	Pane     string            `json:"pane"`
	Session  message.ID        `json:"session,omitempty"`
	Aliases  []string          `json:"aliases"` // name, pane, and the id in its short form
	Computer string            `json:"computer"`
	Agent    string            `json:"agent"` // name of the profile
	Adopted  bool              `json:"adopted"`
	Program  message.Process   `json:"program"`
	Title    string            `json:"title,omitempty"`  // of the pane
	Window   string            `json:"window,omitempty"` // session:index and name, as tmux has them
	TLS      bool              `json:"tls,omitempty"`    // a port that takes encrypted connections only
	State    message.PaneState `json:"state,omitempty"`  // "": nobody has looked
	Why      string            `json:"why,omitempty"`    // what stands against typing there now
	Evidence []message.Ground  `json:"evidence"`         // for the state, the weightiest first
	Chat     message.ID        `json:"chat,omitempty"`   // that it is in
	ChatName string            `json:"chat_name,omitempty"`
	Number   int               `json:"number,omitempty"` // of its place there
}

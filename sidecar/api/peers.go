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

// Kinds of peers, beside those of message that live in no pane.
const (
	KindSession message.PeerKind = "session" // an agent in an adopted pane
	KindPane    message.PeerKind = "pane"    // one in a pane that nobody has adopted
)

// Peer is somebody who can be addressed, by any of Aliases.
type Peer struct {
	ID       message.ID        `json:"id"`   // "" where the pane is not adopted
	Kind     message.PeerKind  `json:"kind"` // session, pane, port, repository, member or remote
	Name     string            `json:"name"` // "" where the pane is not adopted
	Pane     string            `json:"pane"`
	Session  message.ID        `json:"session,omitempty"` // as ID, of whatever kind
	Aliases  []string          `json:"aliases"`           // name, pane, what it goes by in its protocol, id and its short form, [NAME] (NUMBER)
	Computer string            `json:"computer"`
	Agent    string            `json:"agent"` // name of the profile
	Adopted  bool              `json:"adopted"`
	Program  message.Process   `json:"program"`
	Title    string            `json:"title"`            // of the pane
	Window   string            `json:"window,omitempty"` // session:index and name, as tmux has them
	TLS      bool              `json:"tls,omitempty"`    // a port that takes encrypted connections only
	State    message.PaneState `json:"state"`            // "": nobody has looked
	Why      string            `json:"why"`              // what stands against typing there now
	Evidence []message.Ground  `json:"evidence"`         // for the state, the weightiest first
	Chat     message.ID        `json:"chat,omitempty"`   // that it is in
	ChatName string            `json:"chat_name,omitempty"`
	Number   int               `json:"number,omitempty"` // of its place there
}

package api

import "github.com/tmux-intercom/tmux-intercom/sidecar/message"

// Peers lists the peers that can be addressed, the adopted ones first. A person also gets the panes in which an
// agent is recognised.
var Peers = Op[None, []Peer]{Name: "peers", Door: everybody("list who can be addressed", "panes that nobody adopted are listed for a person alone"), Reads: true, Whole: func(peers []Peer) []Peer {
	whole := make([]Peer, len(peers))
	for i, p := range peers {
		p.Aliases, p.Evidence = list(p.Aliases), list(p.Evidence)
		whole[i] = p
	}
	return whole
}}

// Kinds of peers, besides those of package message that live in no pane.
const (
	KindSession message.PeerKind = "session" // an agent in an adopted pane
	KindPane    message.PeerKind = "pane"    // an agent in a pane that nobody has adopted
)

// Peer can be addressed by any of its Aliases.
type Peer struct {
	ID       message.ID        `json:"id"`   // "" if the pane is not adopted
	Kind     message.PeerKind  `json:"kind"` // session, pane, port, repository, member or remote
	Name     string            `json:"name"` // "" if the pane is not adopted
	Pane     string            `json:"pane"`
	Session  message.ID        `json:"session,omitempty"` // the same as ID, whatever its kind
	Aliases  []string          `json:"aliases"`           // name, pane, its name in its protocol, id and its short form, [NAME] (NUMBER)
	Computer string            `json:"computer"`
	Agent    string            `json:"agent"` // name of the profile
	Adopted  bool              `json:"adopted"`
	Program  message.Process   `json:"program"`
	Title    string            `json:"title"`            // of the pane
	Window   string            `json:"window,omitempty"` // session:index and name, as tmux has them
	TLS      bool              `json:"tls,omitempty"`    // a port that takes encrypted connections only
	State    message.PaneState `json:"state"`            // "": not judged yet
	Why      string            `json:"why"`              // what keeps a message from being typed there now
	Evidence []message.Ground  `json:"evidence"`         // for the state, strongest first
	Chat     message.ID        `json:"chat,omitempty"`   // the chat that it is in
	ChatName string            `json:"chat_name,omitempty"`
	Number   int               `json:"number,omitempty"` // its number in that chat
}

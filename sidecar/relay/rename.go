package relay

import (
	"cmp"
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Rename gives a peer another name. Answer: Peer.
type Rename struct {
	By   By
	Peer string
	Name string
}

func (r Rename) by() By { return r.By }

func (r Rename) do(tx *tx, _ *Requested) (Answer, error) {
	s, err := tx.find(r.Peer)
	if err != nil {
		return Answer{}, fmt.Errorf("rename: %w", err)
	}
	if !r.By.Person() { // not even the agent itself: it would escape every policy that names it
		return Answer{}, fmt.Errorf("rename %q: %w", s.Name, ErrPersonOnly)
	}
	if err := tx.Snapshot().CheckName(r.Name, s.ID); err != nil {
		return Answer{}, fmt.Errorf("rename %q: %w", s.Name, err)
	}
	s.Name = r.Name
	tx.changed(s)
	for _, c := range tx.chatsOf(s.ID) {
		for i := range c.Participants {
			if c.Participants[i].Peer == s.ID {
				c.Participants[i].Name = r.Name
			}
		}
		c.listApprove()
		tx.altered(c)
	}
	return Answer{Peer: s.Peer}, nil
}

// Release takes a peer's pane back from us: the peer ends. Answer: Peer.
type Release struct {
	By     By
	Peer   string
	Reason message.Reason // "": ReleasedPane
}

func (r Release) by() By { return r.By }

func (r Release) do(tx *tx, _ *Requested) (Answer, error) {
	s, err := tx.find(r.Peer)
	if err != nil {
		return Answer{}, fmt.Errorf("release: %w", err)
	}
	if !r.By.Person() && r.By.Peer != s.ID {
		return Answer{}, fmt.Errorf("release %q: %w", s.Name, ErrPersonOnly)
	}
	tx.endPeer(s, cmp.Or(r.Reason, message.ReleasedPane))
	return Answer{Peer: s.Peer}, nil
}

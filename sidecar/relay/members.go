package relay

import (
	"fmt"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// member returns the peer's place in the chat, or nil if it is not there, or not any more. A peer
// that left and came back has a place for each stay.
func (c *chat) member(id message.ID) *message.Participant {
	for i := range c.Participants {
		if p := &c.Participants[i]; p.Peer == id && !p.Left {
			return p
		}
	}
	return nil
}

// maySpeak reports whether the peer is in the chat and its turns are messages.
func (c *chat) maySpeak(id message.ID) bool {
	p := c.member(id)
	return p != nil && p.MaySpeak && c.HasFloor(id)
}

// handFloor gives the floor to those of the named peers that are there.
func (tx *tx) handFloor(c *chat, to []message.ID) {
	var floor []message.ID
	for _, id := range to {
		if id == message.Everybody {
			floor = nil
			break
		}
		if c.member(id) != nil && !slices.Contains(floor, id) {
			floor = append(floor, id)
		}
	}
	if len(floor) == 0 && !slices.Contains(to, message.Everybody) || slices.Equal(floor, c.Floor) {
		return // none of them is there any more, or nothing changes
	}
	c.Floor = floor
	tx.altered(c)
}

// mute sets whether the peer may speak, at all its places: a lookup of any of them must find the
// same answer.
func (c *chat) mute(id message.ID, muted bool) {
	for i := range c.Participants {
		if p := &c.Participants[i]; p.Peer == id {
			p.MaySpeak = !muted
		}
	}
}

// removeMember notes that the peer left the chat.
func (c *chat) removeMember(id message.ID) {
	for p := c.member(id); p != nil; p = c.member(id) {
		p.Left = true
	}
	c.Floor = slices.DeleteFunc(c.Floor, func(one message.ID) bool { return one == id })
}

// AddMember adds a peer to a chat that is on or paused. The peer gets the next number, even if it
// was in that chat before, and takes part in what is said from then on. Only a person may add one.
// Errors: as of StartChat; an *InChatError is never Same. Answer: Chats, one.
type AddMember struct {
	By      By
	Chat    string
	Peer    string
	Role    string    // see message.CheckRole; as in StartChat
	Muted   bool      // it may not speak
	Approve bool      // what it says waits for a person's yes
	Backlog []Backlog // as in StartChat, all of it for Peer
	Since   time.Time // as in StartChat
}

func (r AddMember) by() By { return r.By }

func (r AddMember) do(tx *tx, _ *Requested) (Answer, error) {
	c, s, err := tx.place(r.Chat, r.Peer)
	if err == nil && c.Aside {
		err = notPossible("%s is a question; nobody can be added to it", label(c.Chat))
	}
	if err == nil {
		err = tx.checkAdd(r, s)
	}
	var kept []Backlog
	if err == nil {
		kept, err = tx.checkBacklog(r.Backlog, []*peer{s})
	}
	if err != nil {
		return Answer{}, fmt.Errorf("add member: %w", err)
	}
	p := message.Participant{Peer: s.ID, Name: s.Name, Number: 1, Role: r.Role, Approve: r.Approve}
	for _, have := range c.Participants {
		p.Number = max(p.Number, have.Number+1)
		p.Approve = p.Approve || have.Left && have.Approve && have.Name == s.Name // approve names it, and it has come back
	}
	c.Participants = append(c.Participants, p)
	c.mute(s.ID, r.Muted)
	c.listApprove()
	tx.chatByPeer[s.ID], s.joined = c, tx.since(r.Since)
	tx.placed(s)
	tx.altered(c)
	tx.noticeBy(r.By, c.ID, fmt.Sprintf("%s was added to chat %s by %s", s.Name, label(c.Chat), tx.who(r.By)))
	tx.transfer(kept, c)
	return Answer{Chats: []message.Chat{c.copy()}}, nil
}

// checkAdd refuses an addition that is not possible, before anything is changed.
func (tx *tx) checkAdd(r AddMember, s *peer) error {
	if !r.By.Person() {
		return ErrPersonOnly
	}
	if in := tx.chatOf(s.ID); in != nil {
		return &InChatError{Name: s.Name, Chat: in.copy()}
	}
	if tx.stopped {
		return ErrStopped
	}
	return checkRole(r.Role)
}

// RemoveMember takes a peer out of a chat. What was not typed to it in that chat fails; what was
// typed gets no more permission for Enter. What it said before is still heard. A chat with fewer
// than two participants ends. An agent may remove itself, unless the chat is paused or asks for a
// person's yes. Answer: Chats, one.
type RemoveMember struct {
	By   By
	Chat string
	Peer string
}

func (r RemoveMember) by() By { return r.By }

func (r RemoveMember) do(tx *tx, _ *Requested) (Answer, error) {
	c, s, err := tx.place(r.Chat, r.Peer)
	switch {
	case err != nil:
	case !r.By.Person() && (r.By.Peer != s.ID || c.bound()):
		err = ErrPersonOnly // after leaving, it could talk on in another chat
	case c.member(s.ID) == nil:
		err = notThere(s, c)
	}
	if err != nil {
		return Answer{}, fmt.Errorf("remove member: %w", err)
	}
	how := "was removed"
	if !r.By.Person() {
		how = "left"
	}
	whole := c.copy().Participants
	c.removeMember(s.ID)
	tx.altered(c)
	unsent := tx.underway(func(d *delivery) bool { return d.Chat == c.ID && d.open() }, place{toPeer, s.ID})
	tx.revoke(unsent)
	tx.endedWith(r.By, c, unsent, s.Name+" "+how)
	if c.Lonely() {
		c.Participants = whole // they stay listed for whoever takes the chat up again
		tx.end(c, s.Name+" "+how)
	} else {
		by := ""
		if r.By.Person() {
			by = " by " + tx.who(r.By)
		}
		tx.noticeBy(r.By, c.ID, fmt.Sprintf("%s %s from chat %s%s", s.Name, how, label(c.Chat), by))
		tx.settle(c)
	}
	return Answer{Chats: []message.Chat{c.copy()}}, nil
}

// MuteMember stops relaying a peer's turns in a chat, or with Off relays them again; the peer still
// hears the others. While it is muted its turns are no messages, and use none of the chat's Turns.
// Only a person may mute. Answer: Chats, one.
type MuteMember struct {
	By   By
	Chat string
	Peer string
	Off  bool
}

func (r MuteMember) by() By { return r.By }

func (r MuteMember) do(tx *tx, _ *Requested) (Answer, error) {
	c, s, err := tx.place(r.Chat, r.Peer)
	switch {
	case err != nil:
	case !r.By.Person():
		err = ErrPersonOnly
	case c.member(s.ID) == nil:
		err = notThere(s, c)
	}
	if err != nil {
		return Answer{}, fmt.Errorf("mute member: %w", err)
	}
	if c.member(s.ID).MaySpeak == !r.Off {
		c.mute(s.ID, !r.Off)
		tx.altered(c)
	}
	return Answer{Chats: []message.Chat{c.copy()}}, nil
}

// place finds an open chat and a peer that is present.
func (tx *tx) place(chat, peer string) (*chat, *peer, error) {
	c, err := tx.findChat(chat)
	if err != nil {
		return nil, nil, err
	}
	s, err := tx.find(peer)
	if err != nil {
		return nil, nil, err
	}
	return c, s, nil
}

func notThere(s *peer, c *chat) error {
	return notPossible("session %q is not in chat %s", s.Name, label(c.Chat))
}

func checkRole(role string) error {
	if err := message.CheckRole(role); err != nil {
		return notPossible("%w", err)
	}
	return nil
}

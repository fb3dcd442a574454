package relay

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

// peer is a message.Peer with what the brakes know of it.
type peer struct {
	message.Peer
	cause     int                          // greatest depth of what was submitted to it since its last turn; -1: nothing was
	last      int                          // depth of its last turn
	said      message.Turn                 // its last turn that had words, in this run
	budget    *route.Budget                // for what goes to its pane
	sends     map[message.ID]*route.Window // its own single messages in a minute, by target
	hourly    route.Window                 // the same in an hour, to all targets, since a person's word
	counting  bool                         // an open record says what was counted of it
	tells     route.Window                 // notices of a session on another computer, in a minute
	warned    bool                         // a person was told that a message of it is held
	waiting   int                          // deliveries to it that are not submitted yet
	bytes     int                          // the size of these deliveries
	submitted []*delivery                  // submitted deliveries that no turn has answered yet, oldest first
	doubted   []*delivery                  // deliveries whose outcome its sink could not tell, in this run, oldest first
	touched   bool                         // it differs from the snapshot
	since     time.Time                    // when its state began, in this run; zero: not known
	joined    time.Time                    // when it joined its chat, in this run: earlier words do not belong to the chat
}

// depth returns the depth of what the peer says now: one more than that of what it answers, or, as
// long as nothing new was typed to it, that of its last turn.
func (s *peer) depth() int {
	if s.cause >= 0 {
		return s.cause + 1
	}
	return s.last
}

// byPerson makes what the peer says next an answer to a person.
func (s *peer) byPerson() {
	s.cause, s.last = -1, 1
	s.hourly.Reset()
	s.warned = false
}

// freed is byPerson, on disk too: a person's word counts after a restart.
func (tx *tx) freed(s *peer) {
	s.byPerson()
	tx.counted(s)
	if c := tx.chatOf(s.ID); c != nil {
		c.judge.Reset()
	}
	tx.step.Freed = append(tx.step.Freed, s.ID)
}

// placed is freed for a peer that a person puts into a chat. What the peer took before is no cause
// of what it says in that chat. Nor is a delivery of a chat that is over, even if its sink has not
// yet reported whether the agent took it.
func (tx *tx) placed(s *peer) {
	tx.freed(s)
	for _, d := range append(tx.underway(func(*delivery) bool { return true }, place{toPeer, s.ID}), s.doubted...) {
		d.past = d.past || d.shut
	}
}

// present returns the peer of that id, or nil if it is unknown or has ended.
func (s *State) present(id message.ID) *peer {
	if one := s.byID[id]; one != nil && one.Ended == nil {
		return one
	}
	return nil
}

// came takes in a peer, behind all others.
func (s *State) came(one *peer) {
	s.peers, s.byID[one.ID] = append(s.peers, one), one
	if one.Ended == nil && one.Key != "" {
		s.keyed[key{one.Kind, one.Key}] = one
	}
	s.touch(one)
}

// find is registry.Snapshot.Find; it returns the peer itself.
func (s *State) find(ref string) (*peer, error) {
	found, err := s.Snapshot().Find(ref)
	if err != nil {
		return nil, err
	}
	return s.present(found.ID), nil
}

// Adopted says that a person gave us a pane. The relay chooses the peer's name: from its Name, else
// its Title, else its Profile, made unique. A pane that is adopted already is refused, unless the
// peer has the same id: then the peer is brought up to date and keeps its name. Answer: Peer.
type Adopted struct {
	Token Token
	Peer  message.Peer
	Known bool // it was adopted before: if it has ended since, the error is ErrGone
}

func (e Adopted) step(tx *tx) {
	tx.here = true
	if e.Known && tx.present(e.Peer.ID) == nil {
		tx.reply(e.Token, Answer{}, fmt.Errorf("bring %s up to date: %w", e.Peer.Name, ErrGone))
		return
	}
	in, err := tx.adopt(e.Peer)
	tx.reply(e.Token, Answer{Peer: in}, err)
}

func (e Adopted) prepare(l *lookup) (Event, error) {
	e.Token = l.token()
	return e, nil
}

func (e Adopted) unwritten(l *loop, err error) (undo bool) {
	l.answer(e.Token, outcome{err: err})
	return true
}

func (e Adopted) wait(s *stuck, p *posted) (later bool) {
	p.answer(s.err)
	return false
}

// adopt takes in a peer, or brings one up to date.
func (tx *tx) adopt(in message.Peer) (message.Peer, error) {
	if in.Pane == "" || in.Kind != message.PeerPane {
		return message.Peer{}, notPossible("adopt: no pane")
	}
	if have, ok := tx.Snapshot().InPane(in.Pane); ok && have.ID != in.ID {
		return have, fmt.Errorf("adopt pane %q: %w as %q", in.Pane, ErrAdopted, have.Name)
	}
	return tx.takeIn(in), nil
}

// takeIn takes in a peer, whose name it chooses, or brings one up to date.
func (tx *tx) takeIn(in message.Peer) message.Peer {
	if in.ID == "" {
		in.ID = tx.ids.next(tx.now)
	}
	if in.Computer == "" {
		in.Computer = message.LocalComputer
	}
	if in.Adopted.IsZero() {
		in.Adopted = tx.now
	}
	in.Ended, in.EndReason = nil, ""
	if have := tx.present(in.ID); have != nil {
		in.Name, in.Adopted = have.Name, have.Adopted
		in.Closed, in.Lost, in.Draft = have.Closed, have.Lost, have.Draft // only PaneLocked changes them
		if in.Kind != message.PeerPane && reflect.DeepEqual(have.Peer, in) {
			return in // nothing changed: each message of another computer repeats who it is from
		}
		have.Peer = in
		tx.changed(have)
		return in
	}
	if tx.Snapshot().CheckName(in.Name, in.ID) != nil {
		base := ""
		for _, from := range []string{in.Name, in.Title, in.Profile, in.Key} {
			if base = registry.NameFrom(from); base != "" {
				break
			}
		}
		in.Name = tx.Snapshot().FreeName(base)
	}
	in.Closed, in.Lost, in.Draft = "", "", nil
	// An earlier stay under the same id is over and gives way to this one.
	if tx.byID[in.ID] != nil {
		tx.forgetPeers(func(s *peer) bool { return s.ID == in.ID })
	}
	one := newPeer(in)
	tx.came(one)
	tx.changed(one)
	if in.Caller != nil {
		if caller := tx.present(in.Caller.Peer); caller != nil && bounds[caller.Kind].hears {
			tx.subscribe(caller, one)
		}
	}
	return in
}

func newPeer(s message.Peer) *peer {
	return &peer{
		Peer: s, cause: -1, last: 1, budget: route.NewBudget(),
		sends: make(map[message.ID]*route.Window), hourly: route.NewWindow(hour), tells: route.NewWindow(time.Minute),
	}
}

// Released says that a person took a pane back.
type Released struct{ Peer message.ID }

func (e Released) step(tx *tx) {
	tx.here = true
	if one := tx.present(e.Peer); one != nil {
		tx.endPeer(one, message.ReleasedPane)
	}
}

// Gone says that the pane or its program has ended. With PortClosed it says that nobody listens on
// a port; the peer has not ended while something waits to be sent there.
type Gone struct {
	Peer   message.ID
	Reason message.Reason
}

func (e Gone) step(tx *tx) {
	unsent := func(d *delivery) bool { return d.state == message.Queued || d.state == message.Held }
	if e.Reason == message.PortClosed && tx.any(place{toPeer, e.Peer}, unsent) {
		return
	}
	if one := tx.present(e.Peer); one != nil {
		tx.endPeer(one, e.Reason)
	}
}

// endPeer ends a peer, in its chats and for everything under way to it. If a chat ends with it, the
// peer stays listed there for whoever takes the chat up again.
func (tx *tx) endPeer(s *peer, reason message.Reason) {
	gone := tx.depart(s, reason)
	for _, c := range tx.chatsOf(s.ID) {
		whole, place := c.copy().Participants, c.member(s.ID)
		c.removeMember(s.ID)
		tx.altered(c)
		if c.Lonely() {
			c.Participants = whole
			tx.end(c, string(gone))
		} else {
			place.Gone = gone == message.AgentGone
			tx.notice(c.ID, fmt.Sprintf("%s left %s: %s", s.Name, called(c.Chat), reason))
			tx.settle(c)
		}
	}
	tx.effect(Forget{s.ID, s.Kind})
	tx.forgetPast()
}

// depart ends a peer and everything under way to it, and returns the reason that its senders are
// told: the part that matters to them, however the agent went.
func (tx *tx) depart(s *peer, reason message.Reason) (gone message.Reason) {
	at := tx.now
	s.Ended, s.EndReason, s.Closed, s.Lost, s.Draft = &at, string(reason), "", "", nil
	tx.changed(s)
	tx.counted(s)
	tx.partyGone(s.ID)
	tx.untold(s, reason)
	gone = goneAs(reason)
	for _, d := range slices.Clone(tx.at[place{toPeer, s.ID}]) {
		switch {
		case d.state == message.Submitted && s.Kind.Files():
			tx.drop(d) // its text is in a file that may still be read: it did not fail
		case d.state == message.Submitted && d.Chat == "":
			tx.receipt(d, message.Failed, gone) // it was taken, and nobody will answer it: its sender may be waiting for that
		case d.state == message.Submitted:
			tx.drop(d) // the same, but the outcome of the chat tells its sender
		case d.Typed:
			tx.receipt(d, message.Uncertain, gone)
		case d.Chat != "" && gone == message.AgentGone && !tx.isQuestion(d.Chat):
			tx.keepForSuccessor(d)
			tx.drop(d)
		default:
			tx.receipt(d, message.Failed, gone)
		}
	}
	tx.waiting, s.waiting = tx.waiting-s.waiting, 0
	return gone
}

// goneAs returns the reason that the senders to an ended peer are told. Only a peer that ended with
// its agent may have a successor.
func goneAs(reason message.Reason) message.Reason {
	switch reason {
	case message.ReleasedPane, message.GivenBack:
		return message.ReleasedPane
	case message.ComputerForgotten:
		return reason
	}
	return message.AgentGone
}

// forgetPast drops the oldest ended peers and chats beyond the number that is remembered.
func (tx *tx) forgetPast() {
	over := 0
	for _, s := range tx.peers {
		if s.Ended != nil {
			over++
		}
	}
	tx.forgetPeers(func(s *peer) bool {
		if s.Ended == nil || over <= pastPeers {
			return false
		}
		over--
		return true
	})
	over = 0
	for _, c := range tx.chats {
		if c.State == message.ChatOver {
			over++
		}
	}
	tx.chats = slices.DeleteFunc(tx.chats, func(c *chat) bool {
		if c.State != message.ChatOver || over <= pastChats {
			return false
		}
		over--
		tx.news.pastChats = append(tx.news.pastChats, c.ID)
		delete(tx.chatByID, c.ID)
		for _, p := range c.Participants {
			if tx.chatByPeer[p.Peer] == c {
				delete(tx.chatByPeer, p.Peer)
			}
		}
		return true
	})
}

// forgetPeers drops the peers that match.
func (tx *tx) forgetPeers(are func(*peer) bool) {
	tx.peers = slices.DeleteFunc(tx.peers, func(s *peer) bool {
		if !are(s) {
			return false
		}
		tx.news.past = append(tx.news.past, s.ID)
		delete(tx.byID, s.ID)
		if at := (key{s.Kind, s.Key}); tx.keyed[at] == s {
			delete(tx.keyed, at)
		}
		return true
	})
}

// address returns the address of a present peer.
func address(s *peer) message.Address {
	return message.Address{Computer: s.Computer, Peer: s.ID, Name: s.Name}
}

package relay

import (
	"fmt"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

// A chat of sessions on several computers has a home, the computer where it was started, and is
// mirrored on each of the others. All have the same participants with the same numbers. Each
// participant's words are delivered to each of these computers by the speaker's own sidecar, which
// puts them into its own copy of the chat. So each message goes the shortest way, and each computer
// keeps its own brakes, pauses and policies. The home decides who takes part.

// Mirrored says that a chat of another computer has sessions of this one in it, as the chat's home
// now tells. The first time, the chat begins here: it is on, or, if no person has allowed such
// chats, paused until one resumes it. Errors: *InChatError; ErrEnded if it has ended here;
// ErrStopped. Answer: Chats, one.
type Mirrored struct {
	Token   Token
	Chat    message.Chat // its Home, Name and Participants count: Peer, Number, Role, MaySpeak and Left
	Consent bool         // a person allows chats of that computer to have sessions of this one
}

func (e Mirrored) prepare(l *lookup) (Event, error) {
	e.Token = l.token()
	return e, nil
}

func (e Mirrored) unwritten(l *loop, err error) (undo bool) {
	l.answer(e.Token, outcome{err: err})
	return true
}

func (e Mirrored) wait(s *stuck, p *posted) (later bool) {
	p.answer(s.err)
	return false
}

func (e Mirrored) step(tx *tx) {
	c, err := tx.mirror(e)
	if err != nil {
		tx.reply(e.Token, Answer{}, fmt.Errorf("mirror a chat of another computer: %w", err))
		return
	}
	tx.reply(e.Token, Answer{Chats: []message.Chat{c.copy()}}, nil)
}

func (tx *tx) mirror(e Mirrored) (*chat, error) {
	if e.Chat.Home == nil {
		return nil, notPossible("it has no home")
	}
	id := e.Chat.Home.MirrorID()
	if c := tx.chat(id); c != nil {
		if c.State == message.ChatOver {
			return nil, ErrEnded
		}
		if !tx.ofOurs(e.Chat) {
			tx.end(c, e.Chat.Home.Computer+" removed this computer's sessions from the chat")
			return c, nil
		}
		return c, tx.reseat(c, e.Chat)
	}
	if !tx.ofOurs(e.Chat) {
		return nil, notPossible("no session of this computer is in it")
	}
	if tx.stopped {
		return nil, ErrStopped
	}
	c := &chat{Chat: message.Chat{
		ID: id, Home: e.Chat.Home, State: message.ChatOn, Started: tx.now, Limits: route.WithDefaults(message.Limits{}, tx.chatLimits),
	}}
	if tx.checkChatName(e.Chat.Name) == nil {
		c.Name = e.Chat.Name
	}
	if err := tx.reseat(c, e.Chat); err != nil {
		return nil, err
	}
	tx.begun(c)
	if !e.Consent {
		c.State, c.Why = message.ChatPaused, e.Chat.Home.Computer+" began it, and needs your yes"
		tx.raise(message.Event{Chat: c.ID, Resumes: true, Notice: fmt.Sprintf("%s wants %s in a chat: resume it if you agree", e.Chat.Home.Computer, between(c.Chat))})
	}
	return c, nil
}

// ofOurs reports whether a session of this computer is in a chat.
func (tx *tx) ofOurs(c message.Chat) bool {
	return slices.ContainsFunc(c.Participants, func(p message.Participant) bool {
		s := tx.byID[p.Peer]
		return !p.Left && s != nil && s.Ended == nil && bounds[s.Kind].turns
	})
}

// reseat sets the participants of a mirrored chat to those that its home tells.
func (tx *tx) reseat(c *chat, home message.Chat) error {
	var seats []message.Participant
	var fresh []*peer
	for _, p := range home.Participants {
		s := tx.byID[p.Peer]
		if s == nil || s.Ended != nil && !p.Left {
			return &registry.LookupError{Kind: "session", Ref: string(p.Peer), Err: registry.ErrUnknown}
		}
		if err := message.CheckRole(p.Role); err != nil {
			return notPossible("%w", err)
		}
		seat := message.Participant{Peer: s.ID, Name: s.Name, Number: p.Number, Role: p.Role, MaySpeak: p.MaySpeak, Left: p.Left}
		switch have := c.member(s.ID); {
		case have != nil: // keep what a person here has set
			seat.MaySpeak, seat.Approve = seat.MaySpeak && have.MaySpeak, have.Approve
		case !p.Left:
			if in := tx.chatOf(s.ID); in != nil {
				return &InChatError{Name: s.Name, Chat: in.copy()}
			}
			fresh = append(fresh, s)
		}
		seats = append(seats, seat)
	}
	if slices.Equal(c.Participants, seats) {
		return nil
	}
	for _, p := range c.Participants {
		if i := slices.IndexFunc(seats, func(s message.Participant) bool { return s.Peer == p.Peer && !s.Left }); i < 0 && !p.Left {
			tx.revoke(tx.underway(func(d *delivery) bool { return d.Chat == c.ID && d.open() }, place{toPeer, p.Peer}))
		}
	}
	c.Participants = seats
	for _, s := range fresh {
		tx.chatByPeer[s.ID], s.joined = c, tx.now
	}
	tx.altered(c)
	return nil
}

// MirrorLeft says that sessions of another computer are no longer in a chat, because that computer
// has ended it for them. From the home of a mirrored chat, it says that the chat has ended.
type MirrorLeft struct {
	Chat  message.ID // its id here
	From  string     // the computer that says so
	Peers []message.ID
	Why   string
}

func (e MirrorLeft) step(tx *tx) {
	c := tx.chat(e.Chat)
	if c == nil || c.State == message.ChatOver {
		return
	}
	if c.Home != nil && c.Home.Computer == e.From {
		tx.end(c, e.From+": "+e.Why)
		return
	}
	left := false
	for _, id := range e.Peers {
		s := tx.byID[id]
		if s == nil || s.Computer != e.From || s.Kind != message.PeerRemote || c.member(id) == nil {
			continue
		}
		left = true
		c.removeMember(id)
		tx.revoke(tx.underway(func(d *delivery) bool { return d.Chat == c.ID && d.open() }, place{toPeer, id}))
		tx.notice(c.ID, fmt.Sprintf("%s left %s: %s", s.Name, called(c.Chat), e.Why))
	}
	if !left {
		return
	}
	tx.altered(c)
	if c.Lonely() {
		tx.end(c, e.From+": "+e.Why)
		return
	}
	tx.settle(c)
}

// intoChat puts a message of a session on another computer into a chat that it shares with sessions
// of this one, for those participants that the message names.
func (tx *tx) intoChat(s *peer, m message.Envelope, t *pending) (err error) {
	c := tx.chat(m.Chat)
	switch {
	case !bounds[s.Kind].bearer:
		return notPossible("%q may not choose the chat of its messages", s.Name)
	case c == nil || c.State == message.ChatOver:
		return ErrEnded
	case len(m.To) == 0:
		return notPossible("it names nobody")
	}
	member, speakers := c.member(s.ID), tx.speakers(c, s.ID)
	if len(speakers) == 0 {
		return notPossible("%q is not in chat %s, nor is any session of %s", s.Name, label(c.Chat), s.Computer)
	}
	if !slices.ContainsFunc(speakers, func(id message.ID) bool { return c.member(id).MaySpeak }) {
		return notPossible("%q may not speak in chat %s", s.Name, label(c.Chat))
	}
	to, err := tx.addressed(m.To)
	if err != nil {
		return err
	}
	for _, one := range to {
		if c.member(one.Peer) == nil {
			return notPossible("%q is not in chat %s", one.Name, label(c.Chat))
		}
	}
	t.message.To, t.chat, t.message.Chat = to, c, c.ID
	t.message.Thread, t.message.Type = c.ID, message.KindTurn
	if member != nil {
		t.message.From.Number = member.Number
	}
	var further bool
	if t.far, further = c.farTurn(s.ID, m.CopyOf, to); further {
		t.message.CopyOf = m.CopyOf
	} else if member != nil {
		c.taken++
	}
	return nil
}

// farTurn is a turn on another computer. One copy of it comes for each peer that hears it here.
type farTurn struct {
	from, id message.ID
	had      []message.ID // the peers that got their copy
	heard    bool         // the judge has heard it
}

// mostFar is how many turns on other computers a chat remembers: the copies of a turn come one
// after the other.
const mostFar = 64

// farTurn returns the turn that a message is a copy of, and reports whether an earlier copy of it
// came. No peer gets two copies of a turn: a second copy to the same peer, under the same id, is
// another turn. A computer that does not say which turn a copy belongs to makes each copy a turn of
// its own.
func (c *chat) farTurn(from, id message.ID, to []message.Address) (_ *farTurn, further bool) {
	if id == "" {
		return nil, false
	}
	had := func(one *farTurn) bool {
		return slices.ContainsFunc(to, func(a message.Address) bool { return slices.Contains(one.had, a.Peer) })
	}
	i := slices.IndexFunc(c.far, func(one *farTurn) bool { return one.from == from && one.id == id && !had(one) })
	if further = i >= 0; !further {
		i, c.far = len(c.far), append(c.far, &farTurn{from: from, id: id})
	}
	one := c.far[i]
	for _, a := range to {
		one.had = append(one.had, a.Peer)
	}
	c.far = c.far[max(0, len(c.far)-mostFar):]
	return one, further
}

// wasHeard reports whether the judge has heard the turn that a message is a copy of.
func (t *pending) wasHeard() bool {
	if t.far == nil {
		return t.message.CopyOf != "" // of a turn before a restart
	}
	return t.far.heard
}

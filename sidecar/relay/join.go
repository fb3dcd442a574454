package relay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// bound limits what a kind of peer is taken for, whatever its adapter claims. No peer is a person:
// a person's word comes by a request whose process proves it.
type bound struct {
	origin message.Origin
	trust  []message.Trust // what its adapter may claim; any other claim counts as the first
	turns  bool            // its words come as turns, its messages as requests
	hears  bool            // it is told what becomes of the turn that takes its message, and of a session that it started
	bearer bool            // it brings its id from its own computer, and keeps it here
}

// bounds has the bound of each kind. A kind that is missing here can neither join nor say anything.
var bounds = map[message.PeerKind]bound{
	message.PeerPane:       {origin: message.OriginAgent, trust: []message.Trust{message.TrustVerified}, turns: true, hears: true},
	message.PeerPort:       {origin: message.OriginAgent, trust: []message.Trust{message.TrustLoopback}},
	message.PeerRepository: {origin: message.OriginAgent, trust: []message.Trust{message.TrustUnverified, message.TrustRegister}},
	message.PeerMember:     {origin: message.OriginAgent, trust: []message.Trust{message.TrustUnverified}},
	message.PeerRemote:     {origin: message.OriginRemote, trust: []message.Trust{message.TrustRemote}, hears: true, bearer: true},
}

// Taken says what the words of a kind of peer are taken for at most.
type Taken struct {
	Kind   message.PeerKind
	Origin message.Origin
	Trust  []message.Trust // what its adapter may claim; any other claim counts as the first
}

// TakenFor returns the Taken of each kind whose words come by no request.
func TakenFor() (all []Taken) {
	for _, kind := range slices.Sorted(maps.Keys(bounds)) {
		if b := bounds[kind]; !b.turns {
			all = append(all, Taken{kind, b.origin, slices.Clone(b.trust)})
		}
	}
	return all
}

// says makes the peer the author of an envelope: who it is from, how that is known, and how deep it
// lies at least. An unproven author may be any of the agents in the panes, so its message lies as deep
// as the deepest of them.
func (tx *tx) says(s *peer, m *message.Envelope) {
	b := bounds[s.Kind]
	if m.From, m.Origin = address(s), b.origin; !slices.Contains(b.trust, m.Trust) {
		m.Trust = b.trust[0]
	}
	depth := s.depth()
	switch {
	case m.Trust.Unproven():
		depth = max(depth, tx.deepest())
	case bounds[s.Kind].bearer && s.ID.Timeless():
		// It is no session there, so what goes to it causes no agent to speak. Its own sidecar says
		// how deep its words lie, as it does for what it says in the name of a new session.
		depth = 1
	}
	m.Depth = max(m.Depth, depth)
}

// key identifies a peer in its own protocol.
type key struct {
	kind message.PeerKind
	key  string
}

// Joined says that a peer without a pane is here. A key joins once: a peer with a known key is
// brought up to date, and keeps its id and name. Answer: Peer.
type Joined struct {
	Token Token
	Peer  message.Peer // its Kind, Key, Name, Title, Computer, Profile and State count, and the ID of a session on another computer
}

func (e Joined) step(tx *tx) {
	s, err := tx.join(e.Peer)
	tx.reply(e.Token, Answer{Peer: s}, err)
}

func (e Joined) prepare(l *lookup) (Event, error) {
	e.Token = l.token()
	return e, nil
}

func (e Joined) unwritten(l *loop, err error) (undo bool) {
	l.answer(e.Token, outcome{err: err})
	return true
}

func (e Joined) wait(s *stuck, p *posted) (later bool) {
	p.answer(s.err)
	return false
}

func (tx *tx) join(p message.Peer) (message.Peer, error) {
	if b, known := bounds[p.Kind]; !known || b.turns || p.Key == "" {
		return message.Peer{}, notPossible("join: peer %q of kind %q", p.Key, p.Kind)
	}
	in := message.Peer{Kind: p.Kind, Key: p.Key, Name: p.Name, Title: p.Title, Computer: p.Computer, State: p.State, PaneOf: message.PaneOf{Profile: p.Profile}}
	have := tx.keyed[key{p.Kind, p.Key}]
	switch {
	case have != nil && have.Ended == nil:
		in.ID = have.ID
	case bounds[p.Kind].bearer:
		id, err := message.ParseID(string(p.ID))
		if err != nil {
			return message.Peer{}, notPossible("join: %w", err)
		}
		if other := tx.byID[id]; other != nil && (other.Kind != p.Kind || other.Key != p.Key) {
			// With another peer's id it would get that peer's messages.
			return message.Peer{}, notPossible("join: %s is the id of %q", id, other.Name)
		}
		in.ID = id
	}
	return tx.takeIn(in), nil
}

// Received says that a peer without a pane has said something. It goes to the peers that the
// message names, else into the chat that its author is in, else to whomever policies send it. A
// session on another computer speaks in the chat that its message names, to the participants that
// it names. A message that is reported twice counts once. What its author claims is limited by the
// bounds of the peer's kind. Errors: ErrFull. Answer: Message, if it is new.
type Received struct {
	Token   Token
	Message message.Envelope
	Answers message.ID // the delivery that it answers, if its author has taken that; "": none
	Seen    bool       // the journal has a message of that id
	After   message.ID // ErrFull unless that message was received; "": none comes before it
	Follows bool       // the journal has After; not looked up if the State knows it
}

func (e Received) step(tx *tx) {
	m, err := tx.receiveFrom(e)
	if err != nil {
		err = fmt.Errorf("receive message %s: %w", e.Message.ID, err)
	}
	tx.reply(e.Token, Answer{Message: m}, err)
}

func (e Received) prepare(l *lookup) (_ Event, err error) {
	e.Token = l.token()
	if e.Seen, err = l.seen(e.Message.ID); err == nil && e.After != "" && !l.state.seen.Has(e.After) {
		e.Follows, err = l.seen(e.After)
	}
	return e, err
}

func (e Received) unwritten(l *loop, err error) (undo bool) {
	l.answer(e.Token, outcome{err: err})
	return true
}

func (e Received) wait(s *stuck, p *posted) (later bool) {
	p.answer(s.err)
	return false
}

// ours are the types that say where a message was said. A peer's protocol may not claim them.
var ours = []string{message.KindTurn, message.KindSay, message.KindLast, message.KindQuit, message.KindNotice, message.KindCheck}

// receiveFrom takes in what a peer says, and returns its id if it is new.
func (tx *tx) receiveFrom(e Received) (message.ID, error) {
	s := tx.present(e.Message.From.Peer)
	switch {
	case s == nil:
		return "", &registry.LookupError{Kind: "session", Ref: string(e.Message.From.Peer), Err: registry.ErrUnknown}
	case bounds[s.Kind].turns || bounds[s.Kind].trust == nil:
		return "", notPossible("%q speaks through its turns and cannot send messages this way", s.Name)
	case e.After != "" && !e.Follows && !tx.seen.Has(e.After):
		return "", ErrFull
	}
	m, err := tx.fields(e.Message)
	if err != nil {
		return "", err
	}
	if e.Seen || tx.seen.Has(m.ID) {
		return "", nil
	}
	m.Trust, m.Depth = e.Message.Trust, e.Message.Depth
	own := max(s.depth(), m.Depth)
	told := tx.mayTell(s, e.Message)
	if slices.Contains(ours, m.Type) && !told {
		m.Type = message.KindMessage
	}
	tx.says(s, &m)
	if told {
		s.tells.Add(tx.now, 1)
		m.Origin = message.OriginSystem // from its own sidecar, which is trusted no further than its sessions
	}
	t := &pending{message: m}
	if err := tx.bound(s, e.Message, t); err != nil {
		return "", err
	}
	s.cause, s.last = -1, m.Depth
	if m.Trust.Unproven() && own != m.Depth { // it was as deep as some agent, which may end: that depth must not stay with it
		s.last = own
		tx.step.Spoke = append(tx.step.Spoke, message.Spoken{Peer: s.ID, Depth: own, Cause: -1})
	}
	tx.receive(t)
	if d := tx.under[e.Answers]; d != nil && d.Target == s.ID && d.state == message.Submitted {
		tx.note(d, message.Receipt{State: message.Answered, Words: tx.tellable(d, m.Body)})
	}
	return m.ID, nil
}

// mayTell reports whether what a peer says is a notice. Another computer tells somebody something
// by notices, outside of chats and at a limited rate. Everything else is a message.
func (tx *tx) mayTell(s *peer, m message.Envelope) bool {
	return bounds[s.Kind].bearer && m.Type == message.KindNotice && m.Chat == "" && len(m.To) > 0 && s.tells.Sum(tx.now) < tx.sends.Minute
}

// bound finds out where a peer's message goes: into the chat that it names, to the peers that it
// names, into the chat of its author, or to the peers that policies name.
func (tx *tx) bound(s *peer, said message.Envelope, t *pending) (err error) {
	switch c := tx.chatOf(s.ID); {
	case said.Chat != "":
		return tx.intoChat(s, said, t)
	case len(said.To) > 0:
		if t.message.To, err = tx.addressed(said.To); err != nil {
			return err
		}
		return tx.room(s, t.message)
	case c != nil && !tx.heard(message.Turn{Ended: tx.now}, s, c):
		return notPossible("no participant hears %q in chat %s now", s.Name, label(c.Chat))
	case c != nil:
		t.chat, t.message.Chat, t.message.Thread, t.message.Type = c, c.ID, cmp.Or(t.message.Thread, c.ID), message.KindTurn
		t.message.From.Number = c.member(s.ID).Number
		c.taken++
	}
	return nil
}

// fields copies the fields of an envelope that its author fills in. The relay says who it is from,
// how that is known, how deep it lies and when it was made.
func (tx *tx) fields(e message.Envelope) (message.Envelope, error) {
	m := message.Envelope{
		ID: e.ID, Thread: e.Thread, Type: cmp.Or(e.Type, message.KindMessage), Priority: e.Priority, Subject: e.Subject, Body: e.Body,
		InReplyTo: e.InReplyTo, RequiresResponse: e.RequiresResponse, Tags: slices.Clone(e.Tags), Meta: maps.Clone(e.Meta), Created: tx.now,
	}
	if err := cmp.Or(checkBody(e.Body), checkRest(e)); err != nil {
		return m, err
	}
	if m.ID == "" {
		m.ID = tx.ids.next(tx.now)
		return m, nil
	}
	var err error
	if m.ID, err = message.ParseID(string(m.ID)); err != nil {
		err = notPossible("%w", err)
	}
	return m, err
}

// addressed finds the present peers that addresses name, and returns their addresses as a message
// has them.
func (tx *tx) addressed(to []message.Address) (out []message.Address, err error) {
	for _, one := range to {
		s, err := tx.find(cmp.Or(string(one.Peer), one.Name))
		if err != nil {
			return nil, err
		}
		out = append(out, address(s))
	}
	return out, nil
}

package relay

import (
	"errors"
	"fmt"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// ErrNoLink is the error for ending a link that does not exist.
var ErrNoLink = errors.New("no link")

// links are the records of the chats that undecided messages are to begin, by message: a message
// that is decided in a later run begins its chat too.
const links message.RecordKind[wishedLink] = "link"

type wishedLink struct {
	From  message.ID `json:"from"`
	To    message.ID `json:"to"`
	Since time.Time  `json:"since,omitzero"` // as in StartChat
}

// wished returns the request for the chat of the two, which begins once the message goes.
func (w wishedLink) wished() *StartChat {
	return &StartChat{By: By{Kind: Agent, Peer: w.From}, Peers: []string{string(w.From), string(w.To)}, Since: w.Since}
}

// noteLink writes down which chat a message is to begin, or that this is over.
func (tx *tx) noteLink(p *pending, open bool) {
	if p.link != nil {
		record(tx, links, string(p.message.ID), open, wishedLink{message.ID(p.link.Peers[0]), message.ID(p.link.Peers[1]), p.link.Since})
	}
}

func (tx *tx) restoreLinks(all ...message.Record) error {
	read, err := links.Values(all...)
	for id, one := range read {
		tx.wishes[message.ID(id)] = one
	}
	return err
}

// link does what a message asks for besides being sent, as far as that comes first: it ends the
// chat of the two, or refuses a link that is not possible.
func (tx *tx) link(r Send, to *peer, p *pending) error {
	if !r.Direct && !r.CloseLink {
		return nil
	}
	from := tx.present(r.By.Peer)
	switch {
	case r.By.Kind == Unverified:
		return ErrPersonOnly
	case from == nil:
		return notPossible("only a session can be connected to another")
	case r.Direct && r.CloseLink:
		return notPossible("a link is opened or closed, not both")
	case r.CloseLink:
		return tx.closeLink(r.By, p, from, to)
	}
	start := StartChat{By: r.By, Peers: []string{string(from.ID), string(to.ID)}, Since: r.Since}
	p.link = &start
	return tx.checkStart(start, []*peer{from, to})
}

// closeLink ends the chat of the two.
func (tx *tx) closeLink(by By, p *pending, from, to *peer) error {
	c := tx.chatOf(from.ID)
	switch {
	case c == nil || c.member(to.ID) == nil:
		return fmt.Errorf("%w between %q and %q", ErrNoLink, from.Name, to.Name)
	case len(c.there()) > 2:
		return notPossible("chat %s has others in it, and they go on", label(c.Chat))
	case c.bound():
		return ErrPersonOnly // as in StopChat
	}
	tx.endBy(by, c, "closed by "+from.Name)
	p.linked = []message.Chat{c.copy()}
	return nil
}

// connect begins the chat that a message is to begin, if the message goes. If the message is held,
// connect notes that for later. If the other side has begun the same chat meanwhile, that chat is
// used; if the other side is in another chat, none begins.
func (tx *tx) connect(p *pending, d *delivery) {
	if d.where != atSink {
		if tx.under[d.ID] == d {
			d.Direct = true
			tx.step.Deliveries = append(tx.step.Deliveries, d.Delivery)
		}
		return
	}
	answer, err := p.link.do(tx, nil)
	if in, ok := errors.AsType[*InChatError](err); ok && in.Same {
		answer.Chats = []message.Chat{in.Chat}
	}
	p.linked = answer.Chats
}

// connectLate is connect for a message that was held and goes now.
func (tx *tx) connectLate(d *delivery) {
	if !d.Direct {
		return
	}
	d.Direct = false
	tx.step.Deliveries = append(tx.step.Deliveries, d.Delivery)
	from := d.Message.From.Peer
	start := StartChat{By: By{Kind: Agent, Peer: from}, Peers: []string{string(from), string(d.Target)}}
	if _, err := start.do(tx, nil); err != nil && !errors.Is(err, ErrActive) {
		tx.notice("", fmt.Sprintf("%s and %s were not connected: %v", d.Message.From.Name, tx.names([]message.Delivery{d.Delivery}), err))
	}
}

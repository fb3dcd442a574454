package relay

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
)

// Say is a person's word into a chat, to all its participants or to some. It always passes the
// brakes; in a paused chat it is held. Answer, once it is decided: Message, Receipts.
type Say struct {
	By   By
	Chat string
	To   []string // none: all
	Body string
}

func (r Say) by() By { return r.By }

func (r Say) do(tx *tx, a *Requested) (Answer, error) {
	if !r.By.Person() {
		return Answer{}, fmt.Errorf("say: %w", ErrPersonOnly)
	}
	c, err := tx.findChat(r.Chat)
	if err != nil {
		return Answer{}, fmt.Errorf("say: %w", err)
	}
	if err := checkBody(r.Body); err != nil {
		return Answer{}, fmt.Errorf("say: %w", err)
	}
	m := tx.personal(r.By, r.Body, c)
	for _, ref := range r.To {
		s, err := tx.find(ref)
		if err != nil {
			return Answer{}, fmt.Errorf("say: %w", err)
		}
		if !slices.Contains(c.there(), s.ID) {
			return Answer{}, notPossible("say: session %q is not in chat %s", s.Name, label(c.Chat))
		}
		m.To = append(m.To, address(s))
	}
	tx.receive(&pending{message: m, chat: c, tokens: []Token{a.later()}})
	return Answer{}, nil
}

// Send is one message to one peer. Of the envelope, id (made here if empty), type, priority,
// subject, body, in_reply_to, requires_response, tags, thread and meta count; the relay says who it
// is from, how that is known, how deep it lies and when it was made. Answer, once it is decided:
// Message, Receipts (failed "duplicate id" if the id was used before).
//
// Repeatable marks a request that its sender may make again after waiting in vain for the answer.
// While the first one is undecided, the repeated one gets the same answer. An id that was used
// otherwise is ErrUsed, and nothing of that request is written down.
//
// Direct connects the asking agent to the recipient, in a chat of the two at default limits, as
// StartChat would on the agent's behalf. The chat begins once policies, limits and persons let the
// message go, and not if they refuse it, so that no agent says in a chat what it may not say.
// CloseLink ends that chat as StopChat would, before the message goes; the message then may have no
// body. Errors, besides those of Find: of Direct those of StartChat, of CloseLink ErrNoLink.
// Answer: Chats too, the one that began or ended.
type Send struct {
	By         By
	To         string
	Message    message.Envelope
	Direct     bool
	CloseLink  bool
	Repeatable bool
	Since      time.Time // of Direct: as in StartChat
}

func (r Send) by() By              { return r.By }
func (r Send) unproven()           {}
func (r Send) carries() message.ID { return r.Message.ID }

// do takes in a single message. The author and the depth are never taken from the message itself.
func (r Send) do(tx *tx, a *Requested) (Answer, error) {
	to, err := tx.find(r.To)
	if err != nil {
		return Answer{}, fmt.Errorf("send: %w", err)
	}
	m, err := tx.single(r, to)
	if err != nil {
		return Answer{}, fmt.Errorf("send: %w", err)
	}
	p := &pending{message: m}
	if m.ID != "" && (a.Seen || tx.seen.Has(m.ID)) {
		first := tx.undecided[m.ID]
		switch {
		case r.Repeatable && first != nil && first.repeats(m):
			first.tokens = append(first.tokens, a.later())
		case r.Repeatable:
			return Answer{}, fmt.Errorf("send: %w", ErrUsed)
		default:
			p.tokens = []Token{a.later()}
			tx.twice(p)
		}
		return Answer{}, nil
	}
	if err := tx.link(r, to, p); err != nil {
		return Answer{}, fmt.Errorf("send: %w", err)
	}
	if m.ID == "" {
		return Answer{Chats: p.linked}, nil
	}
	p.tokens = []Token{a.later()}
	tx.seen.Add(m.ID, seenMessages)
	tx.receive(p)
	return Answer{}, nil
}

// single returns the message of a request, or a zero one if the request only closes a link.
func (tx *tx) single(r Send, to *peer) (m message.Envelope, err error) {
	if !r.CloseLink || r.Message.Body != "" {
		m, err = tx.fields(r.Message)
	}
	if err != nil {
		return m, err
	}
	m.To = []message.Address{address(to)}
	return m, authors[r.By.Kind](tx, r.By, to, &m)
}

// Recall asks for the last words heard of a peer in this run. It changes nothing. Answer: Turn,
// with Words, All, Truncated and Ended; without words, nothing was heard.
type Recall struct {
	By   By
	Peer string
}

func (r Recall) by() By    { return r.By }
func (r Recall) unproven() {}

func (r Recall) do(tx *tx, _ *Requested) (Answer, error) {
	s, err := tx.find(r.Peer)
	if err != nil {
		return Answer{}, err
	}
	return Answer{Turn: s.said}, nil
}

// checkBody refuses a text that cannot be the body of a message.
func checkBody(body string) error {
	switch {
	case strings.TrimSpace(body) == "":
		return notPossible("the message is empty")
	case len(body) > message.MaxBody:
		return notPossible("the message is %d bytes long; the limit is %d", len(body), message.MaxBody)
	case !utf8.ValidString(body):
		return notPossible("the message is not valid UTF-8")
	}
	return nil
}

// checkRest refuses a message whose fields other than the body are not valid.
func checkRest(m message.Envelope) error {
	long := func(tag string) bool { return tag == "" || len(tag) > message.MaxTag || !utf8.ValidString(tag) }
	switch {
	case len(m.Subject) > message.MaxSubject || !utf8.ValidString(m.Subject):
		return notPossible("the subject has more than %d bytes, or is not valid UTF-8", message.MaxSubject)
	case len(m.Tags) > message.MaxTags:
		return notPossible("the message has %d tags; the limit is %d", len(m.Tags), message.MaxTags)
	case slices.ContainsFunc(m.Tags, long):
		return notPossible("a tag is empty, has more than %d bytes, or is not valid UTF-8", message.MaxTag)
	}
	return nil
}

// personal returns a person's message into a chat.
func (tx *tx) personal(by By, body string, c *chat) message.Envelope {
	return message.Envelope{
		ID: tx.ids.next(tx.now), Chat: c.ID, Thread: c.ID, From: person(by), Type: message.KindSay, Body: body,
		Origin: message.OriginHuman, Trust: message.TrustPerson, Created: tx.now,
	}
}

// person returns the address of a person, whose number is 0.
func person(by By) message.Address {
	name := registry.NameFrom(by.Name)
	if name == "" {
		name = render.Person
	}
	return message.Address{Computer: message.LocalComputer, Name: name}
}

// Package route turns a decided message into deliveries, and holds the measures that the
// brakes need: how deep, how often, how much, and whether it was seen before.
//
// It owns no state and starts no goroutine; the relay's goroutine keeps the measures and
// passes the time in.
package route

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// What stands between a head and the body.
const (
	afterAttribution = "\n\n"
	afterHeader      = " "
)

// Person is how a person is named who gave no usable name.
const Person = "person"

// Plan returns the deliveries that a decided message makes, in the order of the
// participants, without ids and as first attempts, with its subject above its body. Of a message in a chat (chat not nil)
// all participants get one that have not left, in a one-way chat the first alone what others
// say, or those of the verdict's or envelope's addresses; of a single message, its addresses. An address may be that of a session that
// has ended meanwhile: what becomes of such a delivery is the caller's to say. The author
// never gets one; who may speak is asked before a message is received. Every verdict but deliver,
// hold and ask makes none. A notice of the sidecar's own has the same head in a chat and outside of
// one.
func Plan(e message.Envelope, v message.Verdict, s registry.Snapshot, chat *message.Chat) []message.Delivery {
	switch v.Verb {
	case message.VerbDeliver, message.VerbHold, message.VerbAsk:
	default:
		return nil
	}
	e = v.Patched(e)
	said := template(e, chat)
	var out []message.Delivery
	for _, target := range targets(e, v, s, chat) {
		d := said
		if chat != nil && !takesPart(*chat, target) {
			d = template(e, nil) // sent on, to somebody to whom the chat is nothing
		}
		d.Target = target
		out = append(out, d)
	}
	return out
}

// template is a delivery of e without its target.
func template(e message.Envelope, chat *message.Chat) message.Delivery {
	d := message.Delivery{Attempt: 1}
	if chat == nil || isNotice(e) {
		d.Head, d.Separator = discreteHead(e)
		e.Body = withoutOwnHeader(e.Body, d.Head+afterHeader)
	} else {
		d.Head, d.Separator = chatHead(e, *chat)
	}
	if chat != nil {
		d.Chat = chat.ID
		d.LineBreak = chat.Limits.LineBreak
	}
	e.Body = e.Text()
	d.Message = e
	return d
}

// takesPart reports whether the session is, or was, a participant of the chat.
func takesPart(chat message.Chat, session message.ID) bool {
	return slices.ContainsFunc(chat.Participants, func(p message.Participant) bool { return p.Session == session })
}

// targets are the sessions that are to hear e, each once, never its author.
func targets(e message.Envelope, v message.Verdict, s registry.Snapshot, chat *message.Chat) []message.ID {
	var out []message.ID
	add := func(id message.ID) {
		if id == e.From.Session {
			return
		}
		for _, have := range out {
			if have == id {
				return
			}
		}
		if _, ok := s.Session(id); ok {
			out = append(out, id)
		}
	}
	to := e.To
	if len(v.To) > 0 {
		to = v.To
	}
	for _, address := range to {
		if address.Session != "" {
			add(address.Session)
		} else if session, err := s.Find(address.Name); err == nil {
			add(session.ID)
		}
	}
	if len(to) > 0 || chat == nil {
		return out
	}
	asker := chat.Asker()
	for _, p := range chat.Participants {
		answers := asker != "" && e.Origin.OfAgent() && e.From.Session != asker
		if !p.Left && (!answers || p.Session == asker) {
			add(p.Session)
		}
	}
	return out
}

// chatHead is what stands in front of words in a chat: `[Name] (n):` and a blank line,
// behind the header too where the chat shows both. The author's name and number are
// those that it has in the chat.
func chatHead(e message.Envelope, chat message.Chat) (head, separator string) {
	if e.Origin == message.OriginHuman {
		return personHead(e), afterAttribution
	}
	name, number := e.From.Name, e.From.Number
	for _, p := range chat.Participants {
		if p.Session == e.From.Session {
			name, number = p.Name, p.Number
		}
	}
	head = attribution(name, number)
	if chat.Limits.Header == HeaderBoth {
		head = Header(e.From) + " " + head
	}
	return head, afterAttribution
}

// discreteHead is what stands in front of a single message: an agent's has the header, a
// person's the attribution. A notice has the header of the agent that it is about, and the
// mark by which the sidecar itself is known.
func discreteHead(e message.Envelope) (head, separator string) {
	switch {
	case e.Origin == message.OriginHuman:
		return personHead(e), afterAttribution
	case isNotice(e):
		return Header(e.From) + " " + noticeMark, afterHeader
	}
	return Header(e.From), afterHeader
}

// noticeMark is what only the sidecar writes behind a header; sanitise quotes it in a body.
const noticeMark = "[notice]"

// isNotice reports whether the sidecar itself says e: nobody else has that origin.
func isNotice(e message.Envelope) bool {
	return e.Type == message.KindNotice && e.Origin == message.OriginSystem
}

// HeaderBoth is the setting of a chat that shows header and attribution.
const HeaderBoth = "both"

// HeaderAttribution is the setting of a chat that shows the attribution alone.
const HeaderAttribution = "attribution"

// What a turn's words are, by the setting of a chat: what was said after its last call of a
// tool, or that and what was said between the calls.
const (
	WordsLast = "last"
	WordsAll  = "all"
)

// Words are what a turn says in a chat of those settings.
func Words(t message.Turn, limits message.Limits) string {
	if limits.Words == WordsAll && t.All != "" {
		return t.All
	}
	return t.Words
}

// Header is the header of a message from an agent, `AI[computer:session] |`, without the
// space that follows it. A computer without a name is the own one.
func Header(from message.Address) string {
	computer := from.Computer
	if computer == "" {
		computer = message.LocalComputer
	}
	return fmt.Sprintf("AI[%s:%s] |", computer, from.Session)
}

// personHead is the attribution of a person, whose number is 0 everywhere.
func personHead(e message.Envelope) string {
	name := registry.NameFrom(e.From.Name)
	if name == "" {
		name = Person
	}
	return attribution(name, 0)
}

func attribution(name string, number int) string { return fmt.Sprintf("[%s] (%d):", name, number) }

// withoutOwnHeader cuts the author's own exact header from the start of a body, however
// often it stands there, so that the one put in front is the only one. Any other header
// is content: the sink quotes it.
func withoutOwnHeader(body, header string) string {
	for strings.HasPrefix(body, header) {
		body = body[len(header):]
	}
	return body
}

// Package route turns a decided message into deliveries, and holds the measures that the
// brakes need: how deep, how often, how much, and whether it was seen before.
//
// It owns no state and starts no goroutine; the relay's goroutine keeps the measures and
// passes the time in.
package route

import (
	"fmt"
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
// participants, without ids and as first attempts. Of a message in a chat (chat not nil)
// all participants get one that have not left, or those of the verdict's or envelope's
// addresses; of a single message, its addresses. An address may be that of a session that
// has ended meanwhile: what becomes of such a delivery is the caller's to say. The author
// never gets one. An author who may not speak in the chat, and every verdict but deliver,
// hold and ask, makes none.
func Plan(e message.Envelope, v message.Verdict, s registry.Snapshot, chat *message.Chat) []message.Delivery {
	switch v.Verb {
	case message.VerbDeliver, message.VerbHold, message.VerbAsk:
	default:
		return nil
	}
	if chat != nil && e.Origin == message.OriginAgent && !maySpeak(*chat, e.From.Session) {
		return nil
	}
	if v.Body != nil {
		e.Body = *v.Body
	}
	template := message.Delivery{Attempt: 1}
	if chat == nil {
		template.Head, template.Separator = discreteHead(e)
		e.Body = withoutOwnHeader(e.Body, template.Head+afterHeader)
	} else {
		template.Head, template.Separator = chatHead(e, *chat)
		template.Chat = chat.ID
		template.LineBreak = chat.Limits.LineBreak
	}
	template.Message = e

	var out []message.Delivery
	for _, target := range targets(e, v, s, chat) {
		d := template
		d.Target = target
		out = append(out, d)
	}
	return out
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
	for _, p := range chat.Participants {
		if !p.Left {
			add(p.Session)
		}
	}
	return out
}

// maySpeak reports whether the session takes part in the chat, or did, and may speak there.
func maySpeak(chat message.Chat, session message.ID) bool {
	for _, p := range chat.Participants {
		if p.Session == session {
			return p.MaySpeak
		}
	}
	return false
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
// person's the attribution.
func discreteHead(e message.Envelope) (head, separator string) {
	if e.Origin == message.OriginHuman {
		return personHead(e), afterAttribution
	}
	return Header(e.From), afterHeader
}

// HeaderBoth is the setting of a chat that shows header and attribution.
const HeaderBoth = "both"

// HeaderAttribution is the setting of a chat that shows the attribution alone.
const HeaderAttribution = "attribution"

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

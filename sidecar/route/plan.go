// Package route turns a decided message into deliveries, and contains the measures that the brakes
// need: how deep, how often, how much, and whether it was seen before.
//
// It owns no state and starts no goroutine; the relay's goroutine keeps the measures and passes the
// time in.
package route

import (
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
)

// Plan returns the deliveries of a decided message, in the order of the participants, without ids
// and as first attempts, each with its form. If the verdict or the envelope has addresses, these
// are the targets. Otherwise a message in a chat (chat not nil) goes to all participants that have
// not left; in a one-way chat, what the others say goes only to the first. An address may be that
// of a session that has ended meanwhile: the caller decides what becomes of its delivery. The
// author never gets one. Whether the author may speak is checked before a message is received.
// Verdicts other than deliver, hold and ask make no delivery.
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
			d = template(e, nil) // sent on to a session outside of the chat
		}
		d.Target = target
		out = append(out, d)
	}
	return out
}

// template returns a delivery of e without its target.
func template(e message.Envelope, chat *message.Chat) message.Delivery {
	d := message.Delivery{Attempt: 1}
	d.Form, d.Message = render.For(e, chat)
	if chat != nil {
		d.Chat = chat.ID
	}
	return d
}

// takesPart reports whether the session is, or was, a participant of the chat.
func takesPart(chat message.Chat, session message.ID) bool {
	return slices.ContainsFunc(chat.Participants, func(p message.Participant) bool { return p.Peer == session })
}

// targets returns the sessions that e goes to, each once, never its author.
func targets(e message.Envelope, v message.Verdict, s registry.Snapshot, chat *message.Chat) []message.ID {
	var out []message.ID
	add := func(id message.ID) {
		if id == e.From.Peer {
			return
		}
		for _, have := range out {
			if have == id {
				return
			}
		}
		if _, ok := s.Peer(id); ok {
			out = append(out, id)
		}
	}
	to := e.To
	if len(v.To) > 0 {
		to = v.To
	}
	for _, address := range to {
		if address.Peer != "" {
			add(address.Peer)
		} else if session, err := s.Find(address.Name); err == nil {
			add(session.ID)
		}
	}
	if len(to) > 0 || chat == nil {
		return out
	}
	asker := chat.Asker()
	for _, p := range chat.Participants {
		answers := asker != "" && e.Origin.OfAgent() && e.From.Peer != asker
		if !p.Left && (!answers || p.Peer == asker) {
			add(p.Peer)
		}
	}
	return out
}

// Which words of a turn are relayed, as a chat is set: those after the last tool call, or also
// those between calls.
const (
	WordsLast = "last"
	WordsAll  = "all"
)

// Words returns what a turn says in a chat with those settings.
func Words(t message.Turn, limits message.Limits) string {
	if limits.Words == WordsAll && t.All != "" {
		return t.All
	}
	return t.Words
}

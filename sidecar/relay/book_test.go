package relay

import (
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// book keeps what commits said, as the journal does, and tells what another run needs of
// it: test helper.
type book struct {
	sessions   []message.Peer
	chats      []message.Chat
	received   []message.Envelope
	decided    map[message.ID]message.Verdict // the last on each message
	deliveries []message.Delivery
	last       map[message.ID]message.Receipt
	typed      map[message.ID]bool // ever
	taken      map[message.ID]bool // submitted, whatever came after
	depth      map[message.ID]int  // of a session's newest message
	cause      map[message.ID]int
	stopped    bool
	records    []message.Record
}

func newBook() *book {
	return &book{
		decided: make(map[message.ID]message.Verdict), last: make(map[message.ID]message.Receipt), typed: make(map[message.ID]bool),
		taken: make(map[message.ID]bool), depth: make(map[message.ID]int), cause: make(map[message.ID]int),
	}
}

func (b *book) commit(s message.Step) {
	for _, one := range s.Peers {
		b.sessions = replace(b.sessions, one, func(s message.Peer) message.ID { return s.ID })
	}
	for _, one := range s.Chats {
		b.chats = replace(b.chats, one, func(c message.Chat) message.ID { return c.ID })
	}
	for _, m := range s.Received {
		b.received = append(b.received, m)
		b.depth[m.From.Peer] = m.Depth
		delete(b.cause, m.From.Peer)
	}
	for _, v := range s.Verdicts {
		b.decided[v.Message] = v
		for i, d := range b.deliveries {
			if v.Body != nil && v.Person.Name != "" && d.Message.ID == v.Message && b.last[d.ID].Reason == message.AgentGone {
				b.deliveries[i].Message, b.deliveries[i].AsIs = v.Patched(d.Message), false
			}
		}
	}
	for _, d := range s.Deliveries {
		b.deliveries = replace(b.deliveries, d, func(d message.Delivery) message.ID { return d.ID })
	}
	for _, id := range s.Freed {
		b.depth[id] = 1
		delete(b.cause, id)
	}
	for _, r := range s.Receipts {
		b.last[r.Delivery] = r
		b.typed[r.Delivery] = b.typed[r.Delivery] || r.State == message.Typed
		b.taken[r.Delivery] = b.taken[r.Delivery] || r.State == message.Submitted
		if r.State != message.Typed {
			continue
		}
		for _, d := range b.deliveries {
			if d.ID == r.Delivery && d.Message.Origin == message.OriginHuman {
				b.depth[d.Target], b.cause[d.Target] = 1, 0
			} else if d.ID == r.Delivery {
				b.cause[d.Target] = max(b.cause[d.Target], d.Message.Depth)
			}
		}
	}
	for _, one := range s.Records {
		b.records = replace(b.records, one, func(r message.Record) string { return r.Kind + r.ID })
	}
	if s.Stopped != nil {
		b.stopped = *s.Stopped
	}
}

// replace puts one in the place of what bears its id, or behind all others.
func replace[T any, I comparable](list []T, one T, id func(T) I) []T {
	for i := range list {
		if id(list[i]) == id(one) {
			list[i] = one
			return list
		}
	}
	return append(list, one)
}

// restored is what another run, at that server, is told.
func (b *book) restored(server message.Process) Restored {
	r := Restored{Server: server, Stopped: b.stopped}
	for _, one := range b.records {
		if one.Open {
			r.Records = append(r.Records, one)
		}
	}
	for _, s := range b.sessions {
		if s.Ended != nil {
			continue
		}
		stay := SavedPeer{Peer: s, Last: 1, Cause: -1}
		if last, ok := b.depth[s.ID]; ok {
			stay.Last = last
		}
		if cause, ok := b.cause[s.ID]; ok {
			stay.Cause = cause
		}
		r.Peers = append(r.Peers, stay)
	}
	for _, c := range b.chats {
		if c.State == message.ChatOver {
			continue
		}
		going := SavedChat{Chat: c}
		for _, m := range b.received {
			if m.Type == message.KindTurn && m.Chat == c.ID {
				going.Taken++
			}
		}
		r.Chats = append(r.Chats, going)
	}
	for _, m := range b.received {
		if _, ok := b.decided[m.ID]; ok {
			continue
		}
		r.Undecided = append(r.Undecided, m)
		for _, c := range b.chats {
			if c.ID == m.Chat && c.State == message.ChatOver {
				r.Chats = append(r.Chats, SavedChat{Chat: c})
			}
		}
	}
	for _, d := range b.deliveries {
		last := b.last[d.ID]
		if last.State == message.Submitted {
			r.Submitted = append(r.Submitted, d)
		}
		if last.State.Final() || b.taken[d.ID] {
			continue
		}
		d.Typed = b.typed[d.ID]
		r.Deliveries = append(r.Deliveries, SavedDelivery{Delivery: d, Last: last, Verdict: b.decided[d.Message.ID]})
	}
	return r
}

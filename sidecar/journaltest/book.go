// Package journaltest is a journal in memory, for tests that write and restore too much for a disk.
// TestSimulation_journalsAgree of package pane shows that it agrees with the real journal. Empty is
// a journal file, for tests that start many sidecars.
package journaltest

import (
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Book keeps the content of commits, as the journal does, and returns what another run needs of it.
type Book struct {
	Sessions   []message.Peer
	Chats      []message.Chat
	Received   []message.Envelope
	Decided    map[message.ID]message.Verdict // the last verdict on each message
	Deliveries []message.Delivery
	Last       map[message.ID]message.Receipt
	Typed      map[message.ID]bool      // ever
	Since      map[message.ID]time.Time // of the first typed receipt
	Taken      map[message.ID]bool      // submitted, whatever came later
	Depth      map[message.ID]int       // of a session's last turn
	Cause      map[message.ID]int
	Stopped    bool
	Records    []message.Record
}

// NewBook returns an empty book.
func NewBook() *Book {
	return &Book{
		Decided: make(map[message.ID]message.Verdict), Last: make(map[message.ID]message.Receipt), Typed: make(map[message.ID]bool), Since: make(map[message.ID]time.Time),
		Taken: make(map[message.ID]bool), Depth: make(map[message.ID]int), Cause: make(map[message.ID]int),
	}
}

// Commit stores a step.
func (b *Book) Commit(s message.Step) {
	for _, one := range s.Peers {
		b.Sessions = replace(b.Sessions, one, func(s message.Peer) message.ID { return s.ID })
	}
	for _, one := range s.Chats {
		b.Chats = replace(b.Chats, one, func(c message.Chat) message.ID { return c.ID })
	}
	for _, m := range s.Received {
		b.Received = append(b.Received, m)
		if m.EndsTurn() {
			b.Depth[m.From.Peer] = m.Depth
			delete(b.Cause, m.From.Peer)
		}
	}
	for _, v := range s.Verdicts {
		b.Decided[v.Message] = v
		for i, d := range b.Deliveries {
			if v.Body != nil && v.Person.Name != "" && d.Message.ID == v.Message && b.Last[d.ID].Reason == message.AgentGone {
				b.Deliveries[i].Message, b.Deliveries[i].AsIs = v.Patched(d.Message), false
			}
		}
	}
	for _, d := range s.Deliveries {
		b.Deliveries = replace(b.Deliveries, d, func(d message.Delivery) message.ID { return d.ID })
	}
	for _, r := range s.Receipts {
		b.Last[r.Delivery] = r
		if r.State == message.Typed && !b.Typed[r.Delivery] {
			b.Since[r.Delivery] = r.At
		}
		b.Typed[r.Delivery] = b.Typed[r.Delivery] || r.State == message.Typed
		b.Taken[r.Delivery] = b.Taken[r.Delivery] || r.State == message.Submitted
		counts := r.State == message.Typed || r.State == message.Submitted || r.State == message.Uncertain
		i := slices.IndexFunc(b.Deliveries, func(d message.Delivery) bool { return d.ID == r.Delivery })
		if !counts || i < 0 {
			continue
		}
		switch d := b.Deliveries[i]; {
		case d.Message.Origin != message.OriginHuman:
			b.Cause[d.Target] = max(b.Cause[d.Target], d.Message.Depth)
		case r.State != message.Typed: // a person's message resets the depth once it was taken, or may have been
			b.Cause[d.Target] = 0
		}
	}
	for _, id := range s.Freed {
		b.Depth[id] = 1
		delete(b.Cause, id)
	}
	for _, one := range s.Spoke {
		b.Depth[one.Peer], b.Cause[one.Peer] = one.Depth, one.Cause
	}
	for _, one := range s.Records {
		b.Records = replace(b.Records, one, func(r message.Record) string { return r.Kind + r.ID })
	}
	if s.Stopped != nil {
		b.Stopped = *s.Stopped
	}
}

// replace replaces the element with the same id by one, or appends one.
func replace[T any, I comparable](list []T, one T, id func(T) I) []T {
	for i := range list {
		if id(list[i]) == id(one) {
			list[i] = one
			return list
		}
	}
	return append(list, one)
}

// Ended returns the chats that have ended and that have undecided messages.
func (b *Book) Ended(was journal.Restored) (chats []message.Chat) {
	for _, c := range b.Chats {
		if c.State == message.ChatOver && slices.ContainsFunc(was.Undecided, func(m message.Envelope) bool { return m.Chat == c.ID }) {
			chats = append(chats, c)
		}
	}
	return chats
}

// Restored returns the state that another run restores.
func (b *Book) Restored() journal.Restored {
	r := journal.Restored{Stopped: b.Stopped, Depths: map[message.ID]journal.Depth{}, Taken: map[message.ID]int{}}
	for _, one := range b.Records {
		if one.Open {
			r.Records = append(r.Records, one)
		}
	}
	for _, s := range b.Sessions {
		if s.Ended != nil {
			continue
		}
		depth := journal.Depth{Last: 1, Cause: -1}
		if last, ok := b.Depth[s.ID]; ok {
			depth.Last = last
		}
		if cause, ok := b.Cause[s.ID]; ok {
			depth.Cause = cause
		}
		r.Sessions, r.Depths[s.ID] = append(r.Sessions, s), depth
	}
	for _, m := range b.Received {
		if m.TakesTurn() {
			r.Taken[m.Chat]++
		}
		if _, decided := b.Decided[m.ID]; !decided {
			r.Undecided = append(r.Undecided, m)
		}
	}
	for _, c := range b.Chats {
		if c.State != message.ChatOver {
			r.Chats = append(r.Chats, c)
		}
	}
	for _, d := range b.Deliveries {
		last := b.Last[d.ID]
		if last.State == message.Submitted {
			r.Submitted = append(r.Submitted, journal.Submitted{Delivery: d, Typed: b.Since[d.ID]})
		}
		if last.State.Final() || b.Taken[d.ID] {
			continue
		}
		d.Typed = b.Typed[d.ID]
		r.Pending = append(r.Pending, journal.Pending{Delivery: d, Last: last, Verdict: b.Decided[d.Message.ID]})
	}
	return r
}

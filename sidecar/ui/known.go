package ui

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// known is all the data that a screen shows.
type known struct {
	ready  bool // something was loaded
	status api.Status
	waits  []message.Wait
	held   []api.Held // those that wait for a person come first
	peers  []api.Peer
	chats  []api.ChatDetail
	ended  []message.Chat  // the latest that nobody has restarted, latest first
	events []message.Event // the latest, oldest first
	sought string          // by the latest search of all events
	found  []message.Event // by that search, once it is answered
	names  map[message.ID]string

	computers []api.Computer // this one first; loaded separately, since an answer may take time
}

const (
	mostEvents = 600
	mostChats  = 20 // chats that are loaded with their details
	mostEnded  = 5
)

// load loads the current state, and the events after since.
func load(since int64) effect {
	return func(e edge) any { return loadSince(e, since) }
}

func loadSince(e edge, since int64) any {
	var k known
	var err error
	if k.status, err = call(e, api.ShowStatus, api.None{}); err != nil {
		return broken{err}
	}
	if k.waits, err = call(e, api.ListWaits, api.None{}); err != nil {
		return broken{err}
	}
	if k.held, err = call(e, api.Inbox, api.None{}); err != nil {
		return broken{err}
	}
	slices.SortStableFunc(k.held, func(a, b api.Held) int {
		return cmp.Or(order(!a.Decision, !b.Decision), a.Since.Compare(b.Since))
	})
	if k.peers, err = call(e, api.Peers, api.None{}); err != nil {
		return broken{err}
	}
	for _, c := range k.status.Chats[:min(len(k.status.Chats), mostChats)] {
		d, err := call(e, api.ShowChat, api.ChatQuery{Chat: string(c.ID)})
		if err != nil {
			d = api.ChatDetail{Chat: c} // it may have just ended
		}
		k.chats = append(k.chats, d)
	}
	ended, err := call(e, api.Chats, api.ChatsQuery{Ended: true, Most: 4 * mostEnded})
	if err != nil {
		return broken{err}
	}
	k.ended = restartable(ended, k.status.Chats)
	if k.events, err = call(e, api.Log, api.LogQuery{Since: since, Limit: mostEvents}); err != nil {
		return broken{err}
	}
	k.ready = true
	return loaded{k}
}

// restartable returns the latest ended chats that were not restarted, latest first. It leaves out single
// questions.
func restartable(ended, on []message.Chat) (all []message.Chat) {
	again := map[message.ID]bool{}
	for _, c := range slices.Concat(ended, on) {
		again[c.Again] = true
	}
	for _, c := range slices.Backward(ended) {
		if !again[c.ID] && !c.Aside && len(all) < mostEnded {
			all = append(all, c)
		}
	}
	return all
}

// renewed returns k after a load: earlier events stay.
func (k known) renewed(by known) known {
	by.sought, by.found, by.computers = k.sought, k.found, k.computers
	events := by.events
	if len(events) > 0 && events[0].Seq > k.last() {
		events = slices.Concat(k.events, events)
	} else if len(events) == 0 {
		events = k.events
	}
	by.events = events[max(0, len(events)-mostEvents):]
	names := map[message.ID]string{}
	know := func(c message.Chat) {
		for _, p := range c.Participants {
			names[p.Peer] = p.Name
		}
	}
	for _, d := range by.chats {
		know(d.Chat)
	}
	for _, c := range by.ended {
		know(c)
	}
	for _, e := range by.events {
		if e.Message != nil { // its addressee may have ended long ago
			for _, to := range e.Message.To {
				names[to.Peer] = cmp.Or(names[to.Peer], to.Name)
			}
		}
		if e.Peer != nil {
			names[e.Peer.ID] = e.Peer.Name
		}
		if e.Change != nil {
			know(*e.Change)
		}
	}
	for _, s := range by.status.Sessions {
		names[s.ID] = s.Name
	}
	by.names = names
	return by
}

// last returns the number of the latest event.
func (k known) last() int64 {
	if len(k.events) == 0 {
		return 0
	}
	return k.events[len(k.events)-1].Seq
}

// session returns the session with that id, if it is present.
func (k known) session(id message.ID) (message.Peer, bool) {
	i := slices.IndexFunc(k.status.Sessions, func(p message.Peer) bool { return p.ID == id })
	if i < 0 {
		return message.Peer{}, false
	}
	return k.status.Sessions[i], true
}

// chat returns the open chat with that id.
func (k known) chat(id message.ID) (api.ChatDetail, bool) {
	i := slices.IndexFunc(k.chats, func(d api.ChatDetail) bool { return d.ID == id })
	if i < 0 {
		return api.ChatDetail{}, false
	}
	return k.chats[i], true
}

// over returns the ended chat with that id, if it is listed.
func (k known) over(id string) (message.Chat, bool) {
	i := slices.IndexFunc(k.ended, func(c message.Chat) bool { return string(c.ID) == id })
	if i < 0 {
		return message.Chat{}, false
	}
	return k.ended[i], true
}

// chatDetail is chat with a pointer, nil if there is none.
func (k known) chatDetail(id message.ID) *api.ChatDetail {
	if d, ok := k.chat(id); ok && id != "" {
		return &d
	}
	return nil
}

// decisions counts the messages that wait for a person's yes.
func (k known) decisions() (n int) {
	seen := map[message.ID]bool{}
	for _, h := range k.held {
		if h.Decision && !seen[h.Message] {
			seen[h.Message] = true
			n++
		}
	}
	return n
}

// called returns what a chat is called: its participants, after its name if it has one.
func called(c message.Chat) string {
	var names []string
	for _, p := range c.Participants {
		if !p.Left {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		for _, p := range c.Participants {
			names = append(names, p.Name)
		}
	}
	who := c.Between(names)
	if c.Name != "" {
		return c.Name + ": " + who
	}
	return who
}

// standing describes the state of a chat, and who waits for whom.
func (k known) standing(d api.ChatDetail) string {
	if d.State != message.ChatOn {
		return d.State.For(d.Why)
	}
	for _, w := range d.Waiting {
		switch {
		case w.Hold == message.HoldApproval || w.Hold == message.HoldPolicy || w.Hold == message.HoldFilter:
			return w.From + " waits for your yes"
		case w.State == message.Held:
			return w.From + " waits for " + w.To + ": " + string(w.Reason)
		}
	}
	var works, rest []string
	for _, p := range d.Participants {
		if s, ok := k.session(p.Peer); ok && !p.Left {
			if s.State == message.Working {
				works = append(works, p.Name)
			} else {
				rest = append(rest, p.Name)
			}
		}
	}
	switch {
	case len(works) == 0:
		return "quiet"
	case len(rest) == 0:
		return strings.Join(works, " and ") + " work"
	}
	return strings.Join(rest, ", ") + " waits for " + strings.Join(works, ", ")
}

// age says how long ago something was, in a few letters.
func age(now, then time.Time) string {
	d := now.Sub(then)
	switch {
	case then.IsZero():
		return ""
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + "d"
}

func itoa(n int) string { return strconv.Itoa(n) }

func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

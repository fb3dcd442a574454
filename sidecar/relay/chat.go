package relay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/brakes"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
)

// The reason why a chat has ended, if no reason of a delivery says it.
const whyTurns = "all its turns were used"

// chat is a chat with what was counted in it.
type chat struct {
	message.Chat
	taken  int          // number of turns relayed
	judge  brakes.Judge // of what was said in it, in this run
	far    []*farTurn   // the latest turns on other computers, in this run
	opener message.ID   // the agent that started it in this run; what it says later is for this chat,
	before uint64       // except answers to deliveries made after the start; before is the last one made

	vain, doubt bool // see unmet
	full        bool // a person was told that no more turns are passed on
	ahead       bool // it began, or somebody entered it, at a time later than now
	touched     bool // it differs from the snapshot
}

func (c *chat) copy() message.Chat {
	out := c.Chat
	out.Participants, out.Floor = slices.Clone(c.Participants), slices.Clone(c.Floor)
	return out
}

// there returns the participants that have not left.
func (c *chat) there() []message.ID {
	var out []message.ID
	for _, p := range c.Participants {
		if !p.Left {
			out = append(out, p.Peer)
		}
	}
	return out
}

// closing reports whether the chat takes no more turns and waits for its last ones to arrive.
func (c *chat) closing() bool { return c.Turns > 0 && c.taken >= c.Turns }

// over reports whether nothing of the chat is typed to a peer any more: the chat has ended, or the
// peer was taken out of it. A nil chat is one that ended long ago.
func (c *chat) over(target message.ID) bool {
	if c == nil || c.State == message.ChatOver {
		return true
	}
	was := false
	for _, p := range c.Participants {
		if p.Peer == target {
			if !p.Left {
				return false
			}
			was = true
		}
	}
	return was
}

// bound reports whether only a person may take somebody out of the chat: it is paused, or what is
// said there waits for a person's yes and would not wait in another chat.
func (c *chat) bound() bool { return c.State == message.ChatPaused || c.gates() }

// chat returns the chat of that id, open or not, or nil.
func (s *State) chat(id message.ID) *chat {
	return s.chatByID[id]
}

// begun takes in a chat that has begun.
func (s *State) begun(c *chat) {
	s.chats, s.chatByID[c.ID] = append(s.chats, c), c
	if c.Aside {
		return
	}
	for _, id := range c.there() {
		if s.chatOf(id) == nil {
			s.chatByPeer[id] = c
		}
	}
}

// chatOf returns the open chat that the peer is in, or nil.
func (s *State) chatOf(id message.ID) *chat {
	if c := s.chatByPeer[id]; c != nil && c.State != message.ChatOver && c.member(id) != nil {
		return c
	}
	return nil
}

// open returns the chats that have not ended.
func (s *State) open() []*chat {
	var out []*chat
	for _, c := range s.chats {
		if c.State != message.ChatOver {
			out = append(out, c)
		}
	}
	return out
}

// findChat is registry.Snapshot.FindChat for open chats; it returns the chat itself.
func (s *State) findChat(ref string) (*chat, error) {
	found, err := s.Snapshot().FindChat(ref)
	if err != nil {
		return nil, err
	}
	c := s.chat(found.ID)
	if c.State == message.ChatOver {
		return nil, &EndedError{c.copy()}
	}
	return c, nil
}

// chosen returns the open chats that a request names.
func (tx *tx) chosen(ref string) ([]*chat, error) {
	if strings.EqualFold(ref, All) {
		return tx.open(), nil
	}
	c, err := tx.findChat(ref)
	if err != nil {
		return nil, err
	}
	return []*chat{c}, nil
}

// mayTouch refuses an agent what concerns others: a chat that it is not in, and All.
func (tx *tx) mayTouch(by By, ref string, chats []*chat) error {
	if by.Person() {
		return nil
	}
	if by.Kind == Unverified { // admit lets it pause only: to hold too much harms nobody
		return nil
	}
	if strings.EqualFold(ref, All) || !slices.Contains(chats[0].there(), by.Peer) {
		return ErrPersonOnly
	}
	return nil
}

// with reports whether a delivery goes on, or ends, with a chat: it belongs to the chat, or was
// sent on out of it and is held since then.
func (tx *tx) with(c *chat, d *delivery) bool {
	sentOn := d.Chat == "" && !d.Typed && (d.hold == message.HoldPause || d.hold == message.HoldLimit)
	return d.Chat == c.ID || sentOn && tx.saidIn(d.Message) == c
}

// pause holds everything in a chat that is not submitted yet: somebody asked for it, and may have
// seen our text.
func (tx *tx) pause(c *chat, why string) { tx.holdUp(c, why, func(*delivery) bool { return true }) }

// brake is pause when nobody asked for it: a delivery that has permission to be typed still gets
// its Enter.
func (tx *tx) brake(c *chat, why string) {
	tx.holdUp(c, why, func(d *delivery) bool { return !d.Typed })
}

func (tx *tx) holdUp(c *chat, why string, which func(*delivery) bool) {
	c.State, c.Why = message.ChatPaused, why
	tx.altered(c)
	tx.withhold(tx.underway(which, place{inChat, c.ID}), message.HoldPause, message.Paused)
}

// end ends a chat. What was not typed into a pane never will be; for what was, the panes report the
// outcome.
func (tx *tx) end(c *chat, why string) { tx.endBy(By{}, c, why) }

// endBy is end at the request of by.
func (tx *tx) endBy(by By, c *chat, why string) {
	at := tx.now
	c.State, c.Why, c.Ended, c.judge, c.far = message.ChatOver, why, &at, brakes.Judge{}, nil
	tx.altered(c)
	unsent := tx.underway(func(d *delivery) bool { return tx.with(c, d) && d.open() }, place{inChat, c.ID}, place{inChat, ""})
	tx.revoke(unsent)
	text := fmt.Sprintf("%s has ended: %s", called(c.Chat), why)
	if lost := tx.endedWith(by, c, unsent, string(message.ChatEnded)); lost > 0 {
		text += fmt.Sprintf("; not delivered: %d that waited", lost)
	}
	tx.noticeBy(by, c.ID, text)
	tx.forgetPast()
}

// full tells a person, once, that a chat takes no more although it is still there: its last words
// wait for a person.
func (tx *tx) full(c *chat, s *peer) {
	if c.full || !c.closing() || c.State == message.ChatOver || !tx.any(place{inChat, c.ID}, (*delivery).awaits) {
		return
	}
	c.full = true
	tx.notice(c.ID, fmt.Sprintf("%s is not relayed any more: chat %s has used all its turns, and its last messages wait for your decision", s.Name, label(c.Chat)))
}

// settle ends a chat whose turns were all taken, once the last words have arrived. It also ends a
// question that nobody can answer any more.
func (tx *tx) settle(c *chat) {
	if c.State != message.ChatOn || len(tx.flows[string(c.ID)]) > 0 {
		return
	}
	if !c.closing() {
		if tx.unanswerable(c) {
			tx.end(c, whyUnanswered)
		}
		return
	}
	if !tx.any(place{inChat, c.ID}, (*delivery).open) {
		tx.end(c, c.whyDone())
	}
}

// whyDone returns the reason why a chat has ended whose turns were all taken. In a question, the
// turns are the answers of the others.
func (c *chat) whyDone() string {
	if c.Closes != "" {
		return c.Closes
	}
	if !c.OneWay || len(c.Participants) < 2 {
		return whyTurns
	}
	var names []string
	for _, p := range c.Participants[1:] {
		names = append(names, p.Name)
	}
	return strings.Join(names, " and ") + " answered"
}

// answer returns an Answer with chats as they are now.
func (tx *tx) answer(chats []*chat) Answer {
	var a Answer
	for _, c := range chats {
		a.Chats = append(a.Chats, c.copy())
	}
	return a
}

// who names the caller, for a reason that a person reads.
func (tx *tx) who(by By) string {
	if by.Kind == Unverified {
		return "an unverified process"
	}
	if s := tx.present(by.Peer); s != nil {
		return s.Name
	}
	if name := registry.NameFrom(by.Name); name != "" {
		return name
	}
	return render.Person
}

// called is label preceded by a noun: "question" for a one-way chat that ends with its answers,
// "chat" for others.
func called(c message.Chat) string { return c.Noun() + " " + label(c) }

// label returns the name of a chat in a sentence.
func label(c message.Chat) string {
	if c.Name != "" {
		return fmt.Sprintf("%q (%s)", c.Name, between(c))
	}
	return between(c)
}

// between names a chat by its participants. If fewer than two are still there, it names those who
// left too.
func between(c message.Chat) string {
	var there, all []string
	for _, p := range c.Participants {
		all = append(all, p.Name)
		if !p.Left {
			there = append(there, p.Name)
		}
	}
	if len(there) > 1 {
		all = there
	}
	return c.Between(all)
}

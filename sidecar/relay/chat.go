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

// Why a chat has ended, where no reason of a delivery says it.
const whyTurns = "all its turns were used"

// chat is a chat with what was counted in it.
type chat struct {
	message.Chat
	taken  int          // turns that were relayed
	judge  brakes.Judge // of what was said in it, in this run
	far    []*farTurn   // the latest turns on other computers, in this run
	opener message.ID   // the agent that started it in this run: what it says from then on is for this chat,
	before uint64       // but for what it answers that came later: the last delivery made before the start

	vain, doubt bool // see unmet
	full        bool // a person was told that what is said now is not passed on
	ahead       bool // when it began, or somebody came in, was later than it is now
	touched     bool // it is another than in the snapshot
}

func (c *chat) copy() message.Chat {
	out := c.Chat
	out.Participants, out.Floor = slices.Clone(c.Participants), slices.Clone(c.Floor)
	return out
}

// there are the participants that have not left.
func (c *chat) there() []message.ID {
	var out []message.ID
	for _, p := range c.Participants {
		if !p.Left {
			out = append(out, p.Peer)
		}
	}
	return out
}

// closing reports whether the chat waits for its last words to arrive, and takes no more.
func (c *chat) closing() bool { return c.Turns > 0 && c.taken >= c.Turns }

// over reports whether nothing of the chat is typed to that peer any more: the chat has
// ended, or the peer was taken out of it. A chat that is nil is one that ended long ago.
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

// bound reports whether only a person takes anybody out of the chat: it is paused, or what is
// said there waits for a person's yes, and would not wait in another one.
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

// chatOf returns the open chat in which the peer is, or nil.
func (s *State) chatOf(id message.ID) *chat {
	if c := s.chatByPeer[id]; c != nil && c.State != message.ChatOver && c.member(id) != nil {
		return c
	}
	return nil
}

// open are the chats that have not ended.
func (s *State) open() []*chat {
	var out []*chat
	for _, c := range s.chats {
		if c.State != message.ChatOver {
			out = append(out, c)
		}
	}
	return out
}

// findChat is registry.Snapshot.FindChat for an open chat itself.
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

// chosen are the open chats that a request means.
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

// mayTouch refuses an agent what is done to others: a chat in which it is not, and All.
func (tx *tx) mayTouch(by By, ref string, chats []*chat) error {
	if by.Person() {
		return nil
	}
	if by.Kind == Unverified { // which may pause, as admit has it: to hold too much harms nobody
		return nil
	}
	if strings.EqualFold(ref, All) || !slices.Contains(chats[0].there(), by.Peer) {
		return ErrPersonOnly
	}
	return nil
}

// with reports whether a delivery goes on, or ends, with a chat: it is part of it, or was sent on out
// of it and is held since that was.
func (tx *tx) with(c *chat, d *delivery) bool {
	sentOn := d.Chat == "" && !d.Typed && (d.hold == message.HoldPause || d.hold == message.HoldLimit)
	return d.Chat == c.ID || sentOn && tx.saidIn(d.Message) == c
}

// pause holds everything in a chat that is not submitted yet: somebody has asked for it, and may have seen our text.
func (tx *tx) pause(c *chat, why string) { tx.holdUp(c, why, func(*delivery) bool { return true }) }

// brake is pause where nobody has asked for it: what has permission to be typed gets its Enter.
func (tx *tx) brake(c *chat, why string) {
	tx.holdUp(c, why, func(d *delivery) bool { return !d.Typed })
}

func (tx *tx) holdUp(c *chat, why string, which func(*delivery) bool) {
	c.State, c.Why = message.ChatPaused, why
	tx.altered(c)
	tx.withhold(tx.underway(which, place{inChat, c.ID}), message.HoldPause, message.Paused)
}

// end ends a chat: what was not typed into a pane never will be, and of what was, the
// panes report what became of it.
func (tx *tx) end(c *chat, why string) { tx.endBy(By{}, c, why) }

// endBy is end where somebody has asked for it.
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

// full tells once that a chat takes no more, although it is still there: its last words wait for a person.
func (tx *tx) full(c *chat, s *peer) {
	if c.full || !c.closing() || c.State == message.ChatOver || !tx.any(place{inChat, c.ID}, (*delivery).awaits) {
		return
	}
	c.full = true
	tx.notice(c.ID, fmt.Sprintf("what %s says is passed on no more: all turns of chat %s were used, and the last of them wait for you", s.Name, label(c.Chat)))
}

// settle ends a chat whose turns were all taken, once the last words have arrived, and one
// that was a question which nobody can answer any more.
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

// whyDone is why a chat has ended all of whose turns were taken. In a question these are the
// answers of the others.
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

// answer is an Answer that names chats as they are now.
func (tx *tx) answer(chats []*chat) Answer {
	var a Answer
	for _, c := range chats {
		a.Chats = append(a.Chats, c.copy())
	}
	return a
}

// who names the one who asked, for a reason that a person reads.
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

// called is label with what it names: what goes one way and ends with its answers is a question.
func called(c message.Chat) string { return c.Noun() + " " + label(c) }

// label is how a chat is called in a sentence.
func label(c message.Chat) string {
	if c.Name != "" {
		return fmt.Sprintf("%q (%s)", c.Name, between(c))
	}
	return between(c)
}

// between names a chat by its participants, those who left too where nobody is there any more.
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

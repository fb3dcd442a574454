package relay

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

// Spoke says that a turn ended. Submitted deliveries that it answers become answered; in a chat,
// its words go to the others. If the turn was cut short, these deliveries fail for that reason, its
// words go nowhere, and the agents that wait for an answer are told. A turn that is reported twice
// counts once. A turn that ended before this run (Turn.Late) counts only as the answer to what an
// earlier run had submitted: everything else about it is old.
type Spoke struct {
	Turn     message.Turn
	Seen     bool // the journal has a message of the turn's id
	Prompted bool // the journal has one of its person's prompt
}

func (e Spoke) prepare(l *lookup) (_ Event, err error) {
	if e.Seen, err = l.seen(e.Turn.ID); err == nil && e.Turn.ID != "" && e.Turn.Prompt != "" {
		e.Prompted, err = l.seen(promptID(e.Turn.ID))
	}
	return e, err
}

func (e Spoke) wait(s *stuck, _ *posted) (later bool) { return s.room(e.Turn) }

// step takes in a turn: what it answers, its depth, and, in a chat, its words, after its person's
// prompt if the chat wants that too.
func (e Spoke) step(tx *tx) {
	s := tx.present(e.Turn.Peer)
	if s == nil || !bounds[s.Kind].turns {
		return
	}
	t, news := tx.dated(e.Turn)
	if !news {
		return
	}
	said := e.Seen || tx.seen.Has(t.ID) // a message was made of it
	twice := said || e.Prompted || tx.turns.Has(t.ID)
	belongs := tx.belongs(t, s)
	depth := tx.late(t) // computed now: what it answers is forgotten next
	var stops []stop
	if !twice {
		stops = tx.stops(s, endedBy(t))
	}
	reply, unanswered := tx.answered(t)
	if t.Person && !twice {
		tx.freed(s)
	}
	if !t.Late || t.Person {
		depth = s.depth()
	}
	in := belongs.hearing(tx, t, s) // nil: its chat hears nothing of it
	prompted := false
	if !twice {
		tx.took(s.ID, time.Time{})
		if belongs.chat != nil && !t.Late {
			tx.spend(belongs.chat, t)
		}
		tx.spoken(s, t, depth)
		prompted = in != nil && tx.prompted(t, s, in)
	}
	switch {
	case t.Cut != "" && !twice:
		told := tx.cut(t, s, in, depth, unanswered, stops, prompted)
		stops = slices.DeleteFunc(stops, func(one stop) bool { return slices.Contains(told, one.caller) })
	case t.Cut != "": // it was reported before
	case t.Late && said: // its words were relayed before, when nobody knew what it answers
	case in != nil && (said || !twice):
		tx.relay(t, s, in, depth, reply, said)
	case !twice && belongs.chat != nil && !belongs.elsewhere && strings.TrimSpace(t.Words) != "":
		tx.full(belongs.chat, s)
	}
	tx.tellStops(s, stops, cmp.Or(string(t.Cut), turnEnded), depth)
	if !twice { // they may be about a newer turn
		tx.withdrawChecks("", s.ID)
	}
	if belongs.chat != nil {
		tx.settle(belongs.chat)
	}
	for _, c := range belongs.asides {
		if t.Cut == "" && !twice && tx.heard(t, s, c) {
			copied := t
			copied.ID = copyID(t.ID, c.ID)
			tx.relay(copied, s, c, depth, reply, false)
		}
		tx.settle(c)
	}
}

// dated fills in what the source of a turn left out. A late turn is no news if it answers nothing,
// or only what was answered before: it is old.
func (tx *tx) dated(t message.Turn) (_ message.Turn, news bool) {
	if t.ID == "" {
		t.ID = tx.ids.next(tx.now)
	}
	if t.Ended.IsZero() {
		t.Ended = tx.now
	}
	if t.Late {
		t.Answers = tx.awaiting(t)
	} else {
		t.Answers = tx.withTaken(t)
	}
	return t, !t.Late || len(t.Answers) > 0
}

// belonging says where a turn belongs.
type belonging struct {
	chat      *chat   // the chat of its peer, or a question beside it; nil for neither
	elsewhere bool    // it answers something outside of that chat
	asides    []*chat // further questions that it answers
}

// belongs finds out where the turn of a peer belongs, by what it answers.
func (tx *tx) belongs(t message.Turn, s *peer) belonging {
	b := belonging{chat: tx.chatOf(s.ID), asides: tx.asides(t)}
	b.elsewhere = b.chat != nil && tx.answersElsewhere(t, b.chat)
	if len(b.asides) > 0 && (b.chat == nil || b.elsewhere || !tx.answersIn(t, b.chat)) {
		b = belonging{chat: b.asides[0], asides: b.asides[1:]} // it answers that question, and nothing of its chat
	}
	return b
}

// answersIn reports whether a turn answers something that was said in that chat.
func (tx *tx) answersIn(t message.Turn, c *chat) bool {
	return slices.ContainsFunc(t.Answers, func(id message.ID) bool {
		d := tx.under[id]
		return d != nil && d.Target == t.Peer && d.Chat == c.ID
	})
}

// hearing returns the chat in which the turn is heard, or nil.
func (b belonging) hearing(tx *tx, t message.Turn, s *peer) *chat {
	if b.chat == nil || b.elsewhere || !tx.heard(t, s, b.chat) {
		return nil
	}
	return b.chat
}

// spoken notes what the peer said in a turn, and that what it says next answers nothing yet.
func (tx *tx) spoken(s *peer, t message.Turn, depth int) {
	cause, last := s.cause, s.last
	s.cause, s.last = -1, depth
	if t.Late { // another turn answers the remaining ones
		for _, d := range s.submitted {
			tx.caused(s, d.Message)
		}
	}
	if cause >= 0 || s.cause >= 0 || s.last != last { // needed because not every turn becomes a message, which would record it
		tx.step.Spoke = append(tx.step.Spoke, message.Spoken{Peer: s.ID, Depth: s.last, Cause: s.cause})
	}
	if t.Cut == "" && strings.TrimSpace(t.Words) != "" {
		s.said = message.Turn{Words: t.Words, All: t.All, Truncated: t.Truncated, Ended: t.Ended}
	}
	tx.turns.Add(t.ID, seenMessages)
}

// awaiting returns those of the deliveries that a turn answers that still wait for an answer.
func (tx *tx) awaiting(t message.Turn) []message.ID {
	return slices.DeleteFunc(slices.Clone(t.Answers), func(id message.ID) bool {
		d := tx.under[id]
		return d == nil || d.Target != t.Peer || d.state != message.Submitted
	})
}

// withTaken returns the deliveries that a turn answers, including those that its peer took by
// itself before the turn ended: its pane knows nothing of these.
func (tx *tx) withTaken(t message.Turn) []message.ID {
	answers := slices.Clone(t.Answers)
	if s := tx.present(t.Peer); s != nil {
		for _, d := range s.submitted {
			if d.Door == message.DoorMCP && !t.Ended.Before(d.permitted) && !slices.Contains(answers, d.ID) {
				answers = append(answers, d.ID)
			}
		}
	}
	return answers
}

// late returns the depth of a late turn, from what it answers alone. Other messages may have been
// typed to the peer since.
func (tx *tx) late(t message.Turn) int {
	depth := 1
	for _, id := range t.Answers {
		if d := tx.under[id]; d != nil && d.Message.Origin != message.OriginHuman {
			depth = max(depth, d.Message.Depth+1)
		}
	}
	return depth
}

// answersElsewhere reports whether everything that a turn answers was said in chats other than this
// one: in a chat that ended while the agent was still at work on it, say. If the agent itself has
// started this chat since then, its turn belongs here: a program that was told something there, and
// did not answer, would otherwise seem to answer that with its first words here. What it was told
// after the start, as in a question beside this chat, it answers there.
func (tx *tx) answersElsewhere(t message.Turn, c *chat) bool {
	elsewhere := false
	for _, id := range t.Answers {
		d := tx.under[id]
		if d == nil || d.Target != t.Peer {
			continue
		}
		if d.Chat == "" || d.Chat == c.ID {
			return false
		}
		elsewhere = elsewhere || c.opener != t.Peer || d.seq > c.before || !tx.chat(d.Chat).over(t.Peer)
	}
	return elsewhere
}

// relay passes a turn's words, if it has any, to the others in a chat. Words that became a message
// before are dropped, with a receipt for each peer that would have got them.
func (tx *tx) relay(t message.Turn, s *peer, c *chat, depth int, reply message.ID, twice bool) {
	words := route.Words(t, c.Limits)
	if strings.TrimSpace(words) == "" {
		return
	}
	body, short := trim(words)
	m := message.Envelope{
		ID: t.ID, Chat: c.ID, Thread: c.ID, From: address(s), Type: message.KindTurn, Body: body, InReplyTo: reply,
		Origin: message.OriginAgent, Trust: message.TrustVerified, Depth: depth, Created: t.Ended, Truncated: t.Truncated || short,
	}
	m.From.Number = c.member(s.ID).Number
	if twice {
		tx.twice(&pending{message: m, chat: c})
		return
	}
	c.taken++
	tx.receive(&pending{message: m, chat: c, acted: t.Acted})
}

// trim makes the body of a message from an agent's words, and reports whether it had to cut them.
func trim(words string) (string, bool) {
	words = strings.ToValidUTF8(words, "\uFFFD")
	if len(words) <= message.MaxBody {
		return words, false
	}
	end := message.MaxBody
	for !utf8.RuneStart(words[end]) {
		end--
	}
	return words[:end], true
}

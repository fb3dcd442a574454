package relay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/secret"
)

// DefaultHealth is how long a turn goes on before the session is asked whether it is still at work.
const DefaultHealth = 10 * time.Minute

// HealthChanged sets how long a turn that took a session's message goes on, in awake time, before
// it is asked about; after as long it is asked about again. With 0 no turn is asked about.
type HealthChanged struct{ After time.Duration }

func (e HealthChanged) step(tx *tx) { tx.health = max(e.After, 0) }

// checkMark is how a check of a session's health begins, also one that an agent sends.
const checkMark = "Status check: "

// isCheck reports whether a message asks whether a session is still at work.
func isCheck(m message.Envelope) bool {
	return m.Type == message.KindCheck || m.Type == message.KindMessage && m.Chat == "" && m.Origin.OfAgent() && strings.HasPrefix(m.Body, checkMark)
}

// checkHealth asks about turns that go on for too long, each on behalf of the session whose message
// it took. An agent that is idle by then is not asked: its turn has ended, whatever it made of the
// message. A program known only by its screen may show its prompt and still be at work, so it is
// asked.
func (tx *tx) checkHealth() {
	if tx.health == 0 || tx.notices.armed == 0 {
		return
	}
	var due []*subscription
	for _, s := range tx.peers {
		for _, sub := range tx.notices.about[s.ID] {
			switch taken := slices.ContainsFunc(sub.Awaits, tx.isTaken); {
			case !taken:
				sub.asked = unset
			case sub.asked == unset:
				sub.asked = tx.awake
			case tx.awake-sub.asked >= tx.health:
				sub.asked = tx.awake
				due = append(due, sub)
			}
		}
	}
	for _, sub := range due {
		about := tx.present(sub.Peer)
		if about == nil || about.State != message.Idle || about.screenAlone() {
			tx.check(tx.present(sub.Caller), about)
			continue
		}
		taken := func(_ message.ID, d *delivery) bool {
			return d != nil && d.state == message.Submitted && d.Message.From.Peer == sub.Caller
		}
		tx.tellStops(about, tx.stops(about, taken), turnEnded, about.depth())
		tx.withdrawChecks(sub.Caller, about.ID)
	}
}

func (tx *tx) isTaken(id message.ID) bool {
	d := tx.under[id]
	return d != nil && d.state == message.Submitted
}

// check asks a session, on behalf of a caller, whether it is still at work. If such a question is
// already on its way, the caller is told what is observed instead.
func (tx *tx) check(caller, about *peer) {
	if caller == nil || about == nil {
		return
	}
	if len(tx.checks(caller.ID, about.ID)) > 0 {
		tx.observed(caller, about, "")
		return
	}
	tx.receive(&pending{message: message.Envelope{
		ID: tx.ids.next(tx.now), From: address(caller), To: []message.Address{address(about)}, Type: message.KindCheck,
		Body: fmt.Sprintf("%sAre you still working on %s?", checkMark, titleOf(about)), Origin: message.OriginSystem, Trust: message.TrustVerified,
		Depth: caller.depth(), Created: tx.now,
	}})
}

// checks returns the checks that a session has not been given yet: those of one caller, or of all
// if caller is "".
func (s *State) checks(caller, about message.ID) []*delivery {
	return s.underway(func(d *delivery) bool {
		return d.Message.Type == message.KindCheck && d.open() && !d.Typed && (caller == "" || d.Message.From.Peer == caller)
	}, place{toPeer, about})
}

// withdrawChecks expires the checks that a session was not given before it stopped, those of one
// caller or, with "", of all: they ask about a turn that is over.
func (tx *tx) withdrawChecks(caller, about message.ID) {
	list := tx.checks(caller, about)
	for _, d := range list {
		tx.receipt(d, message.Expired, turnEnded)
	}
	tx.cancel(slices.DeleteFunc(list, func(d *delivery) bool { return d.where != atSink }), expired)
}

// asksInTime reports whether the turn that a check asks about still goes on.
func (tx *tx) asksInTime(d *delivery) bool {
	sub := tx.notices.subscribed(d.Message.From.Peer, d.Target)
	return sub != nil && slices.ContainsFunc(sub.Awaits, tx.isTaken)
}

// answerCheck answers a check that its session will not get yet, from what is observed.
func (tx *tx) answerCheck(d *delivery) {
	caller, about := tx.present(d.Message.From.Peer), tx.present(d.Target)
	if caller != nil && about != nil && isCheck(d.Message) && about.State != message.Idle {
		tx.observed(caller, about, d.Message.ID)
	}
}

// observed tells a caller what is known of a session that is not asked now.
func (tx *tx) observed(caller, about *peer, check message.ID) {
	text := fmt.Sprintf("%q is %s", titleOf(about), cmp.Or(about.State, message.Unknown))
	if !about.since.IsZero() {
		text += " since " + about.since.Format(time.TimeOnly)
	}
	text += ": "
	if words := tail(about.said.Words); words != "" {
		text += "last words " + words
	} else {
		text += "nothing said yet"
	}
	tx.tellAuthor(message.Envelope{ID: check}, caller, address(about), nil, text, about.depth())
}

// mostLastWords is the maximum number of bytes of a session's words in a notice.
const mostLastWords = 400

// tail returns the end of words, in one line. It masks secrets before it cuts: no filter would
// recognise half of a secret.
func tail(words string) string {
	words = strings.Join(strings.Fields(strings.ToValidUTF8(secret.Mask(words), "\uFFFD")), " ")
	if len(words) <= mostLastWords {
		return words
	}
	from := len(words) - mostLastWords
	for !utf8.RuneStart(words[from]) {
		from++
	}
	return "… " + words[from:]
}

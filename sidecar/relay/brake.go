package relay

import (
	"fmt"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

const hour = time.Hour

// How many single messages of one agent may wait for a person. All agents on another computer
// together may have as many as maxHeldOfComputer. More are refused.
const (
	maxHeld           = 20
	maxHeldOfComputer = 5 * maxHeld
)

// LimitsChanged sets the limits for single messages, and for new chats that set none. Chats that
// have begun keep theirs. A zero field means the built-in limit; in Chats, it means the limit for
// single messages. Own limits what agents send of their own accord; Commands says which single
// messages go without a head.
type LimitsChanged struct {
	Limits, Chats message.Limits
	Own           route.Sends
	Commands      Commands
}

func (e LimitsChanged) step(tx *tx) {
	tx.limits = route.WithDefaults(e.Limits, message.Limits{})
	tx.chatLimits = route.WithDefaults(e.Chats, tx.limits)
	tx.sends = e.Own.WithDefaults()
	tx.commands = e.Commands
	tx.unname()
}

// How much may wait for one pane. Beyond it a delivery fails at once, and its receipt says so.
// Deliveries that wait for a person's yes count too: what is kept is bounded, however long nobody
// is there. maxHeld prevents one agent from filling the queue alone and keeping others from being
// heard.
const (
	maxWaiting      = 1000
	maxWaitingBytes = 32 << 20
	maxDoubted      = 16  // deliveries that a late receipt may still prove submitted
	maxUnanswered   = 256 // submitted deliveries that are remembered until their turn ends
)

// QueueFull is the reason of a delivery that failed because too much waits for its pane.
const QueueFull = message.QueueFull

// room refuses a message from one repository to another for which too much waits already: the file
// stays where it is, and comes again. Undecided messages count.
func (tx *tx) room(from *peer, m message.Envelope) error {
	for _, one := range m.To {
		to := tx.present(one.Peer)
		if from.Kind != message.PeerRepository || to == nil || to.Kind != message.PeerRepository {
			continue
		}
		waiting := to.bytes + len(m.Body)
		for _, t := range tx.undecided {
			if slices.ContainsFunc(t.message.To, func(a message.Address) bool { return a.Peer == to.ID }) {
				waiting += len(t.message.Body)
			}
		}
		if waiting > maxWaitingBytes {
			return ErrFull
		}
	}
	return nil
}

// pass applies the brakes to a decided message. They count it and judge what it says; if it must
// not go on now, pass returns the reason. A person's message always goes, costs nothing, and
// restarts the judgement of its chat: the limits keep agents from running away.
func (tx *tx) pass(t *pending, planned []message.Delivery) message.Reason {
	if t.message.Origin == message.OriginHuman || t.chosen {
		if t.chat != nil {
			t.chat.judge.Reset()
		}
		return ""
	}
	if reason := tx.limit(t, planned); reason != "" {
		return reason
	}
	if tx.hear(t, planned) {
		return message.BecameEmpty
	}
	for _, d := range tx.typed(planned) {
		if target := tx.present(d.Target); target != nil {
			target.budget.Spend(tx.now, size(d))
			tx.counted(target)
		}
		if author := tx.sender(t); author != nil {
			tx.sent(author, d.Target)
		}
	}
	return ""
}

// mayBeTold reports whether an agent is told that policies let its own message go to nobody. Such a
// notice costs what a message that goes costs; beyond the limits, a person is told instead, once.
func (tx *tx) mayBeTold(t *pending, refused []message.Delivery) bool {
	author := tx.sender(t)
	if author == nil {
		return true
	}
	if author.Kind.Files() {
		return true
	}
	for _, d := range refused {
		if over := author.sendsTooOften(tx.now, d.Target, tx.sends); over != "" {
			if !author.warned {
				author.warned = true
				tx.notice("", fmt.Sprintf("%s gets no more notices of messages sent back by policies: %s", t.message.From.Name, over))
			}
			return false
		}
	}
	for _, d := range refused {
		tx.sent(author, d.Target)
	}
	return true
}

// limit returns the limit that an agent's message exceeds, or "". A message that just reaches a
// limit still goes.
func (tx *tx) limit(t *pending, planned []message.Delivery) message.Reason {
	limits := tx.limits
	if t.chat != nil {
		limits = t.chat.Limits
	}
	if route.TooDeep(t.message, limits.Depth) {
		return message.AtDepthLimit
	}
	author := tx.sender(t)
	planned = tx.typed(planned)
	if author != nil && len(planned) > tx.sends.FanOut {
		return message.AtFanOut
	}
	if author != nil {
		if over := tx.behind(author, planned, limits); over != "" {
			return over
		}
	}
	for _, d := range planned {
		target := tx.present(d.Target)
		if target == nil {
			continue
		}
		if over := target.budget.Over(tx.now, size(d), limits); over != "" {
			return over
		}
		if author == nil {
			continue
		}
		if over := author.sendsTooOften(tx.now, d.Target, tx.sends); over != "" {
			return over
		}
	}
	return ""
}

// behind returns the rate for which earlier messages of an author to one of the targets are held,
// or "": a later message does not overtake them. It first lets those go that the limit allows by
// now, because it was raised or time has passed; none goes while everything is stopped. Messages
// that were sent on out of a chat go on with that chat.
func (tx *tx) behind(author *peer, planned []message.Delivery, limits message.Limits) message.Reason {
	for _, p := range planned {
		target := tx.present(p.Target)
		for _, d := range tx.underway(func(d *delivery) bool {
			return d.Target == p.Target && d.Chat == "" && d.Message.Chat == "" && d.hold == message.HoldLimit && slices.Contains(rates, d.reason)
		}, place{bySender, author.ID}) {
			n := size(d.Delivery)
			if tx.stopped || target == nil || target.budget.Over(tx.now, n, limits) != "" || author.sendsTooOften(tx.now, d.Target, tx.sends) != "" {
				return d.reason
			}
			target.budget.Spend(tx.now, n)
			tx.counted(target)
			tx.sent(author, d.Target)
			tx.unhold([]*delivery{d}, false)
		}
	}
	return ""
}

// rates are the limits that time alone lifts.
var rates = []message.Reason{message.AtRateLimit, message.AtOwnMinute, message.AtOwnHour}

// typed returns the planned deliveries that cost an agent's attention. A file costs none: only the
// depth limits how often one is written, and how much.
func (tx *tx) typed(planned []message.Delivery) []message.Delivery {
	return slices.DeleteFunc(slices.Clone(planned), func(d message.Delivery) bool {
		target := tx.present(d.Target)
		return target != nil && target.Kind.Files()
	})
}

// sender returns the agent that sends a message of its own accord, or nil. Such a message is a
// single one, or the first of a chat that the agent starts.
func (tx *tx) sender(t *pending) *peer {
	if t.chat != nil && t.message.Type == message.KindTurn || !t.message.Origin.OfAgent() {
		return nil
	}
	if t.message.From.Peer == message.Unverified {
		return tx.stranger
	}
	return tx.present(t.message.From.Peer)
}

// newStranger returns the one sender that stands for all unverified callers.
func newStranger() *peer {
	return newPeer(message.Peer{ID: message.Unverified, Name: string(message.Unverified), Computer: message.LocalComputer})
}

// deepest returns the depth of what an unproven caller says: any of the agents in the panes here may
// have caused it. Peers without a pane do not count. Their words may lie as deep as an agent's that has
// long gone, and nothing resets the depth of one that is silent.
func (tx *tx) deepest() int {
	depth := 1
	for _, s := range tx.peers {
		if s.Ended == nil && s.Kind == message.PeerPane {
			depth = max(depth, s.depth())
		}
	}
	return depth
}

// sent counts a message that a peer sends of its own accord.
func (tx *tx) sent(s *peer, target message.ID) {
	s.hourly.Add(tx.now, 1)
	s.minutely(target).Add(tx.now, 1)
	tx.counted(s)
}

// sendsTooOften returns the limit that keeps the peer from sending to target now, or "".
func (s *peer) sendsTooOften(now time.Time, target message.ID, most route.Sends) message.Reason {
	switch {
	case s.minutely(target).Sum(now) >= most.Minute:
		return message.AtOwnMinute
	case s.hourly.Sum(now) >= most.Hour:
		return message.AtOwnHour
	}
	return ""
}

// minutely counts what the peer sent to target within a minute.
func (s *peer) minutely(target message.ID) *route.Window {
	if s.sends[target] == nil {
		window := route.NewWindow(time.Minute)
		s.sends[target] = &window
	}
	return s.sends[target]
}

// refuses reports whether so many messages of the sending agent wait already that one more is
// refused rather than held: no agent may block another's pane.
func (tx *tx) refuses(t *pending) bool {
	author := tx.sender(t)
	if author == nil || t.chat != nil || author.Kind.Files() {
		return false
	}
	held := func(p *peer) int {
		return len(tx.underway(func(d *delivery) bool { return (d.hold == message.HoldLimit || d.awaits()) && d.Chat == "" }, place{bySender, p.ID}))
	}
	if held(author) >= maxHeld || !bounds[author.Kind].bearer {
		return held(author) >= maxHeld
	}
	all := 0
	for _, p := range tx.peers {
		if p.Kind == author.Kind && p.Computer == author.Computer {
			all += held(p)
		}
	}
	return all >= maxHeldOfComputer
}

// braked tells the person that a message is held at a limit, or refused. If it was said in a chat,
// the whole chat pauses, unless it is paused already: nothing may overtake what is held. The person
// is told once per pause.
func (tx *tx) braked(t *pending, reason message.Reason, refused bool) {
	if t.chat == nil {
		about := tx.sender(t)
		if t.message.Origin == message.OriginSystem {
			about = tx.present(t.message.To[0].Peer) // a notice is caused by what its reader said
		}
		if about != nil {
			if about.warned {
				return
			}
			about.warned = true
		}
		became := "held"
		if refused {
			became = "refused, because too many of its messages already wait"
		}
		tx.notice("", fmt.Sprintf("a message from %s is %s: %s", t.message.From.Name, became, reason))
		return
	}
	why := string(reason)
	if reason == message.BecameEmpty {
		why += ": " + t.empty
	}
	if t.chat.Braked {
		return
	}
	t.chat.Braked = true
	tx.brake(t.chat, why)
	how := ": " + string(reason)
	if reason == message.AtDepthLimit && t.chat.taken >= t.chat.Limits.Depth { // else what it heard was deep already
		how = fmt.Sprintf(" after %d turns", t.chat.Limits.Depth)
	}
	tx.noticePause(t.chat, how)
}

// spend counts the tokens that a turn used in a chat, and pauses the chat at its limit: the words
// of that turn are the first to wait. A person's yes allows as many tokens again.
func (tx *tx) spend(c *chat, t message.Turn) {
	if t.Tokens == nil {
		return
	}
	c.Spent.Add(*t.Tokens)
	c.Spent.Turns++
	tx.altered(c)
	used := c.Spent.Counted() - c.Spent.Granted
	if limit := c.Limits.Tokens; limit == 0 || used < limit || c.State != message.ChatOn || !gate.Stands("relay:tokens") {
		return
	}
	c.Braked = true
	tx.brake(c, fmt.Sprintf("%s: %d of %d used, %s in all", message.AtTokenLimit, used, c.Limits.Tokens, c.Spent.String()))
	tx.noticePause(c, fmt.Sprintf(" after %d tokens, %d in all", used, c.Spent.Counted()))
}

// forgetSends drops the counters that no brake needs any more.
func (tx *tx) forgetSends() {
	for _, s := range append([]*peer{tx.stranger}, tx.peers...) {
		for target, window := range s.sends {
			if window.Sum(tx.now) == 0 {
				delete(s.sends, target)
			}
		}
	}
}

// size returns how many bytes of a delivery are typed, before the sink changes any.
func size(d message.Delivery) int { return len(render.Text(d.Form, d.Message)) }

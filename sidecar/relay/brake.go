package relay

import (
	"fmt"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

const hour = time.Hour

// How often an agent may send single messages, of its own accord.
const (
	sendsAMinute = 10 // to one peer
	sendsAnHour  = 30 // to all, since a person's word
	fanOut       = 5  // sessions that one of them may go to
	maxHeld      = 20 // of them that wait for a person; more are refused
)

// Limited says which limits hold from now on for single messages, and for new chats where they
// set none. Chats that have begun keep theirs. Zero fields mean the built-in ones, and in Chats
// those for single messages.
type Limited struct{ Limits, Chats message.Limits }

func (e Limited) step(w *work) {
	w.limits = route.WithDefaults(e.Limits, message.Limits{})
	w.chatLimits = route.WithDefaults(e.Chats, w.limits)
}

// What may wait for one pane. Beyond it a delivery fails at once, and says so. What waits for a
// person's yes counts too: what is kept is bounded however long nobody is there. That no agent
// fills it alone, and keeps others from being heard, is what maxHeld is for.
const (
	maxWaiting      = 1000
	maxWaitingBytes = 32 << 20
	maxUnanswered   = 256 // submitted deliveries that are remembered until their turn ends
)

// QueueFull is the reason of a delivery that failed since too much waits for its pane.
const QueueFull message.Reason = "queue is full"

// pass has a decided message go by the brakes, which count it and hear what it says, or returns
// why it must not go on now. What a person says always goes, costs nothing, and begins the
// judgement of its chat anew: the limits keep agents from running away.
func (w *work) pass(t *thought, planned []message.Delivery) message.Reason {
	if t.message.Origin == message.OriginHuman || t.chosen {
		if t.chat != nil {
			t.chat.judge.Reset()
		}
		return ""
	}
	if reason := w.limit(t, planned); reason != "" {
		return reason
	}
	if w.hear(t, planned) {
		return message.BecameEmpty
	}
	for _, d := range planned {
		if target := w.present(d.Target); target != nil {
			target.budget.Spend(w.now, size(d))
		}
		if author := w.sender(t); author != nil {
			author.sent(w.now, d.Target)
		}
	}
	return ""
}

// mayBeTold reports whether an agent is told that policies let go to nobody what it sends of its own
// accord. It costs what a message that goes does; beyond that a person is told, once.
func (w *work) mayBeTold(t *thought, refused []message.Delivery) bool {
	author := w.sender(t)
	if author == nil {
		return true
	}
	for _, d := range refused {
		if author.sendsTooOften(w.now, d.Target) {
			if !author.warned {
				author.warned = true
				w.notice("", fmt.Sprintf("%s gets no more notices of messages sent back by policies: %s", t.message.From.Name, message.AtRateLimit))
			}
			return false
		}
	}
	for _, d := range refused {
		author.sent(w.now, d.Target)
	}
	return true
}

// limit returns which limit an agent's message is beyond, or "": at a limit it still goes.
func (w *work) limit(t *thought, planned []message.Delivery) message.Reason {
	limits := w.limits
	if t.chat != nil {
		limits = t.chat.Limits
	}
	if route.TooDeep(t.message, limits.Depth) {
		return message.AtDepthLimit
	}
	author := w.sender(t)
	if author != nil && len(planned) > fanOut {
		return message.AtFanOut
	}
	for _, d := range planned {
		target := w.present(d.Target)
		if target == nil {
			continue
		}
		if over := target.budget.Over(w.now, size(d), limits); over != "" {
			return over
		}
		if author != nil && author.sendsTooOften(w.now, d.Target) {
			return message.AtRateLimit
		}
	}
	return ""
}

// sender is the agent that sends a message of its own accord, or nil: a single one, or the
// first of a chat that it starts.
func (w *work) sender(t *thought) *session {
	if t.chat != nil && t.message.Type == message.KindTurn || !t.message.Origin.OfAgent() {
		return nil
	}
	if t.message.From.Peer == message.Unverified {
		return w.stranger
	}
	return w.present(t.message.From.Peer)
}

// newStranger makes the sender that all unverified callers are together.
func newStranger() *session {
	return newSession(message.Peer{ID: message.Unverified, Name: string(message.Unverified), Computer: message.LocalComputer})
}

// deepest is the depth of what somebody says who is not proven: any of the agents may have had it
// said.
func (w *work) deepest() int {
	depth := 1
	for _, s := range w.sessions {
		if s.Ended == nil {
			depth = max(depth, s.depth())
		}
	}
	return depth
}

// sent counts a message that the session sends of its own accord.
func (s *session) sent(now time.Time, target message.ID) {
	s.hourly.Add(now, 1)
	s.minutely(target).Add(now, 1)
}

// sendsTooOften reports whether the session may send no more to target now.
func (s *session) sendsTooOften(now time.Time, target message.ID) bool {
	return s.hourly.Sum(now) >= sendsAnHour || s.minutely(target).Sum(now) >= sendsAMinute
}

// minutely counts what the session sent to target within a minute.
func (s *session) minutely(target message.ID) *route.Window {
	if s.sends[target] == nil {
		window := route.NewWindow(time.Minute)
		s.sends[target] = &window
	}
	return s.sends[target]
}

// refuses reports whether so much of what its agent sent waits already that one more is
// refused rather than held: nobody's pane is to be blocked by it.
func (w *work) refuses(t *thought) bool {
	author := w.sender(t)
	return author != nil && t.chat == nil && len(w.underway(func(d *delivery) bool {
		return (d.hold == holdBrake || d.awaits()) && d.Chat == ""
	}, place{bySender, author.ID})) >= maxHeld
}

// braked tells the person that a message is held at a limit, or refused. In a chat, all of it
// pauses: nothing may overtake what is held.
func (w *work) braked(t *thought, reason message.Reason, refused bool) {
	if t.chat == nil {
		about := w.sender(t)
		if t.message.Origin == message.OriginSystem {
			about = w.present(t.message.To[0].Peer) // a notice comes of what its reader said
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
		w.notice("", fmt.Sprintf("a message from %s is %s: %s", t.message.From.Name, became, reason))
		return
	}
	why := string(reason)
	if reason == message.BecameEmpty {
		why += ": " + t.empty
	}
	t.chat.Braked = true
	w.pause(t.chat, why)
	how := ": " + string(reason)
	if reason == message.AtDepthLimit {
		how = fmt.Sprintf(" after %d turns", t.chat.Limits.Depth)
	}
	w.noticePause(t.chat, how)
}

// forgetSends forgets what no brake needs any more.
func (w *work) forgetSends() {
	for _, s := range append([]*session{w.stranger}, w.sessions...) {
		for target, window := range s.sends {
			if window.Sum(w.now) == 0 {
				delete(s.sends, target)
			}
		}
	}
}

// size is how many bytes of a delivery are typed, before the sink changes any.
func size(d message.Delivery) int { return len(render.Text(d.Form, d.Message)) }

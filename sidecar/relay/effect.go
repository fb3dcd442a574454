package relay

import (
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Effect is something to be done outside of the State, in the order in which Step returns it. The
// Commit of a step, if it has one, comes first: nothing else is done before it is on disk, and
// nothing at all if it cannot be written.
type Effect interface{ perform(*loop) }

// followed is an effect from which events follow at once. They belong to the same group.
type followed interface{ follow(*loop) []Event }

// Commit writes the step to the journal.
type Commit struct{ Step message.Step }

// Decide asks the policy about a message; the verdict comes back as Decided. Verdicts may come in
// any order; those of one chat take effect in the order of its messages.
type Decide struct{ Message message.Envelope }

// Deliver hands a delivery to its sink. If the sink already has a delivery with that id, the new
// one replaces it. The sink pastes a delivery at most once: not if Typed is set, and not if it got
// permission for an earlier attempt of the same id, even if Typed is not set yet because both
// crossed each other. If Typed is set in the first attempt, the delivery is from an earlier run:
// the sink first looks whether anything was typed at all.
type Deliver struct {
	Delivery message.Delivery
	kind     message.PeerKind // the kind of its sink
}

// Cancel takes deliveries back from their sinks. The sink forgets an untyped delivery. It does not
// press Enter for a typed one; if it already has, it keeps watching, and reports. A typed delivery
// that waits for Enter gets no more permission; after a pause the sink is handed it again, with
// Typed set.
type Cancel struct {
	IDs    []message.ID
	Reason message.Reason
	kind   message.PeerKind // the kind of their sink
}

// Allow answers Reported. A nil Err means that the receipt is on disk and, if its state was typed,
// that permission is given; an error means that nothing may be typed.
type Allow struct {
	Token Token
	Err   error
}

// Reply answers all other events with a token, such as Adopted and Requested.
type Reply struct {
	Token  Token
	Answer Answer
	Err    error
}

// Publish tells all watchers. The events have no Seq: the journal gives them their place.
type Publish struct{ Events []message.Event }

// Forget ends the sink's work for a peer: its pane is neither read nor typed into any more.
type Forget struct {
	Peer message.ID
	kind message.PeerKind // the kind of its sink
}

func (Commit) perform(*loop) {} // it is on disk

func (e Decide) perform(l *loop) {
	if l.Policy != nil {
		l.asker.add(e.Message.ID, l.state.lines(e.Message.ID))
	}
}

// follow returns the verdict if there is no policy. It comes back as an event of its own, like that
// of a policy that answers later.
func (e Decide) follow(l *loop) []Event {
	if l.Policy != nil {
		return nil
	}
	return []Event{Decided{message.Verdict{Message: e.Message.ID, Decision: message.Decision{Verb: message.VerbDeliver, By: "built in"}, At: l.now()}}}
}

func (e Deliver) perform(l *loop) {
	if e.kind != l.to {
		l.handOver()
	}
	l.to, l.handing = e.kind, append(l.handing, e.Delivery)
}

func (e Cancel) perform(l *loop) { l.sink(e.kind).Cancel(e.IDs, e.Reason) }

func (e Forget) perform(l *loop) { l.sink(e.kind).Forget(e.Peer) }

func (e Allow) perform(l *loop) {
	if e.Err != nil {
		l.log.Warn("receipt refused", "err", e.Err)
	}
	l.answer(e.Token, outcome{err: e.Err})
}

func (e Reply) perform(l *loop) { l.answer(e.Token, outcome{answer: e.Answer, err: e.Err}) }

func (e Publish) perform(l *loop) {
	if l.Publish != nil {
		l.Publish(e.Events)
	}
}

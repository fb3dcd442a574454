package relay

import (
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Effect is something to be done outside, in the order in which Step returns them. The
// Commit of a step, if it has one, is the first: nothing else is done before it is on
// disk, and nothing at all if it cannot be written.
type Effect interface{ perform(*loop) }

// followed is an effect from which events follow by themselves. They belong to the same group.
type followed interface{ follow(*loop) []Event }

// Commit writes the step to the journal.
type Commit struct{ Step message.Step }

// Decide asks the policy about a message; its verdict comes back as Decided. Verdicts may
// come in any order: those of one chat take effect in the order of its messages.
type Decide struct{ Message message.Envelope }

// Deliver hands a delivery to its sink. One that the sink knows already, by its id, takes
// the place of the former. The sink pastes a delivery at most once: not if Typed is set,
// and not if it was given permission for an earlier attempt of the same id, which Typed need
// not say yet when both cross each other. Typed in the first attempt is an earlier run's:
// the sink looks first whether anything was typed at all.
type Deliver struct {
	Delivery message.Delivery
	kind     message.PeerKind // of its sink
}

// Cancel takes deliveries back from their sinks. What was not typed is forgotten there.
// Of what was typed, Enter is not pressed any more; if it was pressed already, the sink
// goes on to watch, and reports. What was typed and waits for Enter gets no permission any more;
// after a pause its sink is handed it again, with Typed set.
type Cancel struct {
	IDs    []message.ID
	Reason message.Reason
	kind   message.PeerKind // of their sink
}

// Allow answers Reported: with nil the receipt is on disk and, if it was typed, permission is
// given; an error means that nothing may be typed.
type Allow struct {
	Token Token
	Err   error
}

// Reply answers Adopted and Asked.
type Reply struct {
	Token  Token
	Answer Answer
	Err    error
}

// Publish tells all who watch. The events have no Seq: their place is the journal's.
type Publish struct{ Events []message.Event }

// Forget ends a peer's pane: it is neither read nor typed into any more.
type Forget struct {
	Peer message.ID
	kind message.PeerKind // of its sink
}

func (Commit) perform(*loop) {} // it is on disk

func (e Decide) perform(l *loop) {
	if l.Policy != nil {
		l.asker.add(e.Message.ID, l.state.lines(e.Message.ID))
	}
}

// follow is the verdict where there is no policy: it comes back as an event of its own, as from
// one that answers later.
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

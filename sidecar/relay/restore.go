package relay

import (
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

// Restored says what an earlier run left in the journal. It is the first event, if there
// is one at all. Chats go on, on or paused, unless one of their sessions was at another
// tmux server: then they have ended, with its participants in them still. What was not
// typed is handed out again in its order, unless something holds it. What may have been
// typed is handed to its sink with Typed set, wherever its chat stands; the sink looks at
// the pane before anything else, asks for leave as ever, and reports Held with TmuxRefused
// if nothing was typed: then it is as if leave had never been given. What was submitted is
// remembered, and handed to nobody: a turn may answer it yet.
type Restored struct {
	Server     message.Process    // that serves the panes now; its name does not count
	Stopped    bool               // everything was stopped
	Sessions   []Stay             // those that were present
	Chats      []Going            // those that had not ended, and any in which something of Undecided was said
	Undecided  []message.Envelope // received, without a verdict, in the order of receiving
	Deliveries []Left             // those without a final receipt, in the order of their making
	Submitted  []message.Delivery // taken by those who are present, and not answered, in that order
}

// Stay is a session that an earlier run left, with what its brake stood at.
type Stay struct {
	Session message.Peer
	Last    int // depth of the last turn; 1 where it said nothing yet
	Cause   int // greatest depth of what was typed to it since; -1: nothing was
}

// Going is a chat that an earlier run left.
type Going struct {
	Chat  message.Chat
	Taken int // turns that were relayed in it
}

// Left is a delivery that an earlier run left open. Its Typed says whether it ever had a
// receipt typed, whatever came after. One that is held "agent gone" stays as it is where
// that agent is not there, or not in the chat any more: it need not be listed.
type Left struct {
	Delivery message.Delivery
	State    message.ReceiptState // the last
	Reason   message.Reason       // of the last
	Verdict  message.Verdict      // the last on its message
}

// step takes over what an earlier run left. The order matters: first all is known again
// as it was, then what is over ends, and only then does anything go to a sink.
func (e Restored) step(w *work) {
	w.stopped = e.Stopped
	var strange []*session // of another tmux server: there is no such pane any more
	for _, stay := range e.Sessions {
		if s := w.known(stay); s != nil && s.Ended == nil && s.Kind == message.PeerPane && !sameProcess(s.Server, e.Server) {
			strange = append(strange, s)
		}
	}
	for _, one := range e.Chats {
		if w.chat(one.Chat.ID) == nil {
			c := &chat{Chat: one.Chat, taken: one.Taken}
			c.Participants = c.copy().Participants // its own: they are changed here
			c.Limits = route.WithDefaults(c.Limits, w.chatLimits)
			w.begun(c)
			w.touchChat(c)
		}
	}
	for _, one := range e.Submitted {
		w.taken(one)
	}
	var left []*delivery
	for _, one := range e.Deliveries {
		if d := w.left(one); d != nil {
			left = append(left, d)
		}
	}
	w.unserved(strange)
	if w.stopped {
		for _, c := range w.open() {
			if c.State == message.ChatOn {
				w.pause(c, string(message.Stopped))
			}
		}
	}
	for _, d := range left {
		if w.under[d.ID] == d {
			w.goOn(d)
		}
	}
	for _, m := range e.Undecided {
		if w.thoughts[m.ID] == nil {
			t := &thought{message: m, chat: w.saidIn(m)}
			w.remember(t)
			w.consider(t)
		}
	}
	for _, c := range w.open() {
		w.settle(c)
	}
	w.forgetPast()
}

// taken remembers a delivery that was submitted in an earlier run: a turn may answer it yet.
func (w *work) taken(one message.Delivery) {
	target := w.present(one.Target)
	if target == nil || w.under[one.ID] != nil {
		return
	}
	one.Message.Body = ""
	d := &delivery{Delivery: one, state: message.Submitted}
	d.Typed = true
	w.begin(d)
	target.submitted = append(target.submitted, d)
	if len(target.submitted) > maxUnanswered {
		w.drop(target.submitted[0])
	}
}

// known makes a session known again, or returns nil if it is already.
func (w *work) known(stay Stay) *session {
	if w.byID[stay.Session.ID] != nil {
		return nil
	}
	s := newSession(stay.Session)
	s.last, s.cause = max(stay.Last, 1), max(stay.Cause, -1)
	w.came(s)
	return s
}

// left puts a delivery under way again, not with its sink yet. It returns nil for one that
// is over, or is so now: whoever was to have it is gone, or nothing follows its state.
func (w *work) left(one Left) *delivery {
	d := &delivery{Delivery: one.Delivery, state: one.State, reason: one.Reason}
	d.ponder(one.Verdict.For(one.Delivery.Target))
	d.Typed = d.Typed || d.state == message.Typed
	d.Attempt = max(d.Attempt, 1)
	if !d.Typed {
		d.hold = one.hold()
	}
	gone := d.state == message.Held && d.reason == message.AgentGone
	switch {
	case d.state.Final() || d.state == message.Submitted || w.under[d.ID] != nil:
	case w.present(d.Target) != nil && (d.Typed || !gone || d.Chat == "" || !w.chat(d.Chat).over(d.Target)):
		w.admit(d)
		return d
	case d.Typed:
		w.receipt(d, message.Uncertain, message.AgentGone)
	case gone && d.Chat != "": // kept in the journal as it is
	case d.Chat != "":
		w.keep(d)
	default:
		w.receipt(d, message.Failed, message.AgentGone)
	}
	return nil
}

// unserved ends the sessions whose panes were another tmux server's, and the chats in
// which they are. Those have not left: whoever takes the chat up again finds them in it.
func (w *work) unserved(strange []*session) {
	for _, s := range strange {
		w.depart(s, message.ServerEnded)
	}
	for _, c := range w.open() {
		ended := false
		for _, s := range strange {
			ended = ended || c.member(s.ID) != nil
		}
		if ended {
			w.end(c, string(message.ServerEnded))
			continue
		}
		for _, id := range c.there() {
			if w.present(id) == nil {
				c.strike(id)
				w.altered(c)
			}
		}
		if c.lonely() {
			w.end(c, string(message.AgentGone))
		}
	}
}

// goOn has a delivery that is under way again go on from where it was. What may have been
// typed goes to its sink at once, whatever holds it: to look is not to type, and leave is
// refused as ever.
func (w *work) goOn(d *delivery) {
	c := w.chat(d.Chat)
	over := d.Chat != "" && c.over(d.Target)
	paused := w.stopped || c != nil && c.State == message.ChatPaused
	switch {
	case d.Typed:
		if d.state == "" || d.state == message.Queued {
			w.receipt(d, message.Typed, "") // it had leave once, and that was never proven vain
		}
		d.shut = over || d.Revoked
		w.hand(d)
		if paused && !d.shut {
			d.atSink, d.hold = false, holdPause // and once more when it may go on
		}
	case over:
		d.shut = true
		w.receipt(d, message.Failed, message.ChatEnded)
	case d.hold != holdNone:
		switch { // of one that is back
		case d.reason != message.AgentGone:
		case d.hold == holdFilter:
			w.receipt(d, message.Held, message.Unfiltered)
		default:
			w.receipt(d, message.Held, message.AwaitingApproval)
		}
	case paused:
		d.hold = holdPause
		w.receipt(d, message.Held, w.pausedBy(d))
	default:
		if d.state != message.Queued {
			w.receipt(d, message.Queued, "")
		}
		w.hand(d)
	}
}

// saidIn is the chat that a message was said in, nil for a single message. A chat that is not
// known any more has ended.
func (w *work) saidIn(m message.Envelope) *chat {
	if m.Chat == "" {
		return nil
	}
	if c := w.chat(m.Chat); c != nil {
		return c
	}
	return &chat{Chat: message.Chat{ID: m.Chat, State: message.ChatOver, Why: string(message.ChatEnded)}}
}

// remember makes known, as past, those who were to have a message and are gone: what
// becomes of it is told for each of them.
func (w *work) remember(t *thought) {
	gone := slices.Clone(t.message.To)
	if t.chat != nil && t.chat.State == message.ChatOver {
		for _, p := range t.chat.Participants {
			if !p.Left {
				gone = append(gone, message.Address{Peer: p.Peer, Name: p.Name})
			}
		}
	}
	for _, one := range gone {
		if one.Peer == "" {
			continue
		}
		at := w.now
		w.known(Stay{Session: message.Peer{
			ID: one.Peer, Name: one.Name, Computer: message.LocalComputer, Adopted: at, Ended: &at, EndReason: string(message.AgentGone),
		}})
	}
}

// Awaits reports whether a person's decision is what a delivery waits for. What its message was
// decided to says so: in the reason stand a policy's own words, or a pane's.
func (l Left) Awaits() bool {
	return l.asked() && l.Reason != message.AgentGone
}

// asked reports whether nobody has let go yet what was to wait for a person, be it that the
// agent has gone meanwhile, and that a no to others was said then.
func (l Left) asked() bool {
	if l.State != message.Held {
		return false
	}
	if why := heldFor(l.Reason); why == holdApproval || why == holdFilter {
		return true
	}
	verb := l.Verdict.For(l.Delivery.Target).Verb
	return verb != "" && verb != message.VerbDeliver || l.Delivery.Unfiltered || l.Delivery.Asked && l.Verdict.Person.Name == ""
}

// hold tells by whose word an earlier run kept a delivery from its sink.
func (l Left) hold() hold {
	switch why := heldFor(l.Reason); {
	case l.asked() && (why == holdPolicy || why == holdFilter):
		return why
	case l.Delivery.Unfiltered && l.asked():
		return holdFilter
	case l.asked():
		return holdApproval
	case l.State == message.Held && (why == holdPause || why == holdBrake):
		return why
	}
	return holdNone
}

// heldFor tells from a reason whose word it may be: nobody's, where it is one of a pane's own.
func heldFor(reason message.Reason) hold {
	switch reason {
	case message.Paused, message.Stopped:
		return holdPause
	case message.AwaitingApproval:
		return holdApproval
	case message.Unfiltered:
		return holdFilter
	case message.AtDepthLimit, message.AtRateLimit, message.AtByteLimit, message.AtFanOut, message.BecameEmpty:
		return holdBrake
	case "",
		message.AgentGone, message.AgentWorking, message.InComposer, message.OursInComposer, message.CopyMode,
		message.Synchronised, message.InputOff, message.PaneDead, message.PaneReplaced, message.PaneMissing,
		message.ServerEnded, message.NotInFront, message.PasswordPrompt, message.AlternateScreen, message.UnknownScreen,
		message.NotEmpty, message.NotSeen, message.NotTaken, message.TmuxSilent, message.TmuxRefused,
		message.SidecarEnded, message.TurnOverdue, message.Unwritable:
		return holdNone
	}
	return holdPolicy
}

// sameProcess reports whether both are the same one: its name may change.
func sameProcess(a, b message.Process) bool { return a.PID == b.PID && a.Start == b.Start }

package relay

import (
	"fmt"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// delivery is a delivery under way: from the verdict until its last receipt.
type delivery struct {
	message.Delivery
	seq       uint64 // deliveries go to a pane in this order
	state     message.ReceiptState
	reason    message.Reason
	hold      message.Hold // what keeps it from its sink; "": nothing
	where     whereabouts
	kind      message.PeerKind // the kind of its sink, once that had it
	approved  bool             // by a person, in this run: a later no does not count
	first     bool             // its target was starting: the sender was told so, and does not wait for the outcome
	late      bool             // a filter failed on it, and the message was decided since then for other targets
	shut      bool             // it gets no more permission: its chat has ended, or goes on without its target
	past      bool             // it was shut when a person put its target into another chat, in this run
	permitted time.Time        // when permission was first given, in this run
	size      int

	// Awake time, which decides when it expires at its sink, or how long it waits for a person's
	// decision.
	since     time.Duration // when the time begins to count; unset until the next Tick
	lasts     time.Duration
	otherwise message.Verb // what is done if nobody decides in time; "": nothing
	says      string       // what its author is told then; "": the usual text
}

// whereabouts says where a delivery is in this run.
type whereabouts uint8

const (
	unhanded whereabouts = iota // no sink has had it yet
	atSink
	takenBack // from its sink
	lent      // its target has taken it itself: for its sink it is taken back
)

// unset stands for a start time that the next Tick sets: the time is known only as of the last
// Tick, and nothing may expire too early.
const unset time.Duration = -1

// may reports whether the delivery may go on to state next. Beyond the rules for states alone: a
// typed delivery never waits in the queue again, and an untyped one can be neither submitted nor
// uncertain.
func (d *delivery) may(next message.ReceiptState) bool {
	if !d.state.May(next) {
		return false
	}
	if d.Typed { // a delivery that went through its door may expire there
		return next != message.Queued && (next != message.Expired || d.Door != "")
	}
	return next != message.Submitted && next != message.Uncertain
}

// open reports whether the delivery is still to be typed or submitted.
func (d *delivery) open() bool { return d.state != message.Submitted && !d.state.Final() }

// create puts a planned delivery under way, queued. If it cannot go, it fails at once.
func (tx *tx) create(planned message.Delivery) *delivery {
	planned.ID = tx.ids.next(tx.now)
	d := &delivery{Delivery: planned}
	tx.step.Deliveries = append(tx.step.Deliveries, planned)
	target := tx.admit(d)
	d.first = target != nil && target.Starting
	tx.arm(d)
	switch {
	case target == nil && d.Chat == "":
		tx.receipt(d, message.Failed, message.AgentGone)
	case target == nil && (tx.whyGone(d.Target) != message.AgentGone || tx.isQuestion(d.Chat)):
		tx.receipt(d, message.Failed, tx.whyGone(d.Target)) // the chat ended with its target
	case target == nil:
		tx.receipt(d, message.Queued, "")
		tx.receipt(d, message.Held, message.AgentGone)
		tx.drop(d)
	case target.waiting > maxWaiting && !target.Kind.Files() || target.bytes > maxWaitingBytes:
		tx.receipt(d, message.Failed, QueueFull)
	default:
		tx.receipt(d, message.Queued, "")
	}
	return d
}

// whyGone returns the reason why an absent peer left, if known, else AgentGone.
func (tx *tx) whyGone(id message.ID) message.Reason {
	if past := tx.byID[id]; past != nil {
		return goneAs(message.Reason(past.EndReason))
	}
	return message.AgentGone
}

// admit puts a delivery under way behind all others, and returns its target, or nil if that is not
// present.
func (tx *tx) admit(d *delivery) *peer {
	tx.begin(d)
	d.size = size(d.Delivery)
	target := tx.present(d.Target)
	if target != nil {
		target.waiting++
		tx.waiting++
		target.bytes += d.size
	}
	return target
}

// receipt writes down the relay's own receipt for a delivery. A final one ends the delivery.
func (tx *tx) receipt(d *delivery, state message.ReceiptState, reason message.Reason) message.Receipt {
	d.state, d.reason = state, reason
	return tx.note(d, tx.latest(d))
}

// note writes down a receipt, the relay's own or a sink's.
func (tx *tx) note(d *delivery, r message.Receipt) message.Receipt {
	r.Delivery, r.Message, r.Target = d.ID, d.Message.ID, d.Target
	if r.At.IsZero() {
		r.At = tx.now
	}
	d.state, d.reason = r.State, r.Reason
	tx.step.Receipts = append(tx.step.Receipts, r)
	about := d.Delivery
	about.Message.Body = ""
	tx.told = append(tx.told, message.Event{At: r.At, Kind: "receipt", Chat: d.Chat, Delivery: &about, Receipt: &r})
	if r.State.Final() {
		if r.State == message.Failed || r.State == message.Expired {
			tx.disarm(d)
		}
		tx.unmet(d)
		tx.drop(d)
	}
	return r
}

// latest returns a receipt with the current state of a delivery.
func (tx *tx) latest(d *delivery) message.Receipt {
	r := message.Receipt{Delivery: d.ID, Message: d.Message.ID, Target: d.Target, State: d.state, Reason: d.reason, At: tx.now}
	if d.state == message.Held {
		r.Hold = d.hold
	}
	return r
}

// drop forgets a delivery: the journal has it.
func (tx *tx) drop(d *delivery) {
	if _, ok := tx.under[d.ID]; !ok {
		return
	}
	tx.forget(d)
	target := tx.present(d.Target)
	if target == nil {
		return
	}
	if d.size > 0 {
		target.waiting--
		tx.waiting--
		target.bytes -= d.size
		d.size = 0
	}
	target.submitted = slices.DeleteFunc(target.submitted, func(one *delivery) bool { return one == d })
}

// hand gives a delivery to its sink.
func (tx *tx) hand(d *delivery) {
	if d.where != unhanded {
		d.Attempt++
	}
	d.where, d.hold = atSink, ""
	limits := tx.limits
	if c := tx.chat(d.Chat); c != nil {
		limits = c.Limits
	}
	d.since, d.lasts = unset, limits.Expire
	if target := tx.present(d.Target); target != nil {
		d.kind = target.Kind
	}
	tx.strip(d)
	tx.effect(Deliver{d.Delivery, d.kind})
	tx.connectLate(d)
}

// withhold keeps open deliveries from their sinks. An untyped delivery becomes held; a typed one
// keeps its state, but Enter is not permitted.
func (tx *tx) withhold(list []*delivery, why message.Hold, reason message.Reason) {
	var cancel []*delivery
	for _, d := range list {
		if !d.open() || d.hold != "" || d.shut {
			continue
		}
		if d.where == atSink {
			cancel = append(cancel, d)
		}
		if d.hold = why; !d.Typed {
			tx.receipt(d, message.Held, reason)
		}
	}
	tx.cancel(cancel, reason)
}

// cancel takes deliveries back from their sinks.
func (tx *tx) cancel(list []*delivery, reason message.Reason) {
	for len(list) > 0 {
		c := Cancel{Reason: reason, kind: list[0].kind}
		var rest []*delivery
		for _, d := range list {
			if d.kind != c.kind {
				rest = append(rest, d)
				continue
			}
			if c.IDs = append(c.IDs, d.ID); d.where == atSink {
				d.where = takenBack
			}
		}
		tx.effect(c)
		list = rest
	}
}

// unhold lets deliveries go on that a pause or a limit holds, in their order. If a person was sure,
// they count as the person's word. What a policy holds stays held.
func (tx *tx) unhold(list []*delivery, sure bool) {
	for _, d := range list {
		if !d.open() || d.shut || d.hold != message.HoldPause && d.hold != message.HoldLimit {
			continue
		}
		if d.where == lent {
			d.hold = ""
			continue
		}
		if sure && d.Message.Depth != 0 {
			d.Message.Depth = 0
			tx.step.Deliveries = append(tx.step.Deliveries, d.Delivery)
		}
		if !d.Typed {
			tx.receipt(d, message.Queued, "")
		}
		tx.hand(d)
	}
}

// revoke takes deliveries back for good. An untyped delivery fails. A typed one gets no more
// permission; its sink reports the outcome.
func (tx *tx) revoke(list []*delivery) {
	var cancel []*delivery
	for _, d := range list {
		if d.shut {
			continue
		}
		if d.where == atSink || d.Typed && d.where != unhanded {
			cancel = append(cancel, d)
		}
		if d.shut = true; d.Typed && d.open() && !d.Revoked {
			d.Revoked = true
			tx.step.Deliveries = append(tx.step.Deliveries, d.Delivery)
		}
		switch {
		case !d.Typed:
			tx.receipt(d, message.Failed, message.ChatEnded)
		case d.hold != "" && d.where == unhanded:
			// No sink of this run has it, and none will ask for it. If a sink has it, that sink
			// reports the outcome instead: only the sink knows whether the text was seen, and it
			// keeps others away while it was not.
			if target := tx.present(d.Target); target != nil {
				tx.caused(target, d.Message)
			}
			tx.receipt(d, message.Uncertain, message.ChatEnded)
		}
	}
	tx.cancel(cancel, message.ChatEnded)
}

// Reported is a receipt from a sink. State typed asks for permission: before the first byte, and
// again before Enter. The effect Allow with the same token says whether permission was given; an
// error there means that nothing may be typed.
type Reported struct {
	Token   Token
	Receipt message.Receipt
}

func (e Reported) step(tx *tx) { tx.effect(Allow{e.Token, tx.report(e.Receipt)}) }

func (e Reported) prepare(l *lookup) (Event, error) {
	e.Token = l.token()
	return e, nil
}

// asksPermission reports whether the receipt can be refused: it asks for permission, or says why
// the sink did not ask. Other receipts report what has happened.
func (e Reported) asksPermission() bool {
	return e.Receipt.State == message.Typed || e.Receipt.State == message.Held
}

func (e Reported) unwritten(l *loop, err error) (undo bool) {
	if !e.asksPermission() {
		err = nil
	}
	l.answer(e.Token, outcome{err: err})
	return false
}

func (e Reported) wait(s *stuck, p *posted) (later bool) {
	if e.asksPermission() {
		p.answer(s.err)
		return false
	}
	p.answer(nil)
	return true
}

// report takes in a sink's receipt. An error refuses it: nothing is written down, and nothing may
// be typed.
func (tx *tx) report(r message.Receipt) error {
	d := tx.under[r.Delivery]
	if d == nil && r.State == message.Submitted {
		d = tx.recorded(r)
	}
	if d == nil {
		return fmt.Errorf("receipt %s of delivery %s: %w", r.State, r.Delivery, ErrNotOurs)
	}
	if err := tx.acceptable(d, r); err != nil {
		return fmt.Errorf("receipt %s of delivery %s: %w", r.State, d.ID, err)
	}
	target, was := tx.present(d.Target), d.state
	r.Words, r.Hold = tx.tellable(d, r.Words), ""                                   // at its sink, only the pane holds it
	if r.State != message.Held || d.state != message.Held || r.Reason != d.reason { // else it says nothing new
		tx.note(d, r)
	}
	switch r.State {
	case message.Failed, message.Expired:
		if was != message.Submitted { // else the agent took it, and the outcome of its turn is reported there
			tx.undelivered(d, "")
		}
	case message.Typed:
		tx.permitted(d, target, r)
	case message.Held:
		if slices.Contains(nothingWritten, r.Reason) && d.Typed {
			tx.untyped(d)
		}
	case message.Submitted:
		tx.submitted(d, target)
	case message.Uncertain:
		// The agent may have taken it: whatever it says next may answer it.
		tx.given(target, d)
		target.doubted = append(target.doubted[max(0, len(target.doubted)-maxDoubted+1):], d)
	}
	if c := tx.chat(d.Chat); c != nil {
		tx.settle(c)
	}
	return nil
}

// recorded returns a delivery whose sink could not say what became of it, and now says that the
// agent took it: it is under way again. It returns nil if there is none.
func (tx *tx) recorded(r message.Receipt) *delivery {
	target := tx.present(r.Target)
	if target == nil {
		return nil
	}
	i := slices.IndexFunc(target.doubted, func(d *delivery) bool { return d.ID == r.Delivery && (r.Message == "" || r.Message == d.Message.ID) })
	if i < 0 {
		return nil
	}
	d := target.doubted[i]
	target.doubted = slices.Delete(target.doubted, i, i+1)
	tx.admit(d)
	return d
}

// acceptable refuses a receipt that a delivery cannot have now.
func (tx *tx) acceptable(d *delivery, r message.Receipt) error {
	if d.where == lent {
		return ErrNotOurs
	}
	if r.Target != "" && r.Target != d.Target || r.Message != "" && r.Message != d.Message.ID {
		return fmt.Errorf("%w: it names another message or target", ErrImpossible)
	}
	// Typed asks for permission. A sink may not report on a delivery that was taken back before
	// anything was typed, until it is handed the delivery again.
	if r.State == message.Typed || !d.Typed && d.where != atSink {
		if err := tx.refusal(d); err != nil {
			return err
		}
	}
	if r.State == message.Typed && r.Bare && !d.Bare && !d.Typed { // its sink does not know yet that the delivery is handed out anew
		return ErrPaused
	}
	if !d.may(r.State) {
		return fmt.Errorf("%w: it is %s", ErrImpossible, d.state)
	}
	if tx.present(d.Target) == nil {
		return ErrNotOurs
	}
	return nil
}

// permitted notes that a delivery may be written: first its text, then Enter. A door needs no
// second permission.
func (tx *tx) permitted(d *delivery, target *peer, r message.Receipt) {
	if !d.Typed {
		d.permitted = tx.now
		if !r.At.IsZero() {
			d.permitted = r.At
		}
	}
	whole := d.Typed || r.Door != ""
	d.Typed = true
	if r.Door != d.Door || r.Bare != d.Bare {
		d.Door, d.Bare = r.Door, r.Bare
		tx.step.Deliveries = append(tx.step.Deliveries, d.Delivery)
	}
	if whole && d.Message.Origin != message.OriginHuman {
		// The agent may act on it before its sink sees that it was taken.
		tx.caused(target, d.Message)
	}
}

// nothingWritten lists the reasons of a sink that had permission to write, and has written nothing.
var nothingWritten = []message.Reason{message.TmuxRefused, message.TmuxLost, message.Unwritable, message.PortClosed, message.PortFull, message.ComputerFull, message.NotRead}

// untyped notes that no byte of a permitted delivery was typed or handed over. It is as if
// permission had never been given.
func (tx *tx) untyped(d *delivery) {
	d.Typed = false
	if d.Door != "" {
		d.Door = ""
		tx.step.Deliveries = append(tx.step.Deliveries, d.Delivery)
	}
	switch {
	case d.shut:
		tx.receipt(d, message.Failed, message.ChatEnded)
	case d.hold != "", tx.pausedIn(d): // it stayed with its sink only because it counted as typed
		d.hold = message.HoldPause
		tx.receipt(d, message.Held, tx.pausedBy(d))
		tx.cancel([]*delivery{d}, d.reason)
	}
}

// pausedBy returns the reason with which a delivery is held while its chat, or everything, is
// paused.
func (tx *tx) pausedBy(d *delivery) message.Reason {
	if d.Chat == "" {
		return message.Stopped
	}
	return message.Paused
}

// pausedIn reports whether the chat of a delivery is paused.
func (tx *tx) pausedIn(d *delivery) bool {
	c := tx.chat(d.Chat)
	return c != nil && c.State == message.ChatPaused
}

// refusal returns the reason why a delivery gets no permission now, or nil.
func (tx *tx) refusal(d *delivery) error {
	c := tx.chat(d.Chat)
	switch {
	case d.shut || d.Chat != "" && (c == nil || c.State == message.ChatOver):
		// This comes first: it is final, and nobody should wait for a resume.
		return ErrEnded
	case tx.stopped:
		return ErrStopped
	case tx.pausedIn(d) && !(d.Typed && d.where == atSink): // a limit between its paste and its Enter leaves it with its sink
		return ErrPaused
	case d.where != atSink:
		return ErrNotOurs
	}
	return nil
}

// submitted notes that the agent took a delivery, which thus causes what the agent says next.
func (tx *tx) submitted(d *delivery, target *peer) {
	tx.took(target.ID, tx.now)
	tx.given(target, d)
	target.waiting--
	tx.waiting--
	target.bytes -= d.size
	d.size, d.Message.Body = 0, "" // the body is not needed here any more
	target.submitted = append(target.submitted, d)
	if len(target.submitted) > maxUnanswered {
		tx.drop(target.submitted[0])
	}
}

// given is caused for a delivery that the agent took, or may have taken. The journal counts a past
// delivery as a cause by its receipt alone, so given tells it the peer's actual depth.
func (tx *tx) given(s *peer, d *delivery) {
	if d.past && d.Message.Origin != message.OriginHuman {
		tx.step.Spoke = append(tx.step.Spoke, message.Spoken{Peer: s.ID, Depth: s.last, Cause: s.cause})
		return
	}
	tx.caused(s, d.Message)
}

// caused notes that a peer was given a message.
func (tx *tx) caused(s *peer, by message.Envelope) {
	s.caused(by)
	if by.Origin == message.OriginHuman {
		tx.counted(s)
	}
}

// caused notes that a peer was given a message. A person's own word restarts the depth at 0.
func (s *peer) caused(by message.Envelope) {
	switch {
	case by.Origin == message.OriginHuman:
		s.byPerson()
		s.cause = 0
	case s.Kind.Heeds(by):
		s.cause = max(s.cause, by.Depth)
	}
}

// tellable returns the words of an answer if its receipt may show them, else "": the chat brings
// them once a person has said yes to them.
func (tx *tx) tellable(d *delivery, words string) string {
	c, from := tx.chatOf(d.Target), d.Message
	if c != nil && c.needsApproval(d.Target) && from.Origin.OfAgent() && (c.member(from.From.Peer) != nil || from.Trust.Unproven()) {
		return ""
	}
	return words
}

// answered writes receipts for the deliveries that a turn answers, and returns the last message
// among them. If the turn was cut short, the deliveries fail, and answered returns them as
// unanswered.
func (tx *tx) answered(t message.Turn) (to message.ID, unanswered []*delivery) {
	for _, id := range t.Answers {
		d := tx.under[id]
		if d == nil || d.Target != t.Peer || d.state != message.Submitted {
			continue
		}
		if t.Cut != "" {
			tx.note(d, message.Receipt{State: message.Failed, Reason: t.Cut, At: t.Ended})
			unanswered = append(unanswered, d)
			continue
		}
		tx.note(d, message.Receipt{State: message.Answered, Words: tx.tellable(d, t.Words), At: t.Ended})
		to = d.Message.ID
	}
	return to, unanswered
}

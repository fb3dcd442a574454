package relay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

// Decided is the verdict that an effect Decide asked for.
type Decided struct{ Verdict message.Verdict }

// step takes in a verdict. It takes effect once the verdicts on all earlier messages of its flow
// have come.
func (e Decided) step(tx *tx) {
	v := e.Verdict
	t := tx.undecided[v.Message]
	if t == nil || t.verdict != nil {
		return
	}
	t.verdict = &v
	name := t.flow()
	for flow := tx.flows[name]; len(flow) > 0 && flow[0].verdict != nil && !joined(flow); flow = tx.flows[name] {
		first := flow[0]
		if first.outdated && first.verdict.Unfiltered {
			first.outdated, first.verdict = false, nil
			tx.effect(Decide{first.message})
			break
		}
		if tx.flows[name] = flow[1:]; len(flow) == 1 {
			delete(tx.flows, name)
		}
		delete(tx.undecided, first.message.ID)
		tx.apply(first) // which may add to the flow: a notice to its author, say
	}
	if t.chat != nil {
		tx.settle(t.chat)
	}
}

// apply makes the deliveries that the verdict on a message asks for, and hands on those that may
// go.
func (tx *tx) apply(p *pending) {
	v, planned := tx.effective(p)
	if p.again {
		if planned = tx.replacing(p, v, planned); len(planned) == 0 {
			return
		}
	}
	v = tx.gated(p, v, planned)
	tx.step.Verdicts = append(tx.step.Verdicts, v)
	all, full := tx.obstacleOf(p, v, planned), tx.refuses(p)
	a := Answer{Message: p.message.ID}
	receipts := map[message.ID]message.Receipt{}
	var refused, told []message.Delivery
	for _, d := range planned {
		if p.chosen {
			d.Message.Depth = 0
		}
		if refusal := refusals[v.For(d.Target).Verb]; refusal != "" {
			receipts[d.Target] = tx.failed(d, refusal)
			a.Receipts = append(a.Receipts, receipts[d.Target])
			refused, told = append(refused, d), append(told, d)
			continue
		}
		one := tx.dispatch(p, d, v, all, full)
		if tx.under[one.ID] == one {
			told = append(told, one.Delivery)
		}
		if p.link != nil && p.link.Peers[1] == string(one.Target) {
			tx.connect(p, one)
		}
		a.Receipts = append(a.Receipts, tx.latest(one))
	}
	tx.noteLink(p, false)
	a.Chats = p.linked
	tx.tell(p, v, told)
	tx.returned(p, v, refused, receipts)
	if p.chat != nil && len(v.Floor) > 0 {
		tx.handFloor(p.chat, v.Floor)
	}
	tx.tellWaiting(p, a)
}

// effective returns the verdict on a message as it takes effect, with the deliveries to everybody
// that it concerns.
func (tx *tx) effective(p *pending) (message.Verdict, []message.Delivery) {
	v := *p.verdict
	v.Person = message.Person{} // a policy may not claim that a person decided
	if v.At.IsZero() {
		v.At = tx.now
	}
	planned := tx.planned(p, v)
	if len(planned) == 0 && len(v.To) > 0 {
		v = astray(v)
		if planned = tx.planned(p, v); len(planned) == 0 {
			tx.notice(p.message.Chat, fmt.Sprintf("%s from %s was not delivered: %s", p.message.ID.Short(), p.message.From.Name, v.Reason))
		}
	}
	return emptied(v, planned), planned
}

// dispatch puts a planned delivery under way, and hands it on unless something keeps it: an
// obstacle for the whole message, or the decision for its target. full says that a delivery which
// the decision would hold is refused instead.
func (tx *tx) dispatch(p *pending, planned message.Delivery, v message.Verdict, all obstacle, full bool) *delivery {
	o := v.For(planned.Target)
	own := heldBy(v, o)
	planned.Asked = own.hold != "" && tx.present(planned.Target) == nil
	d := tx.create(planned)
	switch {
	case all == chatOver || own.hold == "":
	case full:
		all = obstacle{reason: QueueFull, refused: true}
	default:
		all = own
	}
	if p.chat != nil && d.Chat == p.chat.ID && p.chat.over(d.Target) {
		all = chatOver
	}
	switch {
	case tx.under[d.ID] != d:
	case all.refused:
		tx.receipt(d, message.Failed, all.reason)
	case all.hold != "":
		d.hold = all.hold
		d.awaitDecision(o)
		tx.receipt(d, message.Held, all.reason)
	case d.Message.Type == message.KindCheck && !tx.asksInTime(d):
		tx.receipt(d, message.Expired, turnEnded)
	default:
		tx.hand(d)
		tx.answerCheck(d)
	}
	return d
}

// astray changes a verdict that leaves nobody but the author into one that asks a person, about the
// original recipients.
func astray(v message.Verdict) message.Verdict {
	v.To, v.Outcomes = nil, nil
	if v.Verb == message.VerbDeliver || v.Verb == message.VerbAck {
		v.Verb, v.Reason, v.By = message.VerbAsk, "a policy routes it only to its author", "built in"
	}
	return v
}

// emptied bounces the deliveries whose text filters have removed entirely: no pane takes an empty
// one.
func emptied(v message.Verdict, planned []message.Delivery) message.Verdict {
	v.Outcomes = slices.Clone(v.Outcomes)
	for _, p := range planned {
		o := v.For(p.Target)
		if strings.TrimSpace(render.Words(p.Form, p.Message)) != "" || refusals[o.Verb] != "" {
			continue
		}
		v.Outcomes = slices.DeleteFunc(v.Outcomes, func(o message.Outcome) bool { return o.Target == p.Target })
		v.Outcomes = append(v.Outcomes, message.Outcome{
			Target: p.Target, Decision: message.Decision{Verb: message.VerbBounce, Reason: "filters removed all of it", By: "built in", Notify: o.Notify},
		})
	}
	return v
}

// planned returns the deliveries to everybody that is to hear of a message, whatever is decided
// about each of them.
func (tx *tx) planned(t *pending, v message.Verdict) []message.Delivery {
	var chat *message.Chat
	if t.chat != nil {
		chat = &t.chat.Chat
	}
	v.Verb = message.VerbDeliver
	planned, limits := route.Plan(t.message, v, tx.Snapshot(), chat), tx.limits
	if chat != nil {
		limits = chat.Limits
	}
	for i := range planned {
		p, o := &planned[i], v.For(planned[i].Target)
		p.Own = v.Own
		p.Unfiltered, p.Way, p.MidTurn = v.Unfiltered, limits.Door, limits.Deliver == message.DeliverMidTurn && !o.Idle
		if o.Head != "" {
			p.Head, p.Separator, p.Formatted = o.Head, o.Separator, true
		}
		if o.Body != nil {
			p.Message.Body, p.AsIs = *o.Body, o.AsIs
		}
		p.Message.Tags = message.Tagged(p.Message.Tags, o.Tags)
	}
	return planned
}

// obstacle is what keeps a delivery from its sink; the zero value is none.
type obstacle struct {
	hold    message.Hold
	reason  message.Reason
	refused bool // it fails rather than waits
}

// chatOver keeps back for good what was said in a chat that has ended.
var chatOver = obstacle{reason: message.ChatEnded, refused: true}

// obstacleOf returns what keeps all deliveries back that a verdict lets go.
func (tx *tx) obstacleOf(p *pending, v message.Verdict, planned []message.Delivery) obstacle {
	var going []message.Delivery
	for _, d := range planned {
		if v.For(d.Target).Verb == message.VerbDeliver {
			going = append(going, d)
		}
	}
	switch {
	case p.chat != nil && p.chat.State == message.ChatOver:
		return chatOver
	case len(going) == 0 && (len(planned) > 0 || v.Verb != message.VerbDeliver):
		return obstacle{}
	}
	// What is said during a pause, or while everything is stopped, counts too: otherwise all of it
	// would go at once afterwards, beyond any limit.
	reason := tx.pass(p, going)
	switch {
	case reason == "" && p.chat != nil && (tx.stopped || p.chat.State == message.ChatPaused):
		return obstacle{hold: message.HoldPause, reason: message.Paused}
	case reason == "" && tx.stopped:
		return obstacle{hold: message.HoldPause, reason: message.Stopped}
	case reason == "":
		return obstacle{}
	}
	refused := tx.refuses(p)
	tx.braked(p, reason, refused)
	return obstacle{message.HoldLimit, reason, refused}
}

// heldBy says what a verdict makes a delivery wait for.
func heldBy(v message.Verdict, o message.Outcome) obstacle {
	switch {
	case v.Unfiltered:
		return obstacle{hold: message.HoldFilter, reason: message.Unfiltered}
	case o.Verb == message.VerbAsk:
		return obstacle{hold: message.HoldApproval, reason: message.AwaitingApproval}
	case o.Verb == message.VerbDeliver:
		return obstacle{}
	}
	return obstacle{hold: message.HoldPolicy, reason: message.Reason(cmp.Or(o.Reason, "held by policy"))}
}

package relay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

// pending is a message that was received and is not decided yet.
type pending struct {
	message message.Envelope
	chat    *chat            // nil for a single message
	token   Token            // who waits for what becomes of it
	acted   bool             // its author called a tool in this turn; unknown again after a restart
	empty   string           // why its chat is found empty with it
	chosen  bool             // an agent's, and a person sends it: it passes the brakes and is their word
	again   bool             // it is held since a filter had failed
	verdict *message.Verdict // came before those of earlier messages
}

// flow names the messages that must be decided in their order: those of one chat, and
// the single ones of one sender.
func (t *pending) flow() string {
	if t.chat != nil {
		return string(t.chat.ID)
	}
	return "sent by " + string(t.message.From.Peer)
}

// words are what it says, as far as filters let it out: without what policies add for its readers.
func (t *pending) words() string {
	if t.verdict == nil {
		return t.message.Body
	}
	return t.verdict.Patched(t.message).Body
}

// Spoke says that a turn ended. Submitted deliveries that it answers become answered; in
// a chat, its words go to the others. Of one that was cut short they fail for that reason,
// its words go nowhere, and the agents that wait for an answer are told. A turn that is told
// of twice counts once. One that ended before this run (Turn.Late) counts only as the answer to
// what an earlier run had submitted: whatever else it is, it is old.
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

// step takes in a turn: what it answers, how deep it lies, and, in a chat, its words,
// behind the prompt of its person where the chat wants that too.
func (e Spoke) step(tx *tx) {
	t := e.Turn
	s := tx.present(t.Peer)
	if s == nil || !bounds[s.Kind].turns {
		return
	}
	if t.ID == "" {
		t.ID = tx.ids.next(tx.now)
	}
	if t.Ended.IsZero() {
		t.Ended = tx.now
	}
	if t.Late {
		if t.Answers = tx.awaiting(t); len(t.Answers) == 0 {
			return // it answers nothing, or nothing that was not answered before: it is old
		}
	}
	said := e.Seen || tx.seen.Has(t.ID) // there is a message of it
	twice := said || e.Prompted || tx.turns.Has(t.ID)
	c := tx.chatOf(s.ID)
	elsewhere := c != nil && tx.answersElsewhere(t, c)
	depth := tx.late(t) // what it answers is forgotten next
	reply, unanswered := tx.answered(t)
	if t.Person && !twice {
		tx.freed(s)
	}
	if !t.Late || t.Person {
		depth = s.depth()
	}
	in := c
	if c != nil && (elsewhere || !tx.heard(t, s, c)) {
		c = nil // nothing of it is heard there
	}
	prompted := false
	if !twice {
		s.cause, s.last = -1, depth
		if t.Late { // another turn answers the rest
			for _, d := range s.submitted {
				s.caused(d.Message)
			}
		}
		if t.Cut == "" && strings.TrimSpace(t.Words) != "" {
			s.said = message.Turn{Words: t.Words, All: t.All, Truncated: t.Truncated, Ended: t.Ended}
		}
		tx.turns.Add(t.ID, seenMessages)
		prompted = c != nil && tx.prompted(t, s, c)
	}
	switch {
	case t.Cut != "":
		if !twice {
			tx.cut(t, s, c, depth, unanswered, prompted)
		}
	case t.Late && said: // its words are known, and were not known to be an answer
	case c != nil && (said || !twice):
		tx.relay(t, s, c, depth, reply, said)
	}
	if in != nil {
		tx.settle(in)
	}
}

// awaiting are those of the deliveries that a turn answers which still wait for an answer.
func (tx *tx) awaiting(t message.Turn) []message.ID {
	return slices.DeleteFunc(slices.Clone(t.Answers), func(id message.ID) bool {
		d := tx.under[id]
		return d == nil || d.Target != t.Peer || d.state != message.Submitted
	})
}

// late is the depth of a turn that is told of late: by what it answers alone. Other things may
// have been typed to the peer since.
func (tx *tx) late(t message.Turn) int {
	depth := 1
	for _, id := range t.Answers {
		if d := tx.under[id]; d != nil && d.Message.Origin != message.OriginHuman {
			depth = max(depth, d.Message.Depth+1)
		}
	}
	return depth
}

// answersElsewhere reports whether all that a turn answers was said in other chats than this
// one: in a chat that has ended, say, while the agent was at work on it.
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
		elsewhere = true
	}
	return elsewhere
}

// relay has the others of a chat hear a turn's words, if it has any. Words that were a message
// already are dropped, with a receipt for each who would have got them.
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

// personal is a person's word into a chat.
func (tx *tx) personal(by By, body string, c *chat) message.Envelope {
	return message.Envelope{
		ID: tx.ids.next(tx.now), Chat: c.ID, Thread: c.ID, From: person(by), Type: message.KindSay, Body: body,
		Origin: message.OriginHuman, Trust: message.TrustPerson, Created: tx.now,
	}
}

// receive writes a message down and has it decided.
func (tx *tx) receive(t *pending) {
	tx.step.Received = append(tx.step.Received, t.message)
	told := message.Event{At: tx.now, Kind: "message", Message: &t.message}
	if t.chat != nil {
		told.Chat = t.chat.ID
	}
	tx.told = append(tx.told, told)
	tx.consider(t)
}

// consider has a message decided that is written down.
func (tx *tx) consider(t *pending) {
	tx.seen.Add(t.message.ID, seenMessages)
	tx.flows[t.flow()] = append(tx.flows[t.flow()], t)
	tx.undecided[t.message.ID] = t
	tx.effect(Decide{t.message})
}

// twice drops a message whose id was used before, with a receipt for each who would have
// got it: the first one counts.
func (tx *tx) twice(t *pending) {
	tx.reply(t.token, tx.fail(t, message.Duplicate), nil)
}

// fail writes down for each who would have got a message that it failed.
func (tx *tx) fail(t *pending, reason message.Reason) Answer {
	a := Answer{Message: t.message.ID}
	for _, planned := range tx.planned(t, message.Verdict{Message: t.message.ID}) {
		a.Receipts = append(a.Receipts, tx.failed(planned, reason))
	}
	return a
}

// failed makes a planned delivery that fails at once.
func (tx *tx) failed(planned message.Delivery, reason message.Reason) message.Receipt {
	tx.seq++
	planned.ID = tx.ids.next(tx.now)
	tx.step.Deliveries = append(tx.step.Deliveries, planned)
	return tx.receipt(&delivery{Delivery: planned, seq: tx.seq}, message.Failed, reason)
}

// Decided is the verdict for which an effect Decide asked.
type Decided struct{ Verdict message.Verdict }

// step takes in a verdict. It takes effect once those of all earlier messages of its
// flow have come.
func (e Decided) step(tx *tx) {
	v := e.Verdict
	t := tx.undecided[v.Message]
	if t == nil || t.verdict != nil {
		return
	}
	t.verdict = &v
	name := t.flow()
	flow := tx.flows[name]
	for len(flow) > 0 && flow[0].verdict != nil && !joined(flow) {
		first := flow[0]
		flow = flow[1:]
		if tx.flows[name] = flow; len(flow) == 0 {
			delete(tx.flows, name)
		}
		delete(tx.undecided, first.message.ID)
		tx.carryOut(first)
	}
	if t.chat != nil {
		tx.settle(t.chat)
	}
}

// carryOut makes the deliveries that a verdict asks for, and hands on those that may go.
func (tx *tx) carryOut(t *pending) {
	v := *t.verdict
	v.Person = message.Person{} // whose decision it is, no policy says
	if v.At.IsZero() {
		v.At = tx.now
	}
	planned := tx.planned(t, v)
	if len(planned) == 0 && len(v.To) > 0 {
		v = astray(v)
		if planned = tx.planned(t, v); len(planned) == 0 {
			tx.notice(t.message.Chat, fmt.Sprintf("%s from %s was not delivered: %s", t.message.ID.Short(), t.message.From.Name, v.Reason))
		}
	}
	v = emptied(v, planned)
	if t.again {
		if planned = tx.unheld(t, v, planned); len(planned) == 0 {
			return
		}
	}
	v = tx.gated(t, v, planned)
	tx.step.Verdicts = append(tx.step.Verdicts, v)
	why, reason, refuses := tx.withheld(t, v, planned)

	full := tx.refuses(t)
	a := Answer{Message: t.message.ID}
	receipts := map[message.ID]message.Receipt{}
	var refused, told []message.Delivery
	for _, p := range planned {
		if t.chosen {
			p.Message.Depth = 0
		}
		o := v.For(p.Target)
		if refusal := refusals[o.Verb]; refusal != "" {
			receipts[p.Target] = tx.failed(p, refusal)
			a.Receipts = append(a.Receipts, receipts[p.Target])
			refused, told = append(refused, p), append(told, p)
			continue
		}
		own, because := tx.holdOf(t, v, o)
		p.Asked = own != holdNone && tx.present(p.Target) == nil
		d := tx.create(p)
		_, under := tx.under[d.ID]
		why, reason := why, reason
		refuses := refuses
		if own != holdNone && why != holdOver {
			if why, reason, refuses = own, because, full; full {
				reason = QueueFull
			}
		}
		switch {
		case !under:
		case t.chat != nil && d.Chat == t.chat.ID && t.chat.over(d.Target), why == holdOver:
			tx.receipt(d, message.Failed, message.ChatEnded)
		case why != holdNone && refuses:
			tx.receipt(d, message.Failed, reason)
		case why != holdNone:
			d.hold = why
			d.awaitDecision(o)
			tx.receipt(d, message.Held, reason)
			told = append(told, d.Delivery)
		default:
			tx.hand(d)
			told = append(told, d.Delivery)
		}
		a.Receipts = append(a.Receipts, message.Receipt{
			Delivery: d.ID, Message: t.message.ID, Target: d.Target, State: d.state, Reason: d.reason, At: tx.now,
		})
	}
	tx.tell(t, v, told)
	tx.returned(t, v, refused, receipts)
	if t.chat != nil && len(v.Floor) > 0 {
		tx.handFloor(t.chat, v.Floor)
	}
	tx.reply(t.token, a, nil)
}

// astray makes of a verdict that leaves nobody but the author one that asks a person about those
// for whom the message was.
func astray(v message.Verdict) message.Verdict {
	v.To, v.Outcomes = nil, nil
	if v.Verb == message.VerbDeliver || v.Verb == message.VerbAck {
		v.Verb, v.Reason, v.By = message.VerbAsk, "a policy routes it only to its author", "built in"
	}
	return v
}

// emptied has those deliveries sent back of whose text filters have left nothing: no pane takes them.
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

// planned are the deliveries to all who are to hear of a message, whatever is decided about
// each of them.
func (tx *tx) planned(t *pending, v message.Verdict) []message.Delivery {
	var chat *message.Chat
	if t.chat != nil {
		chat = &t.chat.Chat
	}
	v.Verb = message.VerbDeliver
	planned := route.Plan(t.message, v, tx.Snapshot(), chat)
	for i := range planned {
		p, o := &planned[i], v.For(planned[i].Target)
		p.Unfiltered = v.Unfiltered
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

// withheld says what keeps all from going that may go by a verdict, if anything does, and
// whether it is refused rather than held.
func (tx *tx) withheld(t *pending, v message.Verdict, planned []message.Delivery) (why hold, reason message.Reason, refused bool) {
	var going []message.Delivery
	for _, d := range planned {
		if v.For(d.Target).Verb == message.VerbDeliver {
			going = append(going, d)
		}
	}
	switch {
	case t.chat != nil && t.chat.State == message.ChatOver:
		return holdOver, message.ChatEnded, false
	case len(going) == 0 && (len(planned) > 0 || v.Verb != message.VerbDeliver):
		return holdNone, "", false
	case tx.stopped || t.chat != nil && t.chat.State == message.ChatPaused:
		if t.chat == nil {
			return holdPause, message.Stopped, false
		}
		return holdPause, message.Paused, false
	}
	if reason = tx.pass(t, going); reason == "" {
		return holdNone, "", false
	}
	refused = tx.refuses(t)
	tx.braked(t, reason, refused)
	return holdBrake, reason, refused
}

// holdOf says by whose word a delivery waits for which that is decided, and why.
func (tx *tx) holdOf(t *pending, v message.Verdict, o message.Outcome) (hold, message.Reason) {
	switch {
	case v.Unfiltered:
		return holdFilter, message.Unfiltered
	case o.Verb == message.VerbAsk:
		return holdApproval, message.AwaitingApproval
	case o.Verb == message.VerbDeliver:
		return holdNone, ""
	}
	reason := message.Reason(cmp.Or(o.Reason, "held by policy"))
	if heldFor(reason) != holdPolicy {
		reason = "policy: " + reason // not to be taken for one of ours, after a restart
	}
	return holdPolicy, reason
}

// address is how a peer that is present goes by.
func address(s *peer) message.Address {
	return message.Address{Computer: s.Computer, Peer: s.ID, Name: s.Name}
}

// person is how a person goes by, whose number is 0.
func person(by By) message.Address {
	name := registry.NameFrom(by.Name)
	if name == "" {
		name = render.Person
	}
	return message.Address{Computer: message.LocalComputer, Name: name}
}

// trim makes a body of an agent's words, and reports whether it had to cut them.
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

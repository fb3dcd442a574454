package relay

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
)

// DecideHeld is a person's decision about a message that waits for one: a policy or a setting of
// its chat asks for a person's yes, or a policy holds it. A person may also say no to a message
// that waits for something else, as long as none of it was typed; its author is told. The first
// decision counts for all deliveries of the message that wait; later ones are ErrDecided. Answer:
// Message, Receipts of what was decided.
type DecideHeld struct {
	By      By
	Message message.ID

	// Verb is deliver, drop for a no, or bounce for an answer instead of the message.
	Verb message.Verb
	Body *string        // with deliver: the text as a person has edited it
	Say  string         // with the others: a person's word to the author; required by bounce
	Who  message.Person // for the journal

	// Trash is for a message without a waiting delivery here: it lists deliveries from the journal.
	// With deliver, these are the deliveries that a policy dropped or bounced; those whose target
	// is still there are made again. With the other verbs, these are the deliveries that are kept
	// for an agent that has gone.
	Trash []message.Delivery
}

func (r DecideHeld) by() By { return r.By }

// needsApproval reports whether what the peer says in the chat waits for a person's yes.
func (c *chat) needsApproval(id message.ID) bool {
	return c.NeedsApproval(id) && gate.Stands("relay:asks")
}

// listApprove writes down whose words wait, by the names that they have now.
func (c *chat) listApprove() {
	if c.Limits.Approve == message.ApproveAll {
		return
	}
	var names []string
	for _, p := range c.Participants {
		if p.Approve && !p.Left {
			names = append(names, p.Name)
		}
	}
	c.Limits.Approve = strings.Join(names, ",")
}

// gates reports whether anybody's words wait for a yes, including those of a participant that has
// left.
func (c *chat) gates() bool {
	return c.Limits.Approve == message.ApproveAll || slices.ContainsFunc(c.Participants, func(p message.Participant) bool { return p.Approve })
}

// approvals returns which members of a future chat are to wait for a yes with their words, as the
// setting names them.
func (tx *tx) approvals(setting string, members []*peer) (ask []bool, err error) {
	ask = make([]bool, len(members))
	if setting == "" || setting == message.ApproveAll {
		return ask, nil
	}
	for ref := range strings.SplitSeq(setting, ",") {
		s, err := tx.find(strings.TrimSpace(ref))
		if err != nil {
			return nil, fmt.Errorf("setting approve: %w", err)
		}
		i := slices.Index(members, s)
		if i < 0 {
			return nil, notPossible("setting approve: session %q is not in the chat", s.Name)
		}
		ask[i] = true
	}
	return ask, nil
}

// gated makes a verdict as strict as the settings of the chat ask for, never less strict: what an
// agent says in the chat waits for a person's yes, and so does what it says beside the chat to
// others of it.
func (tx *tx) gated(t *pending, v message.Verdict, planned []message.Delivery) message.Verdict {
	if t.chosen || t.message.Origin == message.OriginHuman || t.message.OfSidecar() {
		return v
	}
	c := t.chat
	if t.message.Trust.Unproven() {
		return tx.gatedStranger(v, planned)
	}
	if c == nil || !tx.asks(c, t.message.From.Peer) {
		c = tx.asksBeside(t.message.From.Peer, planned)
	}
	if c == nil {
		return v
	}
	return c.gateAll(v)
}

// asks reports whether what a session says in a chat, or to others of the chat, waits for a
// person's yes.
func (tx *tx) asks(c *chat, id message.ID) bool {
	return c.needsApproval(id) || slices.ContainsFunc(tx.speakers(c, id), c.needsApproval)
}

// asksBeside returns the chat of a recipient that the speaker, also of that chat, addresses beside
// it, if the speaker's words wait for a yes there; else nil.
func (tx *tx) asksBeside(id message.ID, planned []message.Delivery) *chat {
	for _, d := range planned {
		if c := tx.chatOf(d.Target); c != nil && len(tx.speakers(c, id)) > 0 && tx.asks(c, id) {
			return c
		}
	}
	return nil
}

// speakers returns the participants of a chat whose limits apply to what a session says there: the
// session itself if it is in the chat. A computer may speak under any id; if such a session is not
// in the chat, speakers returns those of its computer that are.
func (tx *tx) speakers(c *chat, id message.ID) (all []message.ID) {
	if c.member(id) != nil {
		return []message.ID{id}
	}
	s := tx.byID[id]
	if s == nil || !bounds[s.Kind].bearer {
		return nil
	}
	for _, one := range c.there() {
		if has := tx.byID[one]; has != nil && has.Kind == s.Kind && has.Computer == s.Computer {
			all = append(all, one)
		}
	}
	return all
}

// gatedStranger is gated for an unproven sender. It may be any of the agents, so also one whose
// words wait in the chat that it sends into.
func (tx *tx) gatedStranger(v message.Verdict, planned []message.Delivery) message.Verdict {
	for _, d := range planned {
		if c := tx.chatOf(d.Target); c != nil && c.gates() && gate.Stands("relay:asks") {
			return c.gateAll(v)
		}
	}
	return v
}

// gateAll makes everything that a verdict lets go, or lets wait for something else, wait for a
// person.
func (c *chat) gateAll(v message.Verdict) message.Verdict {
	v.Decision = c.gate(v.For("")).Decision
	v.Outcomes = slices.Clone(v.Outcomes)
	for i, o := range v.Outcomes {
		v.Outcomes[i] = c.gate(o)
	}
	return v
}

// gate makes an outcome that would go, or wait for something else, wait for a person.
func (c *chat) gate(o message.Outcome) message.Outcome {
	switch o.Verb {
	case message.VerbDeliver:
		o.Verb, o.Reason, o.By = message.VerbAsk, "the chat is set to approve="+c.Limits.Approve, "built in"
	case message.VerbAsk, message.VerbHold:
	default:
		return o
	}
	o.Expires, o.Otherwise = 0, "" // wait for a person, however long the policy would wait
	return o
}

// awaits reports whether a delivery waits for a person's decision.
func (d *delivery) awaits() bool {
	return d.open() && !d.shut && (d.hold == message.HoldApproval || d.hold == message.HoldPolicy || d.hold == message.HoldFilter)
}

// awaitDecision makes a delivery wait for a person's decision, for as long as the outcome says.
func (d *delivery) awaitDecision(o message.Outcome) {
	d.since, d.lasts, d.otherwise, d.says = unset, o.Expires, o.Otherwise, o.Text
}

// tell notifies a person of each decision that asks for a notice, and of each message that asks for
// their yes: once for all targets with the same decision.
func (tx *tx) tell(t *pending, v message.Verdict, planned []message.Delivery) {
	if t.chat != nil && t.chat.State == message.ChatOver {
		return
	}
	in := message.ID("")
	if t.chat != nil {
		in = t.chat.ID
	}
	for len(planned) > 0 {
		o := v.For(planned[0].Target)
		var same []message.Delivery
		same, planned = tx.alike(v, o, planned)
		why := ""
		if because := o.Because(); because != "" {
			why = " (" + because + ")"
		}
		switch {
		case o.Verb == message.VerbAsk:
			if t.link != nil {
				why += "; a yes connects the two as well"
			}
			tx.notice(in, fmt.Sprintf("%s's message to %s awaits your approval: intercom inbox approve %s%s", t.message.From.Name, tx.names(same), t.message.ID.Short(), why))
		case o.Notify:
			how := ""
			if o.Offer {
				how = "; to read it: " + opens(o.Verb) + " " + t.message.ID.Short()
			}
			tx.notice(in, fmt.Sprintf("%s from %s: %s%s%s", t.message.ID.Short(), t.message.From.Name, o.Verb, why, how))
		}
	}
}

// opens returns the command that shows a message with that verdict.
func opens(verb message.Verb) string {
	if verb == message.VerbHold {
		return "intercom inbox show"
	}
	return "intercom log"
}

// alike separates the deliveries with the same decision from the others.
func (tx *tx) alike(v message.Verdict, as message.Outcome, planned []message.Delivery) (same, others []message.Delivery) {
	for _, d := range planned {
		if o := v.For(d.Target); o.Verb == as.Verb && o.Reason == as.Reason && (o.By == as.By || o.Verb != message.VerbAsk) && o.Notify == as.Notify && o.Offer == as.Offer && o.Text == as.Text {
			same = append(same, d)
		} else {
			others = append(others, d)
		}
	}
	return same, others
}

// names lists the names of the peers that are to get the deliveries.
func (tx *tx) names(planned []message.Delivery) string {
	var names []string
	for _, d := range planned {
		name := string(d.Target)
		if s := tx.present(d.Target); s != nil {
			name = s.Name
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// refusals maps the verbs that let a delivery go to nobody to the reasons with which it fails.
var refusals = map[message.Verb]message.Reason{
	message.VerbAck: message.Acknowledged, message.VerbBounce: message.Bounced, message.VerbDrop: message.Dropped,
}

// returned tells the author which deliveries policies let go to nobody, once for all targets with
// the same decision.
func (tx *tx) returned(t *pending, v message.Verdict, refused []message.Delivery, receipts map[message.ID]message.Receipt) {
	for len(refused) > 0 {
		o := v.For(refused[0].Target)
		var same []message.Delivery
		same, refused = tx.alike(v, o, refused)
		var told []message.Receipt
		for _, d := range same {
			told = append(told, receipts[d.Target])
		}
		switch {
		case o.Verb == message.VerbDrop, o.Verb == message.VerbAck && o.Text == "" && !t.message.RequiresResponse:
		case !tx.mayBeTold(t, same):
		case o.Verb == message.VerbBounce:
			tx.sendBack(t.message, t.chat, cmp.Or(o.Text, o.Reason, "sent back by a policy"), told)
		default:
			tx.inform(t.message, t.chat, cmp.Or(o.Text, "your message was acknowledged"), told)
		}
	}
}

// sendBack tells an agent why its message went to nobody.
func (tx *tx) sendBack(m message.Envelope, c *chat, why string, receipts []message.Receipt) {
	tx.inform(m, c, "your message was not delivered: "+why, receipts)
}

// inform tells an agent what became of its message. Nobody is told of the sidecar's own messages,
// nor of a person's: they see its receipt.
func (tx *tx) inform(m message.Envelope, c *chat, body string, receipts []message.Receipt) {
	author := tx.present(m.From.Peer)
	if author == nil || !m.Origin.OfAgent() || len(receipts) == 0 {
		return
	}
	from := message.Address{Computer: message.LocalComputer, Peer: receipts[0].Target}
	if s := tx.present(from.Peer); s != nil {
		from = address(s)
	}
	if c != nil && (c.State == message.ChatOver || c.member(author.ID) == nil) {
		c = nil
	}
	tx.tellAuthor(m, author, from, c, body, m.Depth)
}

// tellAuthor tells an agent what became of its own message, as if its addressee said so: in a chat
// that both are or were in, or, if c is nil, beside all chats.
func (tx *tx) tellAuthor(m message.Envelope, author *peer, from message.Address, c *chat, text string, depth int) {
	notice := message.Envelope{
		ID: tx.ids.next(tx.now), From: from, To: []message.Address{address(author)}, Type: message.KindNotice,
		Body: text, InReplyTo: m.ID, Origin: message.OriginSystem, Trust: message.TrustVerified, Depth: depth, Created: tx.now,
	}
	if c != nil {
		notice.Chat, notice.Thread = c.ID, c.ID
		if p := c.member(from.Peer); p != nil {
			notice.From.Number = p.Number
		}
	}
	tx.receive(&pending{message: notice, chat: c})
}

func (r DecideHeld) do(tx *tx, _ *Requested) (Answer, error) {
	list, err := tx.checkDecision(r)
	if errors.Is(err, ErrDecided) && len(r.Trash) > 0 && r.Verb == message.VerbDeliver {
		list, err = tx.takeOut(r)
	}
	if err != nil {
		return Answer{}, fmt.Errorf("decide about message %s: %w", r.Message.Short(), err)
	}
	m, thrown := list[0].Message, !list[0].awaits()
	var c *chat // deliveries that were sent on are in no chat
	for _, d := range list {
		c = cmp.Or(c, tx.chat(d.Chat))
	}
	if r.Say != "" {
		if err := tx.checkSay(m, r.Say); err != nil {
			return Answer{}, fmt.Errorf("decide about message %s: %w", r.Message.Short(), err)
		}
	}
	v := message.Verdict{
		Message: r.Message, Decision: message.Decision{Verb: r.Verb, By: tx.who(r.By)}, Person: r.Who, At: tx.now, Outcomes: tx.beside(r.Message, list),
	}
	if r.Body != nil {
		subject, body := render.Parse(*r.Body)
		v.Subject, v.Body = &subject, &body
	}
	tx.step.Verdicts = append(tx.step.Verdicts, v)
	a := Answer{Message: r.Message}
	there := slices.DeleteFunc(slices.Clone(list), func(d *delivery) bool { return d.where != atSink })
	for _, d := range list {
		switch {
		case d.state.Final(): // it failed at once: too much waits for its pane
		case r.Verb == message.VerbDeliver:
			tx.approve(d, v)
		default:
			reason, says := message.Rejected, "rejected by "
			if r.Verb == message.VerbBounce {
				reason, says = message.RepliedInstead, "answered by "
			}
			tx.note(d, message.Receipt{State: message.Failed, Reason: reason, Evidence: tx.word(says, r.Who)})
		}
		a.Receipts = append(a.Receipts, tx.latest(d))
	}
	tx.cancel(there, message.Rejected)
	switch {
	case r.Say != "":
		tx.sayTo(r.By, m, c, r.Say)
	case thrown && r.Verb == message.VerbDrop:
		tx.sendBack(m, c, "a person rejected it", a.Receipts)
	}
	if c != nil {
		tx.settle(c)
	}
	return a, nil
}

// checkDecision returns the deliveries that a decision is about, and refuses a decision that makes
// no sense.
func (tx *tx) checkDecision(r DecideHeld) ([]*delivery, error) {
	switch {
	case !r.By.Person() && gate.Stands("relay:person"):
		return nil, ErrPersonOnly
	case r.Verb != message.VerbDeliver && r.Verb != message.VerbDrop && r.Verb != message.VerbBounce:
		return nil, notPossible("unknown decision %q", r.Verb)
	case r.Body != nil && r.Verb != message.VerbDeliver, r.Say != "" && r.Verb == message.VerbDeliver:
		return nil, notPossible("%q takes no text", r.Verb)
	case r.Verb == message.VerbBounce && r.Say == "":
		return nil, notPossible("the answer is empty")
	}
	if r.Body != nil {
		if err := checkBody(*r.Body); err != nil {
			return nil, err
		}
	}
	list := tx.underway((*delivery).awaits, place{ofMessage, r.Message})
	switch unfiltered := slices.ContainsFunc(list, func(d *delivery) bool { return d.hold == message.HoldFilter }); {
	case len(list) == 0 && r.Verb != message.VerbDeliver:
		return tx.discarded(r)
	case len(list) == 0:
		return nil, ErrDecided
	case unfiltered && r.Verb == message.VerbDeliver && r.Body == nil:
		return nil, ErrUnfiltered
	}
	return list, nil
}

// discarded returns the deliveries of a message that awaits no decision that a person may still
// throw away.
func (tx *tx) discarded(r DecideHeld) ([]*delivery, error) {
	list := tx.underway(func(d *delivery) bool { return d.open() && !d.shut && !d.Typed && !d.approved }, place{ofMessage, r.Message})
	for _, one := range r.Trash {
		if tx.under[one.ID] == nil && tx.present(one.Target) == nil && !one.Typed && !tx.transferred.Has(one.ID) {
			tx.transferred.Add(one.ID, seenMessages)
			list = append(list, &delivery{Delivery: one, state: message.Held, reason: message.AgentGone})
		}
	}
	if len(list) == 0 {
		return nil, ErrDecided
	}
	return list, nil
}

// takeOut makes deliveries that went to nobody again, each once, for a person to decide.
func (tx *tx) takeOut(r DecideHeld) (list []*delivery, err error) {
	trash := slices.DeleteFunc(slices.Clone(r.Trash), func(d message.Delivery) bool {
		return tx.present(d.Target) == nil || d.Chat != "" && tx.chat(d.Chat).over(d.Target)
	})
	if len(trash) == 0 {
		return nil, notPossible("all its recipients are gone")
	}
	for _, one := range trash {
		switch {
		case tx.transferred.Has(one.ID):
			return nil, ErrDecided
		case one.Unfiltered && r.Body == nil:
			return nil, ErrUnfiltered
		}
	}
	for _, one := range trash {
		tx.transferred.Add(one.ID, seenMessages)
		one.Bare, one.Note = false, "" // the note about it was long ago, and maybe about other words
		d := tx.create(one)
		if _, under := tx.under[d.ID]; under {
			d.hold = message.HoldApproval
			tx.receipt(d, message.Held, message.AwaitingApproval)
		}
		list = append(list, d)
	}
	return list, nil
}

// checkSay refuses words to an author that they cannot reach.
func (tx *tx) checkSay(m message.Envelope, say string) error {
	return CheckSay(tx.present(m.From.Peer) != nil, m, say)
}

// CheckSay refuses words to the author of a message if they cannot reach the author; present says
// whether the author is a peer that is here.
func CheckSay(present bool, m message.Envelope, say string) error {
	if !present && m.Origin == message.OriginHuman {
		return notPossible("its author is a person, to whom no reply can be sent: leave out the text")
	}
	if !present {
		return notPossible("%s is gone and cannot be told", m.From.Name)
	}
	return checkBody(say)
}

// approve lets a delivery go. A person has read it, so it counts as a person's word. In a paused
// chat it waits until the chat is resumed.
func (tx *tx) approve(d *delivery, v message.Verdict) {
	says := "approved by "
	if v.Body != nil {
		says = message.Edited
		d.Message, d.AsIs, d.Unfiltered = v.Patched(d.Message), false, false
		if target := tx.present(d.Target); target != nil {
			target.bytes += size(d.Delivery) - d.size
			d.size = size(d.Delivery)
		}
	}
	if v.Body != nil || d.Message.Depth != 0 || d.Asked {
		d.Message.Depth, d.Asked = 0, false
		tx.step.Deliveries = append(tx.step.Deliveries, d.Delivery)
	}
	d.approved = true
	tx.note(d, message.Receipt{State: message.Queued, Evidence: tx.word(says, v.Person)})
	tx.letGo(d)
}

// letGo hands out a delivery that nothing holds any more, except perhaps a pause.
func (tx *tx) letGo(d *delivery) {
	if c := tx.chat(d.Chat); tx.stopped || c != nil && c.State == message.ChatPaused {
		d.hold = message.HoldPause
		tx.receipt(d, message.Held, tx.pausedBy(d))
		return
	}
	tx.hand(d)
}

// word returns the evidence of a receipt that a person decided.
func (tx *tx) word(says string, who message.Person) []message.Evidence {
	return []message.Evidence{{Source: "person", Says: says + who.String(), Weight: "exact", At: tx.now}}
}

// sayTo says something to the author of a message, in the chat of the message if that still goes on
// and has the author in it.
func (tx *tx) sayTo(by By, m message.Envelope, c *chat, say string) {
	author := tx.present(m.From.Peer)
	word := message.Envelope{
		ID: tx.ids.next(tx.now), From: person(by), Type: message.KindMessage, Body: say,
		Origin: message.OriginHuman, Trust: message.TrustPerson, Created: tx.now,
	}
	if c != nil && c.State != message.ChatOver && c.member(author.ID) != nil {
		word = tx.personal(by, say, c)
	} else {
		c = nil
	}
	word.To, word.InReplyTo = []message.Address{address(author)}, m.ID
	tx.receive(&pending{message: word, chat: c})
}

// Elsewhere says that somebody decided, at another sidecar, about a message that awaits a person's
// decision here too: nobody is asked here any more.
type Elsewhere struct{ Message message.ID }

func (e Elsewhere) step(tx *tx) {
	var ends []*delivery
	for _, d := range tx.under {
		if d.Message.ID == e.Message && d.awaits() {
			ends = append(ends, d)
		}
	}
	inOrder(ends)
	for _, d := range ends {
		tx.receipt(d, message.Failed, message.DecidedElsewhere)
	}
}

// lapse ends the wait of deliveries that waited too long for a person's decision: each goes the way
// that its verdict provides for that case. Deliveries of one message in one place that go the same
// way are handled together.
func (tx *tx) lapse() {
	type way struct {
		message, chat message.ID
		otherwise     message.Verb
		says          string
	}
	due := map[way][]*delivery{}
	var order []way
	var waits []*delivery
	for _, d := range tx.under {
		if d.awaits() {
			waits = append(waits, d)
		}
	}
	inOrder(waits)
	for _, d := range waits {
		switch {
		case d.hold == message.HoldFilter || d.lasts <= 0 || d.otherwise == "" || d.otherwise == message.VerbHold,
			d.otherwise == message.VerbAsk && d.hold == message.HoldApproval:
			continue
		case d.since == unset:
			d.since = tx.awake
			continue
		case tx.awake-d.since < d.lasts:
			continue
		}
		one := way{d.Message.ID, d.Chat, d.otherwise, d.says}
		if due[one] == nil {
			order = append(order, one)
		}
		due[one] = append(due[one], d)
	}
	for _, one := range order {
		list := slices.DeleteFunc(due[one], func(d *delivery) bool { return !d.awaits() }) // an earlier one in this loop may have ended it
		if len(list) == 0 {
			continue
		}
		c := tx.chat(one.chat)
		switch one.otherwise {
		case message.VerbDeliver:
			tx.overdue(list, c)
		case message.VerbAsk:
			tx.askNow(list, c)
		default:
			tx.unanswered(list, c)
		}
		if c != nil {
			tx.settle(c)
		}
	}
}

// unanswered ends the deliveries of a message to which nobody said yes in time.
func (tx *tx) unanswered(list []*delivery, c *chat) {
	d := list[0]
	tx.notice(d.Chat, fmt.Sprintf("message %s from %s expired after %s: %s", d.Message.ID.Short(), d.Message.From.Name, message.ShowDuration(d.lasts), d.reason))
	var receipts []message.Receipt
	for _, one := range list {
		receipts = append(receipts, tx.receipt(one, message.Expired, one.reason))
	}
	switch {
	case d.otherwise == message.VerbBounce:
		tx.sendBack(d.Message, c, cmp.Or(d.says, "it was not approved in time"), receipts)
	case d.otherwise == message.VerbAck && (d.says != "" || d.Message.RequiresResponse):
		tx.inform(d.Message, c, cmp.Or(d.says, "your message was acknowledged"), receipts)
	}
}

// overdue lets the deliveries of a message go to which nobody said no in time. No person has read
// the message, so the brakes apply to it.
func (tx *tx) overdue(list []*delivery, c *chat) {
	var planned []message.Delivery
	for _, d := range list {
		tx.note(d, message.Receipt{State: message.Queued, Evidence: []message.Evidence{{
			Source: "policy", Says: "no decision within " + message.ShowDuration(d.lasts), Weight: "exact", At: tx.now,
		}}})
		planned = append(planned, d.Delivery)
	}
	m := list[0].Message
	tx.step.Verdicts = append(tx.step.Verdicts, message.Verdict{
		Message: m.ID, Decision: message.Decision{Verb: message.VerbDeliver, Reason: "no decision in time", By: "built in"}, At: tx.now, Outcomes: tx.beside(m.ID, list),
	})
	t := &pending{message: m, chat: c}
	if reason := tx.pass(t, planned); reason != "" {
		tx.braked(t, reason, false)
		for _, d := range list {
			d.hold = message.HoldLimit
			tx.receipt(d, message.Held, reason)
		}
		return
	}
	for _, d := range list {
		tx.letGo(d)
	}
}

// askNow makes the deliveries of a message, which a policy held for a time, wait for a person's yes.
func (tx *tx) askNow(list []*delivery, c *chat) {
	m := list[0].Message
	v := message.Verdict{
		Message: m.ID, At: tx.now, Outcomes: tx.beside(m.ID, list),
		Decision: message.Decision{Verb: message.VerbAsk, Reason: "held for " + message.ShowDuration(list[0].lasts), By: message.BuiltIn},
	}
	tx.step.Verdicts = append(tx.step.Verdicts, v)
	var planned []message.Delivery
	for _, d := range list {
		d.hold = message.HoldApproval
		d.awaitDecision(v.For(d.Target))
		tx.receipt(d, message.Held, message.AwaitingApproval)
		planned = append(planned, d.Delivery)
	}
	tx.tell(&pending{message: m, chat: c}, v, planned)
}

// beside returns the outcomes that remain for those deliveries of a message that a decision is not
// about: they still wait for one, or were let go before. The next run goes by the last verdict
// alone.
func (tx *tx) beside(id message.ID, decided []*delivery) (outcomes []message.Outcome) {
	for _, d := range tx.underway(func(d *delivery) bool { return d.open() && !slices.Contains(decided, d) }, place{ofMessage, id}) {
		o := message.Outcome{Target: d.Target, Decision: message.Decision{Verb: message.VerbDeliver, By: "built in"}}
		if d.awaits() {
			o.Verb, o.Reason, o.Expires, o.Otherwise = message.VerbHold, string(d.reason), d.lasts, d.otherwise
			o.Text = d.says
			if d.hold == message.HoldApproval {
				o.Verb = message.VerbAsk
			}
		}
		outcomes = append(outcomes, o)
	}
	return outcomes
}

package relay

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Subscription says that one session is told about another, as it is written down. It begins with
// the first message from the one to the other, or with the start of the other on its behalf. It
// ends with either of them, or when its caller wants no more.
type Subscription struct {
	Caller message.ID   `json:"caller"`           // who is told
	Peer   message.ID   `json:"session"`          // about whom
	Awaits []message.ID `json:"awaits,omitempty"` // deliveries to it: the caller is told once when the turn that takes them ends
}

// subscriptions is the kind of these records.
const subscriptions message.RecordKind[Subscription] = "subscription"

func (s Subscription) id() string { return string(s.Caller) + "/" + string(s.Peer) }

// subscription is a Subscription with what this run knows of it.
type subscription struct {
	Subscription
	asked time.Duration // awake time of the last health check or of the beginning of the turn; unset: the next Tick sets it
}

// ErrNoNotices is for an end of notices that the caller does not get.
var ErrNoNotices = errors.New("there are no notices to stop")

// notices holds all subscriptions, indexed by either side.
type notices struct {
	about map[message.ID][]*subscription // by the session they are about, in the order of their beginning
	of    map[message.ID][]*subscription // by caller
	armed int                            // how many await the end of a turn
}

func newNotices() notices {
	return notices{about: make(map[message.ID][]*subscription), of: make(map[message.ID][]*subscription)}
}

// subscribed returns the subscription of caller about peer, or nil.
func (n *notices) subscribed(caller, peer message.ID) *subscription {
	for _, sub := range n.about[peer] {
		if sub.Caller == caller {
			return sub
		}
	}
	return nil
}

// subscribe makes a session hear about another one from now on.
func (tx *tx) subscribe(caller, about *peer) *subscription {
	sub := tx.notices.subscribed(caller.ID, about.ID)
	if sub == nil {
		sub = &subscription{Subscription: Subscription{Caller: caller.ID, Peer: about.ID}, asked: unset}
		tx.enlist(sub)
		record(tx, subscriptions, sub.id(), true, sub.Subscription)
	}
	return sub
}

// enlist adds a subscription to the index.
func (tx *tx) enlist(sub *subscription) {
	tx.notices.about[sub.Peer] = append(tx.notices.about[sub.Peer], sub)
	tx.notices.of[sub.Caller] = append(tx.notices.of[sub.Caller], sub)
	if len(sub.Awaits) > 0 {
		tx.notices.armed++
	}
	tx.listSubscribers(sub.Peer)
}

// unsubscribe ends a subscription.
func (tx *tx) unsubscribe(sub *subscription) {
	tx.await(sub, nil)
	without(tx.notices.about, sub.Peer, sub)
	without(tx.notices.of, sub.Caller, sub)
	record(tx, subscriptions, sub.id(), false, sub.Subscription)
	tx.listSubscribers(sub.Peer)
}

// without removes a subscription from an index.
func without(index map[message.ID][]*subscription, id message.ID, sub *subscription) {
	index[id] = slices.DeleteFunc(index[id], func(one *subscription) bool { return one == sub })
	if len(index[id]) == 0 {
		delete(index, id)
	}
}

// listSubscribers makes the snapshot show who is told about a session.
func (tx *tx) listSubscribers(id message.ID) {
	tx.changes++
	tx.news.subscribed = append(tx.news.subscribed, id)
}

// callers returns the sessions that are told about a session, in the order in which that began.
func (n *notices) callers(about message.ID) (callers []message.ID) {
	for _, sub := range n.about[about] {
		callers = append(callers, sub.Caller)
	}
	return callers
}

// await sets the deliveries that a subscription awaits, and writes them down.
func (tx *tx) await(sub *subscription, awaits []message.ID) {
	switch {
	case slices.Equal(sub.Awaits, awaits):
		return
	case len(sub.Awaits) == 0:
		tx.notices.armed++
	case len(awaits) == 0:
		tx.notices.armed--
		sub.asked = unset
	}
	sub.Awaits = awaits
	record(tx, subscriptions, sub.id(), true, sub.Subscription)
}

// arm arranges that an agent that sends a message of its own accord is told when the turn that
// takes it ends. Messages in a chat do not count, nor do those of the sidecar itself: no notice
// causes another.
func (tx *tx) arm(d *delivery) {
	m := d.Message
	author, target := tx.present(m.From.Peer), tx.present(d.Target)
	single := d.Chat == "" && m.Chat == "" && m.Origin.OfAgent() && !slices.Contains(ours, m.Type)
	if !single || author == nil || target == nil || !bounds[author.Kind].hears || !bounds[target.Kind].turns {
		return
	}
	sub := tx.subscribe(author, target)
	tx.await(sub, append(slices.Clone(sub.Awaits), d.ID))
}

// disarm notes that a delivery was not taken, and never will be.
func (tx *tx) disarm(d *delivery) {
	if sub := tx.notices.subscribed(d.Message.From.Peer, d.Target); sub != nil && slices.Contains(sub.Awaits, d.ID) {
		tx.await(sub, slices.DeleteFunc(slices.Clone(sub.Awaits), func(id message.ID) bool { return id == d.ID }))
	}
}

// stop says whom to tell, once, that the turn that took their message has ended.
type stop struct {
	caller message.ID
	about  message.ID // the message
}

// stops returns the callers that awaited the end of a turn that ends now, and removes what they
// awaited. The turn answers what they sent, or may have: an uncertain delivery is not under way any
// more, and any turn may be its end.
func (tx *tx) stops(s *peer, ends func(id message.ID, d *delivery) bool) (out []stop) {
	for _, sub := range tx.notices.about[s.ID] {
		one := stop{caller: sub.Caller}
		var left []message.ID
		for _, id := range sub.Awaits {
			d := tx.under[id]
			switch {
			case !ends(id, d):
				left = append(left, id)
			case d != nil:
				one.about = d.Message.ID
			}
		}
		if len(left) < len(sub.Awaits) {
			tx.await(sub, left)
			sub.asked = unset // what is left is another turn's
			out = append(out, one)
		}
	}
	return out
}

// endedBy returns a function that reports whether a turn is the end of a delivery.
func endedBy(t message.Turn) func(message.ID, *delivery) bool {
	return func(id message.ID, d *delivery) bool { return slices.Contains(t.Answers, id) || d == nil && !t.Late }
}

// missed reports whether the turn of a delivery has ended if its program is idle: the delivery was
// taken before this run, which has not seen the outcome.
func missed(_ message.ID, d *delivery) bool {
	return d != nil && d.state == message.Submitted && d.where == unhanded
}

// tellStops tells callers that a turn has ended. A caller in a chat with that session hears its
// words, and needs no notice.
func (tx *tx) tellStops(s *peer, stops []stop, why string, depth int) {
	c := tx.chatOf(s.ID)
	for _, one := range stops {
		caller := tx.present(one.caller)
		if caller == nil || c != nil && c.member(caller.ID) != nil {
			continue
		}
		tx.tellAuthor(message.Envelope{ID: one.about}, caller, address(s), nil, stopped(s, why), depth)
	}
}

// turnEnded is the reason of a session that stopped because its turn ended normally.
const turnEnded = "turn ended"

// stopped says that a session has stopped, and why.
func stopped(s *peer, why string) string { return fmt.Sprintf("%q stopped: %s", titleOf(s), why) }

// titleOf returns the name of a session in text for agents. If a caller had it started, that is the
// title that the caller gave it; the title of any other is its program's, and changes.
func titleOf(s *peer) string {
	if title := strings.Join(strings.Fields(s.Title), " "); s.Caller != nil && title != "" {
		return title
	}
	return s.Name
}

// untold ends the subscriptions of and about an ended session, and tells the callers of the latter.
// If the tmux server has ended, all sessions have, and nobody is told.
func (tx *tx) untold(s *peer, reason message.Reason) {
	for _, sub := range slices.Clone(tx.notices.of[s.ID]) {
		tx.unsubscribe(sub)
	}
	for _, sub := range slices.Clone(tx.notices.about[s.ID]) {
		tx.unsubscribe(sub)
		if caller := tx.present(sub.Caller); caller != nil && reason != message.ServerEnded {
			tx.tellAuthor(message.Envelope{}, caller, address(s), nil, stopped(s, "session ended: "+string(reason)), s.depth())
		}
	}
}

// restoreSubscriptions takes over the subscriptions that an earlier run left.
func (tx *tx) restoreSubscriptions(all ...message.Record) error {
	read, err := subscriptions.Values(all...)
	if err != nil {
		return err
	}
	for _, one := range all {
		sub := &subscription{Subscription: read[one.ID], asked: unset}
		switch {
		case tx.present(sub.Caller) == nil || tx.present(sub.Peer) == nil:
			record(tx, subscriptions, one.ID, false, sub.Subscription)
		case tx.notices.subscribed(sub.Caller, sub.Peer) == nil:
			tx.enlist(sub)
		}
	}
	return nil
}

// StopNotices ends what a session is told about another one: it hears nothing of the other's turns,
// end and health until it sends something there again. An agent ends its own notices; a person says
// whose. Errors: those of Find; ErrNoNotices. Answer: Peer, the one about which no more is told,
// and Caller.
type StopNotices struct {
	By     By
	Peer   string
	Caller string // the session that is told no more; "": the caller itself
}

func (r StopNotices) by() By { return r.By }

func (r StopNotices) do(tx *tx, _ *Requested) (Answer, error) {
	caller := tx.present(r.By.Peer)
	if strings.TrimSpace(r.Caller) != "" {
		named, err := tx.find(r.Caller)
		if err != nil {
			return Answer{}, fmt.Errorf("stop notices: %w", err)
		}
		if !r.By.Person() && named != caller {
			return Answer{}, fmt.Errorf("stop notices to %q: %w", named.Name, ErrPersonOnly)
		}
		caller = named
	}
	about, err := tx.find(r.Peer)
	if err != nil {
		return Answer{}, fmt.Errorf("stop notices: %w", err)
	}
	if caller == nil {
		return Answer{}, fmt.Errorf("stop notices of %q: %w", about.Name, ErrNoNotices)
	}
	sub := tx.notices.subscribed(caller.ID, about.ID)
	if sub == nil {
		return Answer{}, fmt.Errorf("stop notices of %q to %q: %w", about.Name, caller.Name, ErrNoNotices)
	}
	tx.unsubscribe(sub)
	tx.withdrawChecks(caller.ID, about.ID)
	return Answer{Peer: about.Peer, Caller: caller.ID}, nil
}

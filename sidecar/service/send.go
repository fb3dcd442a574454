package service

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/secret"
)

// Sending hands messages to sessions.
type Sending struct {
	Callers  *Callers
	Names    *Names
	Sessions *Sessions
	Chats    *Chats
	Relay    asked
	Journal  interface {
		messages
		receipts
		backlog
	}
	Bell      *Bell
	Elsewhere *Computers // nil: there are no other computers
}

// Offer has a server serve the operation.
func (s *Sending) Offer(server *api.Server) { api.Handle(server, api.Send, s.Send) }

// Send hands one message to one session and waits for the state that is asked for.
func (s *Sending) Send(ctx context.Context, from api.Caller, req api.SendRequest) (api.Sent, error) {
	if req.Type == "" {
		req.Type = message.KindMessage
	}
	types := append(aea.Types(), message.KindMessage)
	switch {
	case !slices.Contains(types, req.Type):
		return api.Sent{}, api.Errorf(api.CodeUsage, "unknown message type %q", req.Type).WithHint("they are %s", strings.Join(types, ", "))
	case req.Priority != "" && !slices.Contains(aea.Priorities(), req.Priority):
		return api.Sent{}, api.Errorf(api.CodeUsage, "unknown priority %q", req.Priority).WithHint("they are %s", strings.Join(aea.Priorities(), ", "))
	}
	if req.ID != "" {
		id, err := message.ParseID(string(req.ID))
		if err != nil {
			return api.Sent{}, api.Errorf(api.CodeUsage, "%w", err)
		}
		req.ID = id
		if sent, again, err := s.sentBefore(ctx, from, req); again || err != nil {
			return sent, err
		}
	}
	if req.ReplyTo != "" {
		if err := s.address(ctx, from, &req); err != nil {
			return api.Sent{}, err
		}
	}
	to, err := s.Elsewhere.enter(ctx, req.Computer, req.To)
	if err != nil {
		return api.Sent{}, err
	}
	req.To = to
	send, err := s.linked(ctx, from, req)
	if err != nil {
		return api.Sent{}, err
	}
	adopted, err := s.Sessions.recognised(ctx, from, []string{req.To}, nil)
	if err != nil && !send.By.Person() {
		return api.Sent{}, err
	} // else it is told below what that pane is to us
	send.Repeatable = req.ID != ""
	answer, err := s.Relay.Do(ctx, send)
	if errors.Is(err, relay.ErrUsed) { // perhaps by this very request, which was still on its way when the journal was asked
		if sent, again, err := s.sentBefore(ctx, from, req); again || err != nil {
			return sent, err
		}
		send.Repeatable = false
		answer, err = s.Relay.Do(ctx, send)
	}
	if err != nil {
		s.Sessions.giveBack(ctx, from, adopted)
		if errors.Is(err, relay.ErrNoLink) {
			return api.Sent{}, api.Errorf(api.CodeNotFound, "%w", err).WithHint("intercom chat list")
		}
		return api.Sent{}, s.Names.notFound(ctx, err, req.To)
	}
	sent := api.Sent{Message: answer.Message}
	if len(answer.Chats) > 0 {
		sent.Chat = &answer.Chats[0]
	}
	if len(answer.Receipts) == 0 {
		return sent, nil // decided otherwise: nothing is delivered
	}
	sent.Receipt = answer.Receipts[0]
	sent.Delivery = sent.Receipt.Delivery
	if deliveries, err := s.Journal.Deliveries(ctx, sent.Message); err == nil {
		sent.Head = headOf(deliveries, sent.Delivery)
	}
	if sent.Receipt.State.Final() {
		return sent, nil
	}
	return s.await(ctx, sent, from, req)
}

// linked is what a request asks of the relay. Only a session opens and closes links: a person starts
// chats, of whomever they please.
func (s *Sending) linked(ctx context.Context, from api.Caller, req api.SendRequest) (send relay.Send, err error) {
	send = relay.Send{By: s.Callers.by(ctx, from), To: req.To, Message: messageOf(req), Direct: req.Direct, CloseLink: req.CloseLink}
	if !req.Direct && !req.CloseLink {
		return send, nil
	}
	if send.By, err = s.Callers.verified(ctx, from, "connect itself to another session"); err != nil {
		return send, err
	}
	if send.By.Person() {
		return send, api.Errorf(api.CodeUsage, "only a session can be linked, and this is run by a person").WithHint("intercom chat start PANE PANE connects any two; intercom chat stop ends that")
	}
	if !req.Direct {
		return send, nil
	}
	members, err := s.Chats.free(ctx, s.Relay.Snapshot(), string(send.By.Peer), req.To)
	if err == nil {
		send.Since, err = s.Chats.baseline(ctx, members)
	}
	return send, err
}

// messageOf is the message of a request.
func messageOf(req api.SendRequest) message.Envelope {
	return message.Envelope{
		ID: req.ID, Type: req.Type, Priority: req.Priority, RequiresResponse: req.RequiresResponse, Subject: req.Subject, Body: req.Text, Tags: req.Tags, InReplyTo: req.ReplyTo,
	}
}

// address addresses an answer to the author of the message that it answers, which has to be one that
// the caller was sent.
func (s *Sending) address(ctx context.Context, from api.Caller, req *api.SendRequest) error {
	m, err := s.Journal.Message(ctx, string(req.ReplyTo))
	if errors.Is(err, journal.ErrNotFound) {
		return api.Errorf(api.CodeNotFound, "no message %q", req.ReplyTo)
	}
	if err != nil {
		return err
	}
	deliveries, err := s.Journal.Deliveries(ctx, m.ID)
	if err != nil {
		return err
	}
	session, _ := s.Callers.callerSession(ctx, from)
	if !slices.ContainsFunc(deliveries, func(d message.Delivery) bool { return d.Target == session.ID }) {
		return api.Errorf(api.CodeRefused, "message %s was not sent to you", m.ID.Short()).WithHint("address its author: intercom send")
	}
	switch {
	case req.To != "":
		return nil
	case m.Origin == message.OriginHuman:
		return api.Errorf(api.CodeRefused, "message %s is a person's, who reads what you say here", m.ID.Short())
	case m.From.Peer == "" || m.From.Peer == message.Unverified:
		return api.Errorf(api.CodeRefused, "the author of message %s is not known, and cannot be reached", m.ID.Short())
	}
	req.ReplyTo, req.To = m.ID, string(m.From.Peer)
	return nil
}

// sentBefore reports whether this very request was carried out already, by its id, target
// and words: a caller that lost the reply asks once more, and gets what became of the first.
// The same id with anything else in it is a new request with a used id.
func (s *Sending) sentBefore(ctx context.Context, from api.Caller, req api.SendRequest) (api.Sent, bool, error) {
	first, err := s.Journal.Message(ctx, string(req.ID))
	if errors.Is(err, journal.ErrNotFound) {
		return api.Sent{}, false, nil
	}
	if err != nil {
		return api.Sent{}, false, err
	}
	deliveries, err := s.Journal.Deliveries(ctx, first.ID)
	if err != nil || len(deliveries) == 0 || !first.SaysAs(messageOf(req)) {
		return api.Sent{}, false, err
	}
	if !saidBy(first, s.Callers.by(ctx, from)) {
		return api.Sent{}, false, nil
	}
	addressed := deliveries[0].Target
	if len(first.To) > 0 { // who got it may be another: policies route
		addressed = first.To[0].Peer
	}
	if to, err := s.Relay.Snapshot().Find(req.To); err == nil && to.ID != addressed {
		return api.Sent{}, false, nil
	}
	sent, err := s.await(ctx, api.Sent{Message: first.ID, Delivery: deliveries[0].ID, Head: deliveries[0].Head}, from, req)
	return sent, true, err
}

// saidBy reports whether a message is one of whoever asks.
func saidBy(m message.Envelope, by relay.By) bool {
	if by.Person() {
		return m.Origin == message.OriginHuman
	}
	return m.From.Peer == cmp.Or(by.Peer, message.Unverified)
}

// headOf is what stands in front of the text of a delivery.
func headOf(all []message.Delivery, id message.ID) string {
	for _, d := range all {
		if d.ID == id {
			return d.Head
		}
	}
	return ""
}

// await follows the receipts of a delivery, and of the one that took its place if its message was decided anew, until
// req's wait is over. Whoever is no person gets the answer
// without its secrets: no filter has seen it.
func (s *Sending) await(ctx context.Context, sent api.Sent, from api.Caller, req api.SendRequest) (_ api.Sent, err error) {
	defer func() { err = sayWhy(ctx, sent.Receipt.State, remote(s.Relay.Snapshot(), sent.Receipt.Target), err) }()
	enough, err := s.Bell.until(ctx, req.Timeout, func() (bool, error) {
		before := s.Relay.Snapshot() // the receipts read after it know what whoever is gone by it has answered
		receipts, err := s.Journal.Receipts(ctx, sent.Message)
		if last := message.Latest(receipts, sent.Delivery); last.Delivery != "" {
			sent.Receipt = last
			switch had := taken(receipts, last); {
			case had.State == last.State:
			case req.Wait != api.WaitAnswered: // that nobody has answered it, nobody waits for
				sent.Receipt = had
			default:
				sent.Gone = string(last.Reason)
			}
		}
		if err == nil && req.Wait == api.WaitAnswered && sent.Receipt.State == message.Submitted {
			sent.Gone = goneBy(before, sent.Receipt.Target)
		}
		return sent.Gone != "" || reached(sent.Receipt.State, req.Wait), err
	})
	if instead := sent.Receipt.Delivery; err == nil && instead != "" && instead != sent.Delivery {
		var deliveries []message.Delivery
		deliveries, err = s.Journal.Deliveries(ctx, sent.Message)
		sent.Delivery, sent.Head = instead, headOf(deliveries, instead)
	}
	if err == nil && !enough && sent.Receipt.State == message.Queued {
		sent.Behind, err = behind(ctx, s.Journal, sent.Receipt)
	}
	if sent.Receipt.Words != "" && !s.Callers.by(ctx, from).Person() {
		sent.Receipt.Words = secret.Mask(sent.Receipt.Words)
	}
	return sent, err
}

// taken is the last receipt of a delivery, or that by which its program had taken it, if what has failed since is the answer.
func taken(all []message.Receipt, last message.Receipt) message.Receipt {
	if last.State != message.Failed {
		return last
	}
	for _, r := range all {
		if r.Delivery == last.Delivery && r.State == message.Submitted {
			return r
		}
	}
	return last
}

// goneBy is why a peer will not answer any more what it has taken: it is no peer by then. "" of one that is still here.
func goneBy(then registry.Snapshot, target message.ID) string {
	now, ok := then.Peer(target)
	switch {
	case !ok:
		return string(message.AgentGone)
	case now.Ended != nil:
		return cmp.Or(now.EndReason, string(message.AgentGone))
	}
	return ""
}

// behind is why an earlier delivery to the same session is held, behind which this one
// waits; "" if none is.
func behind(ctx context.Context, journal backlog, last message.Receipt) (message.Reason, error) {
	waiting, err := journal.Waiting(ctx, "")
	if err != nil {
		return "", err
	}
	for _, p := range waiting {
		switch {
		case p.Delivery.ID == last.Delivery:
			return "", nil
		case p.Delivery.Target == last.Target && p.Last.State == message.Held && !p.Last.AgentGone():
			return p.Last.Reason, nil
		}
	}
	return "", nil
}

// reached reports whether no more waiting is wanted, or of use.
func reached(state message.ReceiptState, wait api.Wait) bool {
	switch {
	case state.Final():
		return true
	case wait == api.WaitAnswered:
		return false
	case wait == api.WaitSubmitted:
		return state == message.Submitted
	}
	return state == message.Submitted || state == message.Held
}

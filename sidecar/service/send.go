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

// Sending sends messages to sessions.
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

// Offer registers the operation with a server.
func (s *Sending) Offer(server *api.Server) { api.Handle(server, api.Send, s.Send) }

// Send sends one message to one session and waits for the state that is asked for.
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
	} // for a person, the error below says what is wrong with that pane
	send.Repeatable = req.ID != ""
	answer, err := s.Relay.Do(ctx, send)
	if errors.Is(err, relay.ErrUsed) { // perhaps by this very request, which was still under way when the journal was read
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
		return sent, nil // a policy decided otherwise: nothing is delivered
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

// linked returns the relay's request for req. Only a session opens and closes links; a person starts chats of
// any sessions.
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

// messageOf returns the message of a request.
func messageOf(req api.SendRequest) message.Envelope {
	return message.Envelope{
		ID: req.ID, Type: req.Type, Priority: req.Priority, RequiresResponse: req.RequiresResponse, Subject: req.Subject, Body: req.Text, Tags: req.Tags, InReplyTo: req.ReplyTo,
	}
}

// address addresses an answer to the author of the message that it answers. That message must have been sent to
// the caller.
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

// sentBefore reports whether this very request was carried out already, by its id, target and text: a caller
// that lost the reply asks once more, and gets the outcome of the first request. The same id with anything else
// in it is a new request with a used id.
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
	if len(first.To) > 0 { // the recipient may be another one: policies route
		addressed = first.To[0].Peer
	}
	if to, err := s.Relay.Snapshot().Find(req.To); err == nil && to.ID != addressed {
		return api.Sent{}, false, nil
	}
	sent, err := s.await(ctx, api.Sent{Message: first.ID, Delivery: deliveries[0].ID, Head: deliveries[0].Head}, from, req)
	return sent, true, err
}

// saidBy reports whether the caller is the author of a message.
func saidBy(m message.Envelope, by relay.By) bool {
	if by.Person() {
		return m.Origin == message.OriginHuman
	}
	return m.From.Peer == cmp.Or(by.Peer, message.Unverified)
}

// headOf returns the text in front of a delivery's message.
func headOf(all []message.Delivery, id message.ID) string {
	for _, d := range all {
		if d.ID == id {
			return d.Head
		}
	}
	return ""
}

// await follows the receipts of a delivery, and of the one that replaced it if its message was decided again,
// until req's wait is over. A caller that is not a person gets the answer with its secrets masked: no filter
// has seen it.
func (s *Sending) await(ctx context.Context, sent api.Sent, from api.Caller, req api.SendRequest) (_ api.Sent, err error) {
	defer func() { err = sayWhy(ctx, sent.Receipt.State, remote(s.Relay.Snapshot(), sent.Receipt.Target), err) }()
	enough, err := s.Bell.until(ctx, req.Timeout, func() (bool, error) {
		before := s.Relay.Snapshot() // taken first, so that the receipts read below include every answer of a peer that is gone in it
		receipts, err := s.Journal.Receipts(ctx, sent.Message)
		if last := message.Latest(receipts, sent.Delivery); last.Delivery != "" {
			sent.Receipt = last
			switch had := taken(receipts, last); {
			case had.State == last.State:
			case req.Wait != api.WaitAnswered: // nobody waits for the answer that failed
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

// taken returns the last receipt of a delivery. If the delivery failed after its program had taken it, only the
// answer failed: then taken returns the submitted receipt.
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

// goneBy returns the reason why a peer will not answer a message that it has taken: it has ended. It is "" for
// a peer that is still present.
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

// behind returns why an earlier delivery to the same session is held, if the given one is queued behind it; ""
// if none is.
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

// reached reports whether waiting is over, or no longer of use.
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

package service

import (
	"context"
	"errors"
	"log/slog"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/pane"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

// Inbox serves what waits for a person or for a safe moment, and takes a person's decisions about it.
type Inbox struct {
	Callers *Callers
	Names   *Names
	Relay   asked
	// Panes is nil where the sidecar is headless.
	Panes interface {
		Vouch(ctx context.Context, session, delivery message.ID, sure bool) error
	}
	Journal interface {
		backlog
		messages
		verdicts
		receipts
	}
	// Starts holds the sessions that agents asked to start; nil where the sidecar is headless.
	Starts interface {
		Waiting() []api.Held
		Decide(ctx context.Context, from api.Caller, req api.DecideRequest, one api.Held) (api.Decided, error)
		Decided(ctx context.Context, id string) error
	}
	// Files holds messages that came as files: other sidecars may ask for decisions about them too.
	Files interface {
		TakeWord(ctx context.Context, m message.Envelope, verb message.Verb, who message.Person) (earlier *repository.Word, err error)
	}
	Log *slog.Logger
}

// Offer registers the operations with a server.
func (s *Inbox) Offer(server *api.Server) {
	api.Handle(server, api.Inbox, s.List)
	api.Handle(server, api.Vouch, s.Vouch)
	api.Handle(server, api.Decide, s.Decide)
}

// List lists what waits for a person or for a safe moment. Only a person sees credentials in it, since they
// have to decide.
func (s *Inbox) List(ctx context.Context, from api.Caller, _ api.None) ([]api.Held, error) {
	held, err := s.list(ctx)
	if err == nil && len(held) > 0 && !s.Callers.by(ctx, from).Person() {
		for i := range held {
			held[i].Envelope = redactedMessage(held[i].Envelope)
			if held[i].Asked != nil {
				held[i].Asked = redacted(message.Event{Verdict: held[i].Asked}).Verdict
			}
		}
	}
	return held, err
}

func (s *Inbox) list(ctx context.Context) ([]api.Held, error) {
	waiting, err := s.Journal.Waiting(ctx, "")
	if err != nil {
		return nil, err
	}
	snap := s.Relay.Snapshot()
	chats := map[message.ID]message.Chat{}
	for _, chat := range snap.Chats() {
		chats[chat.ID] = chat
	}
	held := make([]api.Held, len(waiting))
	for i, p := range waiting {
		d := p.Delivery
		one := api.Held{
			Waiting: waitingFor(p, ""), Chat: d.Chat, ChatName: chats[d.Chat].Name, Envelope: d.Message, Form: d.Form,
		}
		for _, to := range chats[d.Chat].Participants {
			if to.Peer == d.Target {
				one.To = to.Name
			}
		}
		if session, ok := s.Names.Ended.SessionOf(snap, d.Target); ok {
			one.To = session.Name
			if session.Ended == nil {
				one.Pane = session.Pane
			}
		}
		if p.Last.Awaits() {
			asked := p.Verdict.As(d.Target)
			author, known := snap.Peer(d.Message.From.Peer)
			one.Decision, one.Asked, one.Unanswerable = true, &asked, !known || author.Ended != nil
		}
		held[i] = one
	}
	if s.Starts == nil {
		return held, nil
	}
	return append(held, s.Starts.Waiting()...), nil
}

// Vouch lets a delivery be typed at an unrecognised screen, on a person's word.
func (s *Inbox) Vouch(ctx context.Context, from api.Caller, req api.VouchRequest) (api.Held, error) {
	if err := s.Callers.atTerminal(ctx, from, "vouch for a screen", "inbox release "+req.ID); err != nil {
		return api.Held{}, err
	}
	all, err := s.list(ctx)
	if err != nil {
		return api.Held{}, err
	}
	var found []api.Held
	for _, one := range all {
		if one.Delivery.Is(req.ID) || one.Message.Is(req.ID) {
			found = append(found, one)
		}
	}
	switch {
	case len(found) == 0:
		return api.Held{}, api.Errorf(api.CodeNotFound, "no waiting message has the id %q", req.ID).WithHint("intercom inbox list")
	case len(found) > 1:
		return api.Held{}, api.Errorf(api.CodeUsage, "%q is waiting for %d recipients: give the id of a delivery", req.ID, len(found)).WithHint("intercom inbox show %s lists their deliveries", req.ID)
	}
	one := found[0]
	if one.Decision {
		return one, api.Errorf(api.CodeRefused, "vouch for the screen of message %s: it awaits your approval", one.Message.Short()).
			WithHint("intercom inbox approve %s", one.Message.Short())
	}
	target, err := s.target(one)
	if err != nil {
		return one, err
	}
	switch err := s.Panes.Vouch(ctx, target.ID, one.Delivery, req.Sure); {
	case errors.Is(err, pane.ErrNotHeld), errors.Is(err, pane.ErrOwnTerms):
		return one, api.Errorf(api.CodeRefused, "vouch for the screen of message %s: %w", one.Message.Short(), err).
			WithHint("intercom explain %s says what it waits for", target.Pane)
	case err != nil:
		return one, wire(err)
	case !req.Sure:
		return one, nil
	}
	s.Log.Info("typed on a person's word", "delivery", one.Delivery, "pane", target.Pane, "by", s.Callers.Person, "pid", from.PID)
	return one, nil
}

// target returns the session that a delivery waits for.
func (s *Inbox) target(one api.Held) (message.Peer, error) {
	if now, err := s.Relay.Snapshot().Find(one.To); err == nil && now.Pane == "" {
		return now, api.Errorf(api.CodeRefused, "vouch for the screen of message %s: %s lives in no pane", one.Message.Short(), one.To)
	}
	if one.Pane == "" || s.Panes == nil {
		return message.Peer{}, api.Errorf(api.CodeRefused, "vouch for the screen of message %s: %s has gone", one.Message.Short(), one.To).WithHint("intercom chat list --ended lists ended chats; intercom chat start --again CHAT restarts one")
	}
	session, err := s.Relay.Snapshot().Find(one.Pane)
	return session, wire(err)
}

package daemon

import (
	"context"
	"errors"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/pane"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// Inbox lists what waits, for a person or for a moment.
func (s *sidecar) Inbox(ctx context.Context, _ api.Caller, _ api.None) ([]api.Held, error) {
	waiting, err := s.journal.Waiting(ctx, "")
	if err != nil {
		return nil, err
	}
	snap := s.relay.Snapshot()
	chats := map[message.ID]message.Chat{}
	for _, chat := range snap.Chats() {
		chats[chat.ID] = chat
	}
	held := make([]api.Held, len(waiting))
	for i, p := range waiting {
		d := p.Delivery
		one := api.Held{
			Waiting: waitingFor(p, ""), Chat: d.Chat, ChatName: chats[d.Chat].Name, Envelope: d.Message.Unrendered(),
		}
		for _, to := range chats[d.Chat].Participants {
			if to.Session == d.Target {
				one.To = to.Name
			}
		}
		if session, ok := s.sessionOf(snap, d.Target); ok {
			one.To = session.Name
			if session.Ended == nil {
				one.Pane = session.Pane
			}
		}
		if left(p).Awaits() {
			asked := p.Verdict.As(d.Target)
			one.Decision, one.Asked = true, &asked
		}
		held[i] = one
	}
	return held, nil
}

// Vouch has a delivery typed on a person's word, whose screen is not recognised.
func (s *sidecar) Vouch(ctx context.Context, from api.Caller, req api.VouchRequest) (api.Held, error) {
	if err := s.atTerminal(ctx, from, "release a held message", "inbox release "+req.ID); err != nil {
		return api.Held{}, err
	}
	all, err := s.Inbox(ctx, from, api.None{})
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
		return api.Held{}, api.Errorf(api.CodeNotFound, "nothing of the id %q waits", req.ID).WithHint("intercom inbox list")
	case len(found) > 1:
		return api.Held{}, api.Errorf(api.CodeUsage, "%q waits for %d: give the id of a delivery", req.ID, len(found)).WithHint("intercom inbox list")
	}
	one := found[0]
	target, err := s.target(one)
	if err != nil {
		return one, err
	}
	switch err := s.panes.Vouch(ctx, target.ID, one.Delivery, req.Sure); {
	case errors.Is(err, pane.ErrNotHeld), errors.Is(err, pane.ErrOwnTerms):
		return one, api.Errorf(api.CodeRefused, "release %s: %w", one.Delivery.Short(), err).
			WithHint("intercom explain %s says what it waits for", target.Pane)
	case err != nil:
		return one, wire(err)
	case !req.Sure:
		return one, nil
	}
	s.log.Info("released on a person's word", "delivery", one.Delivery, "pane", target.Pane, "by", s.cfg.Person, "pid", from.PID)
	return one, nil
}

// atTerminal refuses what only a person at a terminal may do; command is how it is done.
func (s *sidecar) atTerminal(ctx context.Context, from api.Caller, what, command string) error {
	if err := s.personOnly(ctx, from, what); err != nil {
		return err
	}
	if from.PID != 0 && !tmux.AtTerminal(from.PID) {
		s.log.Warn("refused without a terminal", "what", what, "pid", from.PID)
		return api.Errorf(api.CodeRefused, "%s: only a person at a terminal may", what).
			WithHint("intercom %s, in a pane that is not adopted", command)
	}
	return nil
}

// target is the session that waits for a delivery.
func (s *sidecar) target(one api.Held) (message.Session, error) {
	if one.Pane == "" || s.panes == nil {
		return message.Session{}, api.Errorf(api.CodeRefused, "release %s: %s has gone", one.Delivery.Short(), one.To).WithHint("intercom chat start --again starts its chat anew")
	}
	session, err := s.relay.Snapshot().Find(one.Pane)
	return session, wire(err)
}

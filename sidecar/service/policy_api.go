package service

import (
	"context"
	"errors"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/policyset"
)

// Offer has a server serve the operations.
func (s *Policies) Offer(server *api.Server) {
	api.Handle(server, api.Policy, s.Status)
	api.Handle(server, api.RollbackPolicy, s.Rollback)
	api.Handle(server, api.DiffPolicy, s.Diff)
	api.Handle(server, api.ExplainPolicy, s.Explain)
}

// Status says how the policies are.
func (s *Policies) Status(context.Context, api.Caller, api.None) (policy.Status, error) {
	if s.Set == nil {
		return policy.Status{}, errNoPolicies()
	}
	return s.Set.Status(), nil
}

func errNoPolicies() *api.Error {
	return api.Errorf(api.CodeRefused, "this sidecar asks no policies")
}

// Rollback goes back to earlier policies.
func (s *Policies) Rollback(ctx context.Context, from api.Caller, req api.RollbackPolicyRequest) (policy.Status, error) {
	if err := s.Callers.atTerminal(ctx, from, "go back to earlier policies", "policy rollback"); err != nil {
		return policy.Status{}, err
	}
	if s.Set == nil {
		return policy.Status{}, errNoPolicies()
	}
	status, err := s.Set.Rollback(ctx, req.Sure)
	if errors.Is(err, policyset.ErrNoOther) {
		return status, api.Errorf(api.CodeNotFound, "%w", err).WithHint("intercom policy log shows which were in use")
	}
	return status, err
}

// Diff says what other files would change.
func (s *Policies) Diff(ctx context.Context, _ api.Caller, req api.DiffPolicyRequest) (policy.Trial, error) {
	if s.Set == nil {
		return policy.Trial{}, errNoPolicies()
	}
	tried, err := s.Set.Diff(ctx, req.Dir)
	if err != nil {
		return tried, api.Errorf(api.CodeFailed, "%w", err).WithHint("intercom policy check")
	}
	return tried, nil
}

// Explain says what policies decided about a message, and what they would decide now.
func (s *Policies) Explain(ctx context.Context, _ api.Caller, req api.ExplainPolicyRequest) (e policy.Explained, err error) {
	if s.Set == nil {
		return e, errNoPolicies()
	}
	id, err := s.Names.messageOf(ctx, req.ID)
	if err != nil {
		return e, err
	}
	if e.Message, err = s.Journal.Message(ctx, string(id)); err != nil {
		return e, err
	}
	if e.Then, err = s.Journal.Verdicts(ctx, id); err != nil {
		return e, err
	}
	for i := range e.Then {
		e.Then[i].Body = nil // what was said is the log's to show
	}
	d := journal.Decided{Message: e.Message}
	deliveries, err := s.Journal.Deliveries(ctx, id)
	if err != nil {
		return e, err
	}
	for _, one := range deliveries {
		d.Chat = one.Chat
		if !slices.Contains(d.Targets, one.Target) {
			d.Targets = append(d.Targets, one.Target)
		}
	}
	q, err := s.questionOf(ctx, s.Relay.Snapshot(), d)
	if err != nil {
		return e, err
	}
	e.Now, err = s.Set.Explain(ctx, q)
	return e, err
}

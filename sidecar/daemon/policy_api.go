package daemon

import (
	"context"
	"errors"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/policyset"
)

// Policy says how the policies are.
func (s *sidecar) Policy(context.Context, api.Caller, api.None) (policy.Status, error) {
	if s.policies == nil {
		return policy.Status{}, errNoPolicies()
	}
	return s.policies.Status(), nil
}

func errNoPolicies() *api.Error {
	return api.Errorf(api.CodeRefused, "this sidecar asks no policies")
}

// RollbackPolicy goes back to earlier policies.
func (s *sidecar) RollbackPolicy(ctx context.Context, from api.Caller, req api.RollbackPolicyRequest) (policy.Status, error) {
	if err := s.atTerminal(ctx, from, "go back to earlier policies", "policy rollback"); err != nil {
		return policy.Status{}, err
	}
	if s.policies == nil {
		return policy.Status{}, errNoPolicies()
	}
	status, err := s.policies.Rollback(ctx, req.Sure)
	if errors.Is(err, policyset.ErrNoOther) {
		return status, api.Errorf(api.CodeNotFound, "%w", err).WithHint("intercom policy log shows which were in use")
	}
	return status, err
}

// DiffPolicy says what other files would change.
func (s *sidecar) DiffPolicy(ctx context.Context, _ api.Caller, req api.DiffPolicyRequest) (policy.Trial, error) {
	if s.policies == nil {
		return policy.Trial{}, errNoPolicies()
	}
	tried, err := s.policies.Diff(ctx, req.Dir)
	if err != nil {
		return tried, api.Errorf(api.CodeFailed, "%w", err).WithHint("intercom policy check")
	}
	return tried, nil
}

// ExplainPolicy says what policies decided about a message, and what they would decide now.
func (s *sidecar) ExplainPolicy(ctx context.Context, _ api.Caller, req api.ExplainPolicyRequest) (e policy.Explained, err error) {
	if s.policies == nil {
		return e, errNoPolicies()
	}
	id, err := s.messageOf(ctx, req.ID)
	if err != nil {
		return e, err
	}
	if e.Message, err = s.journal.Message(ctx, string(id)); err != nil {
		return e, err
	}
	if e.Then, err = s.journal.Verdicts(ctx, id); err != nil {
		return e, err
	}
	for i := range e.Then {
		e.Then[i].Body = nil // what was said is the log's to show
	}
	d := journal.Decided{Message: e.Message}
	deliveries, err := s.journal.Deliveries(ctx, id)
	if err != nil {
		return e, err
	}
	for _, one := range deliveries {
		d.Chat = one.Chat
		if !slices.Contains(d.Targets, one.Target) {
			d.Targets = append(d.Targets, one.Target)
		}
	}
	q, err := s.questionOf(ctx, s.relay.Snapshot(), d)
	if err != nil {
		return e, err
	}
	e.Now, err = s.policies.Explain(ctx, q)
	return e, err
}

package api

import (
	"context"
	"net/http"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
)

// RollbackPolicyRequest asks for the policies of before. One that is not Sure has no effect; its
// answer is how the policies are.
type RollbackPolicyRequest struct {
	Sure bool `json:"sure,omitempty"` // a person at a terminal has said yes
}

// DiffPolicyRequest asks what other policies would change.
type DiffPolicyRequest struct {
	Dir string `json:"dir"` // absolute: of init.lua and policies/
}

// ExplainPolicyRequest asks what policies say of a message.
type ExplainPolicyRequest struct {
	ID string `json:"id"` // of a message or a delivery, or the end of one
}

func checkDiffPolicy(req DiffPolicyRequest) error {
	if req.Dir == "" || req.Dir[0] != '/' {
		return Errorf(CodeUsage, "%q is not the absolute path of a directory", req.Dir)
	}
	return nil
}

// wholePolicy is a status without lists that are null.
func wholePolicy(s policy.Status, err error) (policy.Status, error) {
	if s.Files == nil {
		s.Files = []string{}
	}
	if s.Kept == nil {
		s.Kept = []policy.Kept{}
	}
	return s, err
}

// Policy says how the policies are.
func (c *Client) Policy(ctx context.Context) (policy.Status, error) {
	return call[policy.Status](ctx, c, http.MethodGet, "/v1/policy", nil)
}

// RollbackPolicy goes back to the policies that were in use before, until the files change.
func (c *Client) RollbackPolicy(ctx context.Context, req RollbackPolicyRequest) (policy.Status, error) {
	return call[policy.Status](ctx, c, http.MethodPost, "/v1/policy/rollback", req)
}

// DiffPolicy says what the files of a directory would change.
func (c *Client) DiffPolicy(ctx context.Context, req DiffPolicyRequest) (policy.Trial, error) {
	return call[policy.Trial](ctx, c, http.MethodPost, "/v1/policy/diff", req)
}

// ExplainPolicy says what policies decided about a message, and what they would decide now.
func (c *Client) ExplainPolicy(ctx context.Context, req ExplainPolicyRequest) (policy.Explained, error) {
	return call[policy.Explained](ctx, c, http.MethodPost, "/v1/policy/explain", req)
}

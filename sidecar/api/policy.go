package api

import "github.com/tmux-intercom/tmux-intercom/scripting/policy"

// Policy returns the status of the policies.
var Policy = Op[None, policy.Status]{Name: "policy", Door: everybody("see how the policies are", ""), Reads: true, Whole: wholePolicy}

// RollbackPolicy goes back to the policies that were in use before, until the files change. Only a person at a
// terminal may.
var RollbackPolicy = Op[RollbackPolicyRequest, policy.Status]{Name: "policy/rollback", Door: atTerminal("go back to earlier policies", ""), Whole: wholePolicy}

// DiffPolicy says what the policies in a directory would change. Only a person may name a directory other than
// that of their own policies.
var DiffPolicy = Op[DiffPolicyRequest, policy.Trial]{Name: "policy/diff", Door: Door{
	Does: "try policies on what happened", Terminal: Yes, Person: Yes, Agent: Own, Stranger: Own, Note: "nothing comes of it; own: your own files, as they are saved",
}, Check: func(req DiffPolicyRequest) error {
	if req.Dir == "" || req.Dir[0] != '/' {
		return Errorf(CodeUsage, "%q is not the absolute path of a directory", req.Dir)
	}
	return nil
}}

// ExplainPolicy says what the policies decided about a message, and what they would decide now.
var ExplainPolicy = Op[ExplainPolicyRequest, policy.Explained]{Name: "policy/explain", Door: everybody("see what policies say to a message", "nothing comes of it")}

// RollbackPolicyRequest asks for the earlier policies. Unless Sure is set, it has no effect, and the reply is
// the current status.
type RollbackPolicyRequest struct {
	Sure bool `json:"sure,omitempty"` // a person at a terminal has said yes
}

// DiffPolicyRequest asks what other policies would change.
type DiffPolicyRequest struct {
	Dir string `json:"dir"` // absolute; it holds init.lua and policies/
}

// ExplainPolicyRequest asks what the policies say about a message.
type ExplainPolicyRequest struct {
	ID string `json:"id"` // of a message or a delivery, or the end of one
}

func wholePolicy(s policy.Status) policy.Status {
	s.Files, s.Kept = list(s.Files), list(s.Kept)
	return s
}

package api

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// RequestShutdown asks a teammate to end. The teammate may finish its work first, and may refuse. Only the lead
// of its team may ask. It returns as soon as the request is in the teammate's inbox.
var RequestShutdown = Op[ShutdownRequest, HandshakeReply]{Name: "team/shutdown/request", Door: Door{Does: "ask a teammate to end", Terminal: Own, Person: Own, Agent: Own, Stranger: No, Note: "own: the team that it leads"}, Check: func(req ShutdownRequest) error {
	if strings.TrimSpace(req.Teammate) == "" {
		return Errorf(CodeUsage, "name a teammate").WithHint("intercom team list")
	}
	return checkProject(req.Dir)
}}

// AnswerShutdown approves or rejects a request to end. Only the teammate that was asked may answer. After a yes
// its session ends once the reply has gone out.
var AnswerShutdown = Op[ShutdownAnswer, HandshakeReply]{Name: "team/shutdown/answer", Door: Door{Does: "answer a request to end", Terminal: No, Person: No, Agent: Own, Stranger: No, Note: "own: what it was asked"}, Check: func(req ShutdownAnswer) error {
	return checkAnswer(req.RequestID, req.Approve, "reason", req.Reason)
}}

// ShutdownStatus returns what became of a request to end. An unknown id is not an error of the operation: its
// reply says so, in the words of the lesson.
var ShutdownStatus = Op[HandshakeQuery, Tracker]{Name: "team/shutdown/status", Door: everybody("see what became of a request to end", ""), Reads: true, Check: checkQuery}

// SubmitPlan submits a teammate's plan to the lead of its team.
var SubmitPlan = Op[PlanRequest, HandshakeReply]{Name: "team/plan/submit", Door: Door{Does: "submit a plan", Terminal: No, Person: No, Agent: Own, Stranger: No, Note: "own: a teammate, to its lead"}, Check: func(req PlanRequest) error {
	switch {
	case strings.TrimSpace(req.Plan) == "":
		return Errorf(CodeUsage, "the plan is empty")
	case len(req.Plan) > message.MaxBody || !utf8.ValidString(req.Plan):
		return Errorf(CodeUsage, "the plan has more than %d bytes, or is not valid UTF-8", message.MaxBody)
	}
	return checkProject(req.Dir)
}}

// ReviewPlan approves or rejects a plan. Only the lead to whom it was submitted may.
var ReviewPlan = Op[PlanReview, HandshakeReply]{Name: "team/plan/review", Door: Door{Does: "approve or reject a plan", Terminal: Own, Person: Own, Agent: Own, Stranger: No, Note: "own: as the lead to whom it was submitted"}, Check: func(req PlanReview) error {
	return checkAnswer(req.RequestID, req.Approve, "feedback", req.Feedback)
}}

// AwaitPlan returns when a plan is approved, rejected or expired, or when the query's timeout is over. It
// returns the plan's status at that time.
var AwaitPlan = Op[PlanQuery, Tracker]{Name: "team/plan/await", Door: everybody("see what became of a plan", ""), Reads: true, Check: func(q PlanQuery) error {
	if q.Timeout < 0 {
		return Errorf(CodeUsage, "timeout %v: must not be negative", q.Timeout)
	}
	return checkQuery(q.HandshakeQuery)
}}

// PlanGate tells whether the calling session may change something yet. The caller's processes prove which
// session it is; for a caller that is no teammate the gate is open.
var PlanGate = Op[None, Gate]{Name: "team/plan/gate", Door: everybody("ask whether a plan is still to be approved", "never, for a caller that is no teammate")}

// Gate is closed for a teammate that needs an approved plan and has none.
type Gate struct {
	Closed bool   `json:"closed"`
	Plan   string `json:"plan,omitempty"` // if closed: pending, rejected or expired; "" before the first plan
}

// ShutdownRequest names the teammate that is asked to end.
type ShutdownRequest struct {
	// Dir is an absolute path in the project of the team. "" is the caller's team.
	Dir      string `json:"dir,omitempty"`
	Teammate string `json:"teammate"`
}

// ShutdownAnswer is a teammate's yes or no to a request to end.
type ShutdownAnswer struct {
	RequestID string `json:"request_id"`
	Approve   *bool  `json:"approve"`
	Reason    string `json:"reason,omitempty"`
}

// HandshakeQuery names a handshake by its request_id.
type HandshakeQuery struct {
	RequestID string `json:"request_id"`
}

// PlanRequest is a plan for the lead to approve.
type PlanRequest struct {
	Dir  string `json:"dir,omitempty"` // as in ShutdownRequest
	Plan string `json:"plan"`
}

// PlanReview is the lead's yes or no to a plan.
type PlanReview struct {
	RequestID string `json:"request_id"`
	Approve   *bool  `json:"approve"`
	Feedback  string `json:"feedback,omitempty"`
}

// PlanQuery asks what became of a plan.
type PlanQuery struct {
	HandshakeQuery
	Timeout time.Duration `json:"timeout_ns,omitempty"` // 0 waits for nothing
}

// HandshakeReply is the lesson's reply to a step of a handshake.
type HandshakeReply struct {
	RequestID string `json:"request_id"`
	Status    string `json:"status"` // pending, approved or rejected
	Text      string `json:"text"`   // the lesson's own words, shown as they stand
}

// Tracker is a handshake as the lesson keeps it: target and status of a shutdown; from, plan and status of a
// plan. For an unknown id only Error is set: "not found".
type Tracker struct {
	Target   string  `json:"target,omitempty"`
	From     string  `json:"from,omitempty"`
	Plan     *string `json:"plan,omitempty"`
	Status   string  `json:"status,omitempty"`   // pending, approved or rejected
	Expired  bool    `json:"expired,omitempty"`  // it stays pending, and can no longer be answered
	Feedback string  `json:"feedback,omitempty"` // what the lead said about the plan
	Error    string  `json:"error,omitempty"`
}

// checkProject refuses a directory that is not absolute: the sidecar could not find it.
func checkProject(dir string) error {
	if dir != "" && !filepath.IsAbs(dir) {
		return Errorf(CodeUsage, "directory %q: the path must be absolute", dir)
	}
	return nil
}

func checkQuery(q HandshakeQuery) error {
	if q.RequestID == "" {
		return Errorf(CodeUsage, "name a request_id")
	}
	return nil
}

func checkAnswer(id string, approve *bool, what, note string) error {
	switch {
	case id == "":
		return Errorf(CodeUsage, "name a request_id")
	case approve == nil:
		return Errorf(CodeUsage, "approve is missing: say true or false")
	case len(note) > message.MaxBody || !utf8.ValidString(note):
		return Errorf(CodeUsage, "%s", fmt.Sprintf("the %s has more than %d bytes, or is not valid UTF-8", what, message.MaxBody))
	}
	return nil
}

package mcp

import (
	"context"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// The tools of the team lesson. The lesson gives shutdown_response and plan_approval to both roles, for
// different ends: shutdown_response answers with approve, and asks for the status without it; plan_approval
// submits with a plan, and reviews without one. An agent without a named role has both in one tool.

// tools returns the tools of a role.
func tools(role Role) []Tool {
	all := []Tool{
		listSessions, listComputers, startSession, sendMessage, sessionData, stopNotifications, endSession,
		checkMessages, reply, chatStart, chatStop, listChats,
		shutdownRequest, spawnTeammate,
	}
	switch role {
	case Lead:
		return append(all, shutdownStatus, planReview)
	case Teammate:
		return append(all, shutdownResponse, planSubmit)
	}
	return append(all, shutdownEither, planEither)
}

// notTeammate is the roles that may lead.
var notTeammate = []Role{Lead, ""}

type shutdownArguments struct {
	Teammate string `json:"teammate"`
}

var shutdownRequest = From(Tool{
	Name: "shutdown_request", Roles: notTeammate,
	Description: `Request a teammate to shut down gracefully. Returns a request_id; the teammate finishes what it does, and approves or rejects.`,
}, api.RequestShutdown, func(in shutdownArguments) (api.ShutdownRequest, error) {
	return api.ShutdownRequest{Teammate: in.Teammate}, nil
}, words)

type shutdownAnswer struct {
	RequestID string `json:"request_id"`
	Approve   bool   `json:"approve"`
	Reason    string `json:"reason,omitempty"`
}

// shutdownResponse is the teammate's tool, in the lesson's words.
var shutdownResponse = From(Tool{Name: "shutdown_response", Description: "Respond to a shutdown request."}, api.AnswerShutdown,
	func(in shutdownAnswer) (api.ShutdownAnswer, error) {
		return api.ShutdownAnswer{RequestID: in.RequestID, Approve: &in.Approve, Reason: in.Reason}, nil
	}, words)

type requestArguments struct {
	RequestID string `json:"request_id"`
}

// shutdownStatus is the lead's tool.
var shutdownStatus = From(Tool{
	Name: "shutdown_response", Reads: true,
	Description: `Check the status of a shutdown request by its request_id.`,
}, api.ShutdownStatus, func(in requestArguments) (api.HandshakeQuery, error) {
	return api.HandshakeQuery{RequestID: in.RequestID}, nil
}, tracked)

type shutdownEitherArguments struct {
	RequestID string `json:"request_id"`
	Approve   *bool  `json:"approve,omitempty" jsonschema:"your answer; leave it out to check the status of a request of yours"`
	Reason    string `json:"reason,omitempty" jsonschema:"of your answer"`
}

var shutdownEither = Func(Tool{
	Name:        "shutdown_response",
	Description: `Respond to a shutdown request, as a teammate: with approve. Check the status of a shutdown request, as the lead: without.`,
}, func(ctx context.Context, call *Call, in shutdownEitherArguments) (any, error) {
	if in.Approve == nil {
		tracker, err := Ask(ctx, call, api.ShutdownStatus, api.HandshakeQuery{RequestID: in.RequestID})
		if err != nil {
			return nil, err
		}
		return tracked(tracker)
	}
	said, err := Ask(ctx, call, api.AnswerShutdown, api.ShutdownAnswer{RequestID: in.RequestID, Approve: in.Approve, Reason: in.Reason})
	return Text(said.Text), err
})

type planArguments struct {
	Plan string `json:"plan"`
}

// planSubmit is the teammate's tool, in the lesson's words.
var planSubmit = From(Tool{Name: "plan_approval", Description: "Submit a plan for lead approval."}, api.SubmitPlan,
	func(in planArguments) (api.PlanRequest, error) { return api.PlanRequest{Plan: in.Plan}, nil }, words)

type reviewArguments struct {
	RequestID string `json:"request_id"`
	Approve   bool   `json:"approve"`
	Feedback  string `json:"feedback,omitempty"`
}

// planReview is the lead's tool.
var planReview = From(Tool{
	Name:        "plan_approval",
	Description: `Approve or reject a teammate's plan. Provide request_id, approve, and optional feedback.`,
}, api.ReviewPlan, func(in reviewArguments) (api.PlanReview, error) {
	return api.PlanReview{RequestID: in.RequestID, Approve: &in.Approve, Feedback: in.Feedback}, nil
}, words)

type planEitherArguments struct {
	Plan      string `json:"plan,omitempty" jsonschema:"as a teammate: the plan that you submit"`
	RequestID string `json:"request_id,omitempty" jsonschema:"as the lead: of the plan that you review"`
	Approve   *bool  `json:"approve,omitempty" jsonschema:"as the lead: your yes or no"`
	Feedback  string `json:"feedback,omitempty" jsonschema:"as the lead: why, and what to change"`
}

var planEither = Func(Tool{
	Name:        "plan_approval",
	Description: `Submit a plan for lead approval, as a teammate: with plan. Approve or reject a teammate's plan, as the lead: with request_id and approve.`,
}, func(ctx context.Context, call *Call, in planEitherArguments) (any, error) {
	switch {
	case in.Plan != "" && in.RequestID == "" && in.Approve == nil:
		said, err := Ask(ctx, call, api.SubmitPlan, api.PlanRequest{Plan: in.Plan})
		return Text(said.Text), err
	case in.Plan == "" && in.RequestID != "" && in.Approve != nil:
		said, err := Ask(ctx, call, api.ReviewPlan, api.PlanReview{RequestID: in.RequestID, Approve: in.Approve, Feedback: in.Feedback})
		return Text(said.Text), err
	}
	return nil, api.Errorf(api.CodeUsage, "give either a plan, or a request_id and approve")
})

type spawnArguments struct {
	Name        string `json:"name" jsonschema:"what the teammate is called"`
	Role        string `json:"role" jsonschema:"what it is, like frontend dev"`
	Prompt      string `json:"prompt" jsonschema:"its task"`
	Dir         string `json:"project_dir" jsonschema:"absolute path of the team's project"`
	Agent       string `json:"agent,omitempty" jsonschema:"{agents}; else one of your own kind"`
	RequirePlan bool   `json:"require_plan,omitempty" jsonschema:"it is told to change nothing before you have approved a plan of it; an agent with a hook for that is stopped if it tries, where intercom hooks install was run before; others are only told; the reply says which"`
}

var spawnTeammate = From(Tool{
	Name: "spawn_teammate", Roles: notTeammate,
	Description: `Spawn a teammate: an agent in a session of its own that works on its task and reports to you. What your user has not allowed you to start is held for their yes.`,
}, api.SpawnMember, func(in spawnArguments) (api.SpawnRequest, error) {
	return api.SpawnRequest{Dir: in.Dir, Name: in.Name, Role: in.Role, Prompt: in.Prompt, Agent: in.Agent, RequirePlan: in.RequirePlan}, nil
}, func(r api.Spawned) (any, error) {
	if r.Why != "" {
		return struct {
			Status string `json:"status"`
			Why    string `json:"why"`
		}{r.Status, r.Why}, nil
	}
	if r.Note != "" {
		return Text(r.Text + "\n" + r.Note), nil
	}
	return Text(r.Text), nil
})

// words returns the lesson's text for a step.
func words(r api.HandshakeReply) (any, error) { return Text(r.Text), nil }

// tracked returns the state of a handshake. For an unknown handshake that is the lesson's text.
func tracked(t api.Tracker) (any, error) { return t, nil }

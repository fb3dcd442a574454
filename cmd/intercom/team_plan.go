package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

func (a *app) teamPlan() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "plan TEXT",
		Short: "Submit a plan to the lead for approval",
		Long: `Submit a plan to the lead of the team for approval, as one of its teammates,
from its own pane. A plan that was rejected is submitted again, revised, with a
new request_id.`,
		Example: `  intercom team plan '1. read the API; 2. draw the dashboard'
  intercom team plan --file plan.md`,
		Args:        between(0, 1, "a text"),
		Annotations: map[string]string{takesText: "yes"},
	}
	cmd.Flags().StringVar(&file, "file", "", "read the text from `FILE`; - is standard input")
	_ = cmd.MarkFlagFilename("file")
	cmd.RunE = a.onTeam(func(cmd *cobra.Command, args []string) error {
		text, err := a.textOf(cmd.Context(), args, file)
		if err != nil {
			return err
		}
		reply, err := request(cmd.Context(), a.client, api.SubmitPlan, api.PlanRequest{Plan: text})
		return a.replied(reply, err)
	})
	return cmd
}

func (a *app) teamPlanReview() *cobra.Command {
	var said answerFlags
	cmd := &cobra.Command{
		Use:   "plan-review ID --approve|--reject",
		Short: "Approve or reject a plan",
		Long: `Approve or reject a teammate's plan, as the lead to whom it was submitted.
intercom team inbox --peek shows the plans that came. A plan expires when the
session that submitted it ends.`,
		Example: `  intercom team plan-review 1a2b3c4d --approve
  intercom team plan-review 1a2b3c4d --reject --feedback 'Tests first.'`,
		Args: between(1, 1, "a request_id"),
	}
	said.add(cmd, "feedback")
	cmd.RunE = a.onTeam(func(cmd *cobra.Command, args []string) error {
		approve, err := said.approve(cmd)
		if err != nil {
			return err
		}
		reply, err := request(cmd.Context(), a.client, api.ReviewPlan, api.PlanReview{RequestID: args[0], Approve: &approve, Feedback: said.note})
		return a.replied(reply, err)
	})
	return cmd
}

// awaitEvery is how long one request lets the sidecar wait, so that the end of a wait is never far away.
const awaitEvery = 30 * time.Second

func (a *app) teamPlanWait() *cobra.Command {
	var timeout float64
	cmd := &cobra.Command{
		Use:   "plan-wait ID",
		Short: "Wait until a plan is approved or rejected",
		Long: `Wait until a plan is approved or rejected, and print how it stands, with the
feedback to it, as JSON.

Exit codes: 0 approved, 1 rejected or expired, 4 no answer within --timeout.`,
		Example: `  intercom team plan-wait 1a2b3c4d && make`,
		Args:    between(1, 1, "a request_id"),
	}
	cmd.Flags().Float64Var(&timeout, "timeout", 0, "wait up to `SECONDS`; 0 waits forever")
	cmd.RunE = a.onTeam(func(cmd *cobra.Command, args []string) error {
		var end time.Time
		if cmd.Flags().Changed("timeout") {
			d, err := secondsFlag("timeout", timeout)
			if err != nil {
				return err
			}
			if d > 0 {
				end = time.Now().Add(d)
			}
		}
		for {
			wait := awaitEvery
			if !end.IsZero() {
				wait = min(wait, max(time.Until(end), time.Millisecond))
			}
			t, err := inTime(cmd.Context(), wait+replyGrace, a.client, api.AwaitPlan, api.PlanQuery{HandshakeQuery: api.HandshakeQuery{RequestID: args[0]}, Timeout: wait})
			if err != nil {
				return err
			}
			if t.Status == "pending" && !t.Expired {
				if end.IsZero() || time.Now().Before(end) {
					continue
				}
				if err := a.printJSON(t); err != nil {
					return err
				}
				return api.Errorf(api.CodeTimeout, "plan %s still waits for the lead's answer", args[0]).WithHint("intercom team plan-wait %s waits on", args[0])
			}
			if err := a.printJSON(t); err != nil {
				return err
			}
			if t.Status == "approved" {
				return nil
			}
			return exitCode(api.CodeFailed.Exit())
		}
	})
	return cmd
}

package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// endWithin is how long the program of a session may take to end, beside the time for its team.
const endWithin = 25 * time.Second

func (a *app) sessionEnd() *cobra.Command {
	var req api.EndSessionRequest
	cmd := &cobra.Command{
		Use:   "end PEER",
		Short: "End the program of a session",
		Long: `End the program of a session, and return once none of its processes is left. A
member of a team is asked first, and may refuse. Then the agent is told to quit
in its own way, if its composer is live and empty; then its terminal hangs up;
then come SIGTERM and SIGKILL, for the processes that it has started too. A
process that was detached with setsid, and whose parent has ended, is not found.

The pane of a session that was started is closed. Any other pane stays, with the
shell that it had. A program that ran before it was adopted is ended only if you
press y at your terminal; elsewhere that takes --force.`,
		Example: `  intercom session end worker
  intercom session end worker --force`,
		Args: between(1, 1, "a session"),
	}
	var ended api.EndedSession
	run := do(a, func(cmd *cobra.Command, args []string) (_ api.EndedSession, err error) {
		req.Session = args[0]
		if req.Grace < 0 || req.Grace > api.MaxDuration {
			return ended, api.Errorf(api.CodeUsage, "--grace %v: must be from 0 to %v", req.Grace, api.MaxDuration)
		}
		c, err := a.paneClient(cmd.Context(), &req.Session)
		if err != nil {
			return ended, err
		}
		named := req.Session
		if err := a.askBeforeEnd(cmd.Context(), c, &req); err != nil {
			return ended, aboutPane(err, named)
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), max(req.Grace, api.EndGrace)+req.Grace+endWithin)
		defer cancel()
		before := beforeLoss(ctx, c)
		ended, err = api.Call(ctx, c, api.EndSession, req)
		if err == nil {
			a.noteLost(ctx, c, before, ended.Session.ID)
		}
		return ended, aboutPane(err, named)
	}, a.showEnded)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := run(cmd, args); err != nil {
			return err
		}
		if ended.Status == api.EndRejected {
			return api.Errorf(api.CodeRefused, "%s refused to end", ended.Session.Name).WithHint("intercom session end --force %s", ended.Session.Name)
		}
		return nil
	}
	cmd.Flags().BoolVar(&req.Force, "force", false, "do not ask; hang up at once")
	cmd.Flags().DurationVar(&req.Grace, "grace", 0, "time `D` for a member to answer (30s), and for the program to quit (5s)")
	a.completes(cmd, sessionWords)
	return cmd
}

// askBeforeEnd asks a person at a terminal before the end of a program that ran before it was adopted, and tells them
// that a teammate is asked first, which may take a while. It sets req to the session that they were asked about,
// whatever has its name or its pane by the time they answer.
func (a *app) askBeforeEnd(ctx context.Context, c *api.Client, req *api.EndSessionRequest) error {
	if req.Force {
		return nil
	}
	asked, err := quickly(ctx, c, api.EndAsks, *req)
	if err != nil {
		return err // nobody knows whether a yes is needed
	}
	if asked.ID != "" {
		req.Session = string(asked.ID)
	}
	if asked.Found {
		err := a.confirm(ctx, "The program of "+plainLine(asked.Session)+" was running before it was adopted. End it?")
		if errors.Is(err, errUndone) || ctx.Err() != nil {
			return err
		}
		if err != nil { // there is nobody to ask
			return api.Errorf(api.CodeRefused, "the program of %s was running before it was adopted, and only a person at a terminal may end it by a yes", asked.Session).
				WithHint("intercom session end --force %s ends it without asking; intercom release %s leaves it alone", asked.Session, asked.Session)
		}
	}
	if asked.Teammate != "" && a.attended() {
		a.note("%s is a teammate: asking it, and waiting up to %s for its answer (--force asks nobody)", plainLine(asked.Session), message.ShowDuration(asked.Grace))
	}
	return nil
}

func (a *app) showEnded(e api.EndedSession) {
	if e.Status == api.EndDone {
		a.say("%s", plainLine(e.Session.Name+" ended ("+e.How+")"))
		return
	}
	a.say("%s", plainLine(e.Session.Name+" refused to end: "+e.Reason))
}

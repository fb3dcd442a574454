package main

import (
	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// upReply is what `up --json` prints: the status, and whether there was one to start.
type upReply struct {
	StartedNow bool `json:"started_now"`
	api.Status
}

func (a *app) up() *cobra.Command {
	return &cobra.Command{
		Use:   "up",
		Short: "Start the sidecar of this tmux server, if it does not run",
		Long: `Start the sidecar of this tmux server, if it does not run. Every command that
needs it does the same, so this is for seeing that it works.`,
		Example: `  intercom up`,
		Args:    between(0, 0, "no arguments"),
		RunE: do(a, func(cmd *cobra.Command, _ []string) (upReply, error) {
			ctx := cmd.Context()
			c, started, err := a.ensure(ctx)
			if err != nil {
				return upReply{}, err
			}
			ctx, cancel := within(ctx)
			defer cancel()
			status, err := c.Status(ctx)
			return upReply{started, status}, err
		}, func(r upReply) {
			word := "runs already"
			if r.StartedNow {
				word = "started"
			}
			a.say("sidecar %s: pid %d, for %s", word, r.PID, serverName(r.Server))
		}),
	}
}

func serverName(server string) string {
	if server == "" {
		return "headless use (no tmux server)"
	}
	return plainLine(server)
}

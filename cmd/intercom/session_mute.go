package main

import (
	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

func (a *app) sessionMute() *cobra.Command {
	var req api.StopNoticesRequest
	cmd := &cobra.Command{
		Use:   "mute PEER",
		Short: "Stop the notices about a session",
		Long: `Stop the notices about a session: that a turn of it has ended, that it has ended
itself, and the checks whether it is still working. The session goes on working.
A message sent to it later starts the notices again.

An agent stops its own. You say whose with --for; intercom session list names
the subscribers of each session.`,
		Example: `  intercom session mute worker --for claude`,
		Args:    between(1, 1, "a session"),
	}
	cmd.RunE = do(a, func(cmd *cobra.Command, args []string) (api.StoppedNotices, error) {
		req.Session = args[0]
		if err := checkWord(cmd, "for"); err != nil {
			return api.StoppedNotices{}, err
		}
		c, err := a.paneClient(cmd.Context(), &req.Session)
		if err != nil {
			return api.StoppedNotices{}, err
		}
		return quickly(cmd.Context(), c, api.StopNotices, req)
	}, func(s api.StoppedNotices) {
		a.say("%s", plainLine("no more notices about "+s.Session.Name))
	})
	cmd.Flags().StringVar(&req.Caller, "for", "", "`PEER` that gets no more notices")
	a.completes(cmd, sessionWords)
	return cmd
}

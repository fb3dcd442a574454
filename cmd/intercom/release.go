package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func (a *app) release() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "release PANE",
		Short: "Stop reading from and typing into a pane",
		Long: `Stop reading from and typing into a pane. Its program is left alone; a chat it
was in goes on without it, or ends if fewer than two panes are left. PANE is the
id of the pane or the name of its session.`,
		Example: `  intercom release %1`,
		Args:    between(1, 1, "a pane"),
		RunE: do(a, func(cmd *cobra.Command, args []string) (message.Peer, error) {
			c, err := a.paneClient(cmd.Context(), &args[0])
			if err != nil {
				return message.Peer{}, err
			}
			waited := waiting(cmd.Context(), c)
			s, err := quickly(cmd.Context(), c, api.Release, api.ReleaseRequest{Pane: args[0]})
			if err == nil {
				a.noteUndelivered(cmd.Context(), c, waited)
			}
			if told, ok := errors.AsType[*api.Error](aboutPane(err, args[0])); ok && told.Code == api.CodeNotFound {
				return s, told.WithHint("intercom status lists the adopted panes")
			}
			return s, err
		}, func(s message.Peer) {
			a.say("released %s (%s)", plainLine(s.Pane), plainLine(s.Name))
		}),
	}
	a.completes(cmd, sessionWords)
	return cmd
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func (a *app) rename() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "name PANE NAME",
		Short: "Rename an adopted pane",
		Long: `Rename an adopted pane. The others see the name before its words: 1 to 64 of
A-Z a-z 0-9 . _ - which no other pane has, and which does not sign your own
words. PANE is the id of the pane or its current name. Only a person may: your
policies go by names.`,
		Example: `  intercom name %1 alice`,
		Args:    between(2, 2, "a pane and a name"),
		RunE: do(a, func(cmd *cobra.Command, args []string) (message.Peer, error) {
			if err := checkName(args[1]); err != nil {
				return message.Peer{}, err
			}
			c, err := a.paneClient(cmd.Context(), &args[0])
			if err != nil {
				return message.Peer{}, err
			}
			s, err := quickly(cmd.Context(), c, api.Rename, api.RenameRequest{Pane: args[0], Name: args[1]})
			return s, aboutPane(err, args[0])
		}, func(s message.Peer) {
			a.say("%s is %s", plainLine(s.Pane), plainLine(s.Name))
		}),
	}
	a.completes(cmd, sessionWords)
	return cmd
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func (a *app) rename() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "name PANE NAME",
		Short: "Give an adopted pane another name",
		Long: `Give an adopted pane another name, which is what the others see before its words:
1 to 64 of A-Z a-z 0-9 . _ - that no other pane has. PANE is the id of the pane
or its present name.`,
		Example: `  intercom name %1 alice`,
		Args:    between(2, 2, "a pane and a name"),
		RunE: do(a, func(cmd *cobra.Command, args []string) (message.Session, error) {
			c, err := a.tmuxClient(cmd.Context())
			if err != nil {
				return message.Session{}, err
			}
			ctx, cancel := within(cmd.Context())
			defer cancel()
			return c.Rename(ctx, api.RenameRequest{Pane: args[0], Name: args[1]})
		}, func(s message.Session) {
			a.say("%s is %s", plainLine(s.Pane), plainLine(s.Name))
		}),
	}
	a.completes(cmd, sessionWords)
	return cmd
}

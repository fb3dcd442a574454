package main

import (
	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func (a *app) chatList() *cobra.Command {
	var ended bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the chats that go on",
		Example: `  intercom chat list --ended`,
		Args:    between(0, 0, "no arguments"),
		RunE: do(a, func(cmd *cobra.Command, _ []string) ([]message.Chat, error) {
			c, err := a.tmuxClient(cmd.Context())
			if err != nil {
				return nil, err
			}
			ctx, cancel := within(cmd.Context())
			defer cancel()
			return c.Chats(ctx, ended)
		}, a.showChats),
	}
	cmd.Flags().BoolVar(&ended, "ended", false, "list those that have ended instead")
	a.completes(cmd)
	return cmd
}

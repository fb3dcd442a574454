package main

import (
	"github.com/spf13/cobra"
)

func (a *app) demo() *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch two programs in two panes talk to each other",
		Long: `Watch two scripted programs talk to each other, in two panes of a private tmux
server, through a sidecar of their own. This needs no account and no network,
ends after a few turns, and leaves nothing behind. The exit code is 0 only if
each received the other's words.`,
		Example: `  intercom demo`,
		Args:    between(0, 0, "no arguments"),
		RunE: do(a, func(cmd *cobra.Command, _ []string) (demoResult, error) {
			return a.playDemo(cmd.Context(), keep)
		}, func(demoResult) {}),
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the server running, and print how to look at it")
	a.completes(cmd)
	return cmd
}

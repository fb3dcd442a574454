package main

import (
	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

func (a *app) chatSay() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "say CHAT TEXT",
		Short: "Say something to all in a chat",
		Long: `Say something to all in a chat, as yourself. Your words always pass the limits
of the chat, and its depth begins again at 0. In a chat that is paused they wait
until it is resumed. Text that begins with - goes after --.`,
		Example:     `  intercom chat say plans 'Agree on one plan, then stop.'`,
		Args:        between(2, 2, "a chat and a text"),
		Annotations: map[string]string{takesText: "yes"},
		RunE: do(a, func(cmd *cobra.Command, args []string) (api.Said, error) {
			if err := checkText(args[1]); err != nil {
				return api.Said{}, err
			}
			c, err := a.tmuxClient(cmd.Context())
			if err != nil {
				return api.Said{}, err
			}
			ctx, cancel := within(cmd.Context())
			defer cancel()
			return c.Say(ctx, api.SayRequest{Chat: args[0], Text: args[1]})
		}, func(s api.Said) {
			a.say("%s queued for %d", s.Message, len(s.Deliveries))
		}),
	}
	a.completes(cmd, chatWords)
	return cmd
}

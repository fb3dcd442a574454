package main

import (
	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func (a *app) chatSay() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "say CHAT TEXT",
		Short: "Say something to everyone in a chat",
		Long: `Say something to everyone in a chat, as yourself. Your words are not subject to
the limits of the chat, and reset its depth to 0. In a paused chat they wait
until it is resumed, and the exit code is 5; it is 1 if nobody gets them. If the
chat stands at a limit you are asked whether to resume it; y does, and sends
your text with the rest. Text that begins with - goes after --, as the last
argument.`,
		Example:     `  intercom chat say plans 'Agree on one plan, then stop.'`,
		Args:        between(2, 2, "a chat and a text"),
		Annotations: map[string]string{takesText: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			var said api.Said
			err := do(a, func(cmd *cobra.Command, args []string) (api.Said, error) {
				if err := checkText(args[1]); err != nil {
					return api.Said{}, err
				}
				var err error
				said, err = request(cmd.Context(), a.tmuxClient, api.Say, api.SayRequest{Chat: args[0], Text: args[1]})
				if err == nil && said.Braked && !a.json {
					chats, err := a.resume(cmd.Context(), api.ChatRef{Chat: args[0]})
					if err == nil && len(chats) > 0 {
						said.Held, said.Braked = "", false
					}
				}
				return said, aboutChat(err, args[0])
			}, func(s api.Said) {
				switch {
				case s.Failed != "":
					a.say("%s failed for %d: %s", s.Message, len(s.Deliveries), plainLine(string(s.Failed)))
				case s.Held != "":
					a.say("%s held for %d: %s", s.Message, len(s.Deliveries), plainLine(string(s.Held)))
				default:
					a.say("%s queued for %d", s.Message, len(s.Deliveries))
				}
			})(cmd, args)
			switch {
			case err != nil:
				return err
			case said.Failed != "":
				return api.Errorf(api.CodeFailed, "failed: %s", said.Failed).WithHint("intercom log %s shows each step", said.Message.Short())
			case said.Held == "":
				return nil
			}
			told := api.Errorf(api.CodeHeld, "held: %s", said.Held)
			switch {
			case said.Awaits:
				return told.WithHint("intercom inbox approve %s", said.Message.Short())
			case said.Held == message.Stopped:
				return told.WithHint("%s", resumeAll)
			}
			return told.WithHint("intercom chat resume %s", args[0])
		},
	}
	a.completes(cmd, chatWords)
	return cmd
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func (a *app) chatAdd() *cobra.Command {
	var req api.MemberRequest
	cmd := a.changeMember(api.AddMember, &req, "with", &cobra.Command{
		Use:   "add CHAT PANE",
		Short: "Bring an adopted pane into a chat that goes on",
		Long: `Bring an adopted pane into a chat that goes on. It gets the next number, and
hears what is said from then on; what it showed before stays its own.`,
		Example: `  intercom chat add plans carol --role critic`,
	})
	cmd.Flags().StringVar(&req.Role, "role", "", "`ROLE` of it in the chat, in a word or a few")
	return cmd
}

func (a *app) chatRemove() *cobra.Command {
	var req api.MemberRequest
	return a.changeMember(api.RemoveMember, &req, "without", &cobra.Command{
		Use:   "remove CHAT PANE",
		Short: "Take a pane out of a chat",
		Long: `Take a pane out of a chat. It stays adopted; what was not typed into it yet is
not typed any more. A chat of which fewer than two are left ends.`,
		Example: `  intercom chat remove plans carol`,
	})
}

func (a *app) chatMute() *cobra.Command {
	var req api.MemberRequest
	cmd := a.changeMember(api.MuteMember, &req, "", &cobra.Command{
		Use:   "mute CHAT PANE",
		Short: "Keep what a pane says from the others",
		Long: `Keep what a pane says from the others in its chat, until --off. It goes on
hearing them; what it says meanwhile is not said later.`,
		Example: `  intercom chat mute plans carol
  intercom chat mute plans carol --off`,
	})
	cmd.Flags().BoolVar(&req.Off, "off", false, "let it be heard again")
	return cmd
}

// changeMember completes a command about one participant of one chat.
func (a *app) changeMember(change api.Op[api.MemberRequest, message.Chat], req *api.MemberRequest, word string, cmd *cobra.Command) *cobra.Command {
	cmd.Args = between(2, 2, "a chat and a pane")
	cmd.RunE = do(a, func(cmd *cobra.Command, args []string) (message.Chat, error) {
		req.Chat, req.Pane = args[0], args[1]
		if err := api.CheckRole(req.Role); err != nil {
			return message.Chat{}, err
		}
		c, err := a.paneClient(cmd.Context(), &req.Pane)
		if err != nil {
			return message.Chat{}, err
		}
		chat, err := quickly(cmd.Context(), c, change, *req)
		return chat, aboutMember(err, req.Chat, req.Pane)
	}, func(c message.Chat) {
		if word != "" {
			word = ", " + word + " " + plainLine(req.Pane)
		}
		a.say("chat %s %s%s: %s", chatName(c), stateOf(c), word, plainLine(participants(c)))
	})
	who := sessionWords
	if cmd.Name() != "add" {
		who = memberWords
	}
	a.completes(cmd, chatWords, who)
	return cmd
}

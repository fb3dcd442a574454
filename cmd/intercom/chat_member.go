package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func (a *app) chatAdd() *cobra.Command {
	var req api.MemberRequest
	cmd := a.changeMember(oneChange(api.AddMember), &req, "with", &cobra.Command{
		Use:   "add CHAT PANE",
		Short: "Add an adopted pane to a running chat",
		Long: `Add an adopted pane to a running chat. It gets the next number and hears what is
said from then on; what it showed before is not passed on.`,
		Example: `  intercom chat add plans carol --role critic`,
	})
	cmd.Flags().StringVar(&req.Role, "role", "", "its `ROLE` in the chat, in a few words")
	return cmd
}

func (a *app) chatRemove() *cobra.Command {
	var req api.MemberRequest
	remove := func(ctx context.Context, c *api.Client, req api.MemberRequest) (message.Chat, error) {
		since := logged(ctx, c)
		chat, err := quickly(ctx, c, api.RemoveMember, req)
		if err == nil {
			a.noteUndelivered(ctx, c, since, inChats([]message.Chat{chat}))
			a.noteUnsentOf(ctx, c, chat)
		}
		return chat, err
	}
	return a.changeMember(remove, &req, "without", &cobra.Command{
		Use:   "remove CHAT PANE",
		Short: "Remove a pane from a chat",
		Long: `Remove a pane from a chat. It stays adopted, but messages that have not been
typed into it yet will not be. A chat with fewer than two panes left ends.`,
		Example: `  intercom chat remove plans carol`,
	})
}

func (a *app) chatMute() *cobra.Command {
	var req api.MemberRequest
	cmd := a.changeMember(oneChange(api.MuteMember), &req, "", &cobra.Command{
		Use:   "mute CHAT PANE",
		Short: "Stop passing on what a pane says",
		Long: `Stop passing on what a pane says in its chat, until --off. It still hears the
others; what it says while muted is not passed on later.`,
		Example: `  intercom chat mute plans carol
  intercom chat mute plans carol --off`,
	})
	cmd.Flags().BoolVar(&req.Off, "off", false, "unmute it")
	return cmd
}

// changingMember changes one participant of one chat.
type changingMember func(context.Context, *api.Client, api.MemberRequest) (message.Chat, error)

// oneChange returns a changingMember that makes the change in the sidecar, and nothing else.
func oneChange(change api.Op[api.MemberRequest, message.Chat]) changingMember {
	return func(ctx context.Context, c *api.Client, req api.MemberRequest) (message.Chat, error) {
		return quickly(ctx, c, change, req)
	}
}

// changeMember completes a command about one participant of one chat.
func (a *app) changeMember(change changingMember, req *api.MemberRequest, word string, cmd *cobra.Command) *cobra.Command {
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
		chat, err := change(cmd.Context(), c, *req)
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

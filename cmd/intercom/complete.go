package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// completionTimeout is how long a person who presses Tab waits at most.
const completionTimeout = 500 * time.Millisecond

// words asks the sidecar for the possible values of an argument; before are the arguments before it.
type words func(ctx context.Context, c *api.Client, before []string) ([]cobra.Completion, error)

// completes lets the shell complete the arguments of cmd, each with the words in its place of asks. An argument without
// words is completed with nothing, since no argument is a file name. If the command takes any number of the same, the
// last words also serve all further arguments.
func (a *app) completes(cmd *cobra.Command, asks ...words) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		place := len(args)
		if cmd.Annotations[takesMany] != "" {
			place = min(place, len(asks)-1)
		}
		if place >= len(asks) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.complete(cmd, asks[place], args), cobra.ShellCompDirectiveNoFileComp
	}
}

// completesFlag is completes for the value of a flag.
func (a *app) completesFlag(cmd *cobra.Command, flag string, ask words) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp
		found := a.complete(cmd, ask, args)
		if len(found) > 0 && strings.Contains(found[0], "=") {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return found, directive
	})
}

// complete asks the sidecar for words. It starts no sidecar, and reports no error.
func (a *app) complete(cmd *cobra.Command, ask words, before []string) []cobra.Completion {
	a.named = cmd.Flags().Changed("server")
	ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
	defer cancel()
	c, _, running, err := a.running(ctx)
	if err != nil || !running {
		return nil
	}
	found, err := ask(ctx, c, before)
	if err != nil {
		return nil
	}
	return found
}

// takesMany marks a command that takes any number of arguments of the same kind.
const takesMany = "takes-many"

// sessionWords returns the names and panes of the sessions.
func sessionWords(ctx context.Context, c *api.Client, _ []string) ([]cobra.Completion, error) {
	sessions, err := api.Call(ctx, c, api.Sessions, api.None{})
	found := []cobra.Completion{}
	for _, s := range sessions {
		found = append(found,
			cobra.CompletionWithDesc(plainLine(s.Name), plainLine(s.Pane+" "+s.Foreground.Name)),
			cobra.CompletionWithDesc(plainLine(s.Pane), plainLine(s.Name)))
	}
	return found, err
}

// memberWords returns the names of the participants of the chat that is the first argument.
func memberWords(ctx context.Context, c *api.Client, before []string) ([]cobra.Completion, error) {
	chat, err := api.Call(ctx, c, api.ShowChat, api.ChatQuery{Chat: before[0]})
	found := []cobra.Completion{}
	for _, p := range chat.Participants {
		if !p.Left {
			found = append(found, cobra.CompletionWithDesc(plainLine(p.Name), plainLine(fmt.Sprintf("(%d) %s", p.Number, p.Role))))
		}
	}
	return found, err
}

// roleWords returns the beginnings of roles: the names and panes of the sessions, with =.
func roleWords(ctx context.Context, c *api.Client, _ []string) ([]cobra.Completion, error) {
	sessions, err := api.Call(ctx, c, api.Sessions, api.None{})
	found := []cobra.Completion{}
	for _, s := range sessions {
		found = append(found, cobra.CompletionWithDesc(plainLine(s.Name)+"=", plainLine(s.Pane)), plainLine(s.Pane)+"=")
	}
	return found, err
}

// completeSetting completes the keys of settings, and the values of those that have few.
func completeSetting(_ *cobra.Command, _ []string, part string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const nothing = cobra.ShellCompDirectiveNoFileComp
	found := []cobra.Completion{}
	key, _, valued := strings.Cut(part, "=")
	for _, s := range api.Settings {
		switch {
		case !valued:
			found = append(found, cobra.CompletionWithDesc(s.Key+"=", s.Means))
		case s.Key == key:
			for _, v := range s.Values() {
				found = append(found, key+"="+v)
			}
		}
	}
	if valued {
		return found, nothing
	}
	return found, nothing | cobra.ShellCompDirectiveNoSpace
}

// chatWords returns the names, or else the short ids, of the running chats.
func chatWords(ctx context.Context, c *api.Client, _ []string) ([]cobra.Completion, error) {
	return wordsOf(api.Call(ctx, c, api.Chats, api.ChatsQuery{}))
}

// endedChatWords is chatWords for the chats that have ended.
func endedChatWords(ctx context.Context, c *api.Client, _ []string) ([]cobra.Completion, error) {
	return wordsOf(api.Call(ctx, c, api.Chats, api.ChatsQuery{Ended: true}))
}

// anyChatWords is chatWords for all chats, the ended ones last.
func anyChatWords(ctx context.Context, c *api.Client, _ []string) ([]cobra.Completion, error) {
	on, err := wordsOf(api.Call(ctx, c, api.Chats, api.ChatsQuery{}))
	if err != nil {
		return on, err
	}
	ended, err := wordsOf(api.Call(ctx, c, api.Chats, api.ChatsQuery{Ended: true}))
	return append(on, ended...), err
}

func wordsOf(chats []message.Chat, err error) ([]cobra.Completion, error) {
	found := []cobra.Completion{}
	for _, chat := range chats {
		about := participants(chat)
		if chat.Ended != nil {
			about = "ended " + day(*chat.Ended) + ", " + about
		}
		found = append(found, cobra.CompletionWithDesc(plainLine(cmp.Or(chat.Name, chat.ID.Short())), plainLine(about)))
	}
	return found, err
}

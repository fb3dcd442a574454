package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// completionTimeout is what a person who presses Tab waits at most.
const completionTimeout = 500 * time.Millisecond

// words asks the sidecar for what an argument may be.
type words func(ctx context.Context, c *api.Client) ([]cobra.Completion, error)

// completes lets the shell complete the arguments of cmd with words, or with nothing at
// all: none of them is the name of a file. It starts no sidecar and complains of nothing.
func (a *app) completes(cmd *cobra.Command, ask words) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const nothing = cobra.ShellCompDirectiveNoFileComp
		// Of most commands only the first argument is one of ours; those that take more say so.
		if ask == nil || (len(args) > 0 && cmd.Annotations[takesMany] == "") {
			return nil, nothing
		}
		a.named = cmd.Flags().Changed("server")
		ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
		defer cancel()
		c, _, running, err := a.running(ctx)
		if err != nil || !running {
			return nil, nothing
		}
		found, err := ask(ctx, c)
		if err != nil {
			return nil, nothing
		}
		return found, nothing
	}
}

// takesMany marks a command that takes any number of the same.
const takesMany = "takes-many"

// sessionWords are the names and panes of the sessions.
func sessionWords(ctx context.Context, c *api.Client) ([]cobra.Completion, error) {
	sessions, err := c.Sessions(ctx)
	found := []cobra.Completion{}
	for _, s := range sessions {
		found = append(found,
			cobra.CompletionWithDesc(plainLine(s.Name), plainLine(s.Pane+" "+s.Foreground.Name)),
			cobra.CompletionWithDesc(plainLine(s.Pane), plainLine(s.Name)))
	}
	return found, err
}

// chatWords are the names and short ids of the chats that go on.
func chatWords(ctx context.Context, c *api.Client) ([]cobra.Completion, error) {
	chats, err := c.Chats(ctx, false)
	found := []cobra.Completion{}
	for _, chat := range chats {
		if chat.Name != "" {
			found = append(found, cobra.CompletionWithDesc(plainLine(chat.Name), plainLine(participants(chat))))
			continue
		}
		found = append(found, cobra.CompletionWithDesc(chat.ID.Short(), plainLine(participants(chat))))
	}
	return found, err
}

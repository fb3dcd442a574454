package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

const (
	manyChats  = 20 // chats whose log the list reads
	lastEvents = 10 // events of a chat that include its last receipt
)

func (a *app) chatList() *cobra.Command {
	var ended, stopped bool
	var expired []string
	var back []api.Returned
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List running chats",
		Example: `  intercom chat list --ended`,
		Args:    between(0, 0, "no arguments"),
		RunE: do(a, func(cmd *cobra.Command, _ []string) ([]message.Chat, error) {
			c, err := a.tmuxClient(cmd.Context())
			if err != nil {
				return nil, err
			}
			ctx, cancel := within(cmd.Context())
			defer cancel()
			if status, err := api.Call(ctx, c, api.ShowStatus, api.None{}); err == nil {
				a.noteVersion(status.Version)
				stopped = status.Stopped && !ended
				back = slices.DeleteFunc(status.Returned, func(r api.Returned) bool { return (r.State == message.ChatOver) != ended })
			}
			chats, err := api.Call(ctx, c, api.Chats, api.ChatsQuery{Ended: ended})
			if err == nil && !a.json && !ended {
				for _, chat := range chats[:min(len(chats), manyChats)] {
					events, err := api.Call(ctx, c, api.Log, api.LogQuery{Chat: string(chat.ID), Limit: lastEvents})
					if told := lastExpiry(events); err == nil && told != "" {
						expired = append(expired, chatName(chat)+": "+told)
					}
				}
			}
			return chats, err
		}, func(chats []message.Chat) {
			a.showChats(chats, stopped)
			a.showReturned(back)
			for _, line := range expired {
				a.say("%s", plainLine(line))
			}
			if stopped {
				a.sayStopped()
			}
		}),
	}
	cmd.Flags().BoolVar(&ended, "ended", false, "list ended chats instead")
	a.completes(cmd)
	return cmd
}

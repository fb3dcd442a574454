package main

import (
	"context"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// noteUnsent names the panes in whose composer our text stands that a stop or a pause of these chats keeps from its Enter, and
// says what sends it. Only a person may look at them: to an agent that stops its own chat nothing is said.
func (a *app) noteUnsent(ctx context.Context, c *api.Client, chats []message.Chat, sends func(message.Chat) string) {
	ctx, cancel := within(ctx)
	defer cancel()
	for _, chat := range chats {
		for _, p := range chat.Participants {
			if p.Left {
				continue
			}
			e, err := api.Call(ctx, c, api.Explain, api.ExplainRequest{Pane: string(p.Peer)})
			if err != nil || !slices.ContainsFunc(e.Unsent, func(d message.ID) bool { return isOf(ctx, c, d, chat.ID) }) {
				continue
			}
			a.note("our text stands in the composer of %s (%s), without its Enter: %s", p.Name, e.Pane, sends(chat))
		}
	}
}

// isOf reports whether a delivery is one of a chat, by the log.
func isOf(ctx context.Context, c *api.Client, delivery, chat message.ID) bool {
	events, err := api.Call(ctx, c, api.Log, api.LogQuery{ID: string(delivery)})
	return err == nil && slices.ContainsFunc(events, func(e message.Event) bool { return e.Chat == chat })
}

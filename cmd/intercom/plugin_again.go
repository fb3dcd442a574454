package main

import (
	"context"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// takeUp restores a chat whose agents ended and are back: the latest of the presser's pane, else the latest of all.
func (a *app) takeUp(ctx context.Context, o origin) (string, error) {
	c, status, err := a.sidecarOf(ctx)
	if err != nil {
		return "", err
	}
	back := status.Returned
	if len(back) == 0 {
		return "", api.Errorf(api.CodeNotFound, "no agent that left a chat is back in its pane").
			WithHint("intercom chat list --ended")
	}
	chosen := back[len(back)-1]
	for _, one := range slices.Backward(back) {
		if slices.Contains(one.Panes, o.Pane) {
			chosen = one
			break
		}
	}
	asking, cancel := context.WithTimeout(ctx, beginWithin)
	defer cancel()
	chat, err := api.Call(asking, c, api.StartChat, api.StartChatRequest{Again: string(chosen.Chat)})
	if err != nil {
		return "", a.aboutStart(ctx, err)
	}
	text := met(chat) + ": on again; the next answer goes across"
	if key := a.menuKey(ctx); key != "" {
		text += "\n" + key + ", s says a line"
	}
	return text, nil
}

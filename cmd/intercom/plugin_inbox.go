package main

import (
	"context"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// inboxPage shows what is held, and takes a person's decision about what waits for one: about
// the oldest first, which is shown whole before.
func (a *app) inboxPage(ctx context.Context, _ origin) (string, error) {
	k, err := a.openKeyboard()
	if err != nil {
		return "", err
	}
	defer k.close()
	for {
		key := k.page(ctx, sheet{
			title: "inbox list", help: "a approves, x rejects the oldest message awaiting approval, q closes, r refreshes",
			render: func(width int) string { return a.inside(ctx, width, "inbox", "list") }, keys: []string{"a", "x"},
		})
		choice, ok := map[string]api.Choice{"a": api.ChoiceApprove, "x": api.ChoiceReject}[key]
		if !ok {
			return "", nil
		}
		if err := a.decideHere(ctx, k, choice); err != nil {
			return "", err
		}
	}
}

// decideHere asks for a person's yes in a popup: y, pressed when all of the message was seen.
func (a *app) decideHere(ctx context.Context, k *keyboard, choice api.Choice) error {
	c, err := a.tmuxClient(ctx)
	if err != nil {
		return err
	}
	all, err := api.Call(ctx, c, api.Inbox, api.None{})
	if err != nil {
		return err
	}
	var d api.Decided
	req := api.DecideRequest{Choice: choice}
	if i := slices.IndexFunc(all, func(h api.Held) bool { return h.Decision }); i >= 0 {
		req.ID = string(all[i].Message)
		if d, err = api.Call(ctx, c, api.Decide, req); err != nil {
			return err
		}
	}
	if len(d.Waiting) == 0 { // or not any more
		k.page(ctx, sheet{title: string(choice), help: "q: back", render: func(int) string { return "nothing is awaiting approval" }})
		return nil
	}
	k.forget()
	asked := sheet{
		title: string(choice), help: "at its end y: yes, q: no", render: func(int) string { return decisionAsked(req, d) },
		keys: []string{"y"}, whole: true,
	}
	if k.page(ctx, asked) != "y" {
		return nil
	}
	req.Sure = true
	_, err = api.Call(ctx, c, api.Decide, req)
	return err
}

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
		help := "a approves, x rejects what waits for your yes, the oldest first, q closes, r looks again"
		key := k.page(ctx, "inbox list", help, func() string { return a.inside(ctx, "inbox", "list") }, "a", "x")
		choice, ok := map[string]api.Choice{"a": api.ChoiceApprove, "x": api.ChoiceReject}[key]
		if !ok {
			return "", nil
		}
		if err := a.decideHere(ctx, k, choice); err != nil {
			return "", err
		}
	}
}

// decideHere asks for a person's yes in a popup: y, pressed when the message is seen.
func (a *app) decideHere(ctx context.Context, k *keyboard, choice api.Choice) error {
	c, err := a.tmuxClient(ctx)
	if err != nil {
		return err
	}
	all, err := c.Inbox(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(h api.Held) bool { return h.Decision })
	if i < 0 {
		return nil
	}
	req := api.DecideRequest{ID: string(all[i].Message), Choice: choice}
	d, err := c.Decide(ctx, req)
	if err != nil || d.Already || len(d.Waiting) == 0 {
		return err
	}
	k.forget()
	if k.page(ctx, string(choice), "y: yes, q: no", func() string { return decisionAsked(req, d) }, "y") != "y" {
		return nil
	}
	req.Sure = true
	_, err = c.Decide(ctx, req)
	return err
}

package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

// aeaResumed is what `aea resume` prints.
type aeaResumed struct {
	Resumed int `json:"resumed"` // messages and answers of repositories that go on
}

func (a *app) aeaResume() *cobra.Command {
	return &cobra.Command{
		Use:   "resume",
		Short: "Let messages go on that are held at a limit",
		Long: `Let messages and answers of repositories go on that are held: after twenty
turns of agents among themselves, or more messages than one gets in a minute,
until a person says so. You are asked first, and only y at your terminal means
yes. That counts as a message from you: depth, rate and bytes start again
from 0.

It is intercom chat resume --all at each of your sidecars that holds such
messages, and so lets everything else go on there too.`,
		Example: `  intercom aea resume`,
		Args:    between(0, 0, "no arguments"),
		RunE: tells(a, func(cmd *cobra.Command, _ []string) (aeaResumed, error) {
			return a.resumeRepositories(cmd.Context())
		}, a.showResumed),
	}
}

// resumeRepositories lets the messages and answers of repositories go on that sidecars hold.
func (a *app) resumeRepositories(ctx context.Context) (r aeaResumed, err error) {
	clients, err := a.sidecars(ctx)
	if err != nil {
		return r, err
	}
	for _, c := range clients {
		n, err := heldOfRepositories(ctx, c)
		if err != nil {
			return r, err
		}
		if n == 0 {
			continue
		}
		here := func(context.Context) (*api.Client, error) { return c, nil }
		if _, _, err := a.resumeAt(ctx, here, api.ChatRef{All: true}); err != nil {
			return r, err
		}
		r.Resumed += n
	}
	return r, nil
}

// heldOfRepositories counts the messages that came as files, and the answers to such messages, that go on only once a
// person says so.
func heldOfRepositories(ctx context.Context, c *api.Client) (n int, err error) {
	held, err := quickly(ctx, c, api.Inbox, api.None{})
	if err != nil {
		return 0, err
	}
	for _, h := range held {
		if (h.Hold == message.HoldLimit || h.Hold == message.HoldPause) && repository.About(h.Envelope) {
			n++
		}
	}
	return n, nil
}

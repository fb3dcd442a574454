package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func (a *app) release() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "release PANE",
		Short: "Stop reading from and typing into a pane",
		Long: `Stop reading from and typing into a pane. Its program is left alone; a chat it
was in goes on without it, or ends if fewer than two panes are left. PANE is the
id of the pane or the name of its session.

Messages that wait for it are not delivered, also once it is adopted again. At a
terminal you are asked before, if there are any, or if a chat would end.`,
		Example: `  intercom release %1`,
		Args:    between(1, 1, "a pane"),
		RunE: do(a, func(cmd *cobra.Command, args []string) (message.Peer, error) {
			ctx := cmd.Context()
			c, err := a.paneClient(ctx, &args[0])
			if err != nil {
				return message.Peer{}, err
			}
			pane := args[0]
			if !force {
				if pane, err = a.askBeforeRelease(ctx, c, pane); err != nil {
					return message.Peer{}, aboutPane(err, args[0])
				}
			}
			before := beforeLoss(ctx, c)
			shown, _ := quickly(ctx, c, api.Explain, api.ExplainRequest{Pane: pane}) // afterwards nobody can tell
			s, err := quickly(ctx, c, api.Release, api.ReleaseRequest{Pane: pane})
			if err == nil {
				a.noteLost(ctx, c, before, s.ID)
				if left := leftUnsent(ctx, c, s, shown.Unsent); left != "" {
					a.note("%s", left)
				}
			}
			if told, ok := errors.AsType[*api.Error](aboutPane(err, args[0])); ok && told.Code == api.CodeNotFound {
				return s, told.WithHint("intercom status lists the adopted panes")
			}
			return s, err
		}, func(s message.Peer) {
			a.say("released %s (%s)", plainLine(s.Pane), plainLine(s.Name))
		}),
	}
	cmd.Flags().BoolVar(&force, "force", false, "do not ask, whatever is lost")
	a.completes(cmd, sessionWords)
	return cmd
}

// askBeforeRelease asks a person at a terminal before a release loses something. It returns the session to release: the
// one that the person was asked about, whatever has its name or its pane by the time they answer.
func (a *app) askBeforeRelease(ctx context.Context, c *api.Client, pane string) (string, error) {
	would, err := mayRelease(ctx, c, pane)
	if err != nil || would.ID == "" {
		return pane, err
	}
	return string(would.ID), a.askBeforeLoss(ctx, would, "Release "+would.Pane+" ("+would.Name+")?")
}

package main

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// unfitWithin is how long it may take to find out whether the panes of a window can chat. The keys of the client wait
// as long.
const unfitWithin = time.Second

// pluginUnfit tells by its exit code alone whether a window of two has a pane that cannot be in a chat as it is, so
// that a list to pick from is opened instead. If that is not known in time, the chat is tried, and says what is wrong.
func (a *app) pluginUnfit() *cobra.Command {
	var given string
	cmd := &cobra.Command{
		Use: "unfit", Short: "Succeed if a pane of this window cannot be in a chat", Args: between(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.ran = true
			ctx, cancel := context.WithTimeout(cmd.Context(), unfitWithin)
			defer cancel()
			o, err := a.origin(ctx, given)
			if err != nil {
				return err
			}
			a.pressed(ctx, o, api.PressedRequest{Next: true})
			unfit, err := a.unfitAt(ctx, o)
			if err == nil && !unfit {
				return exitCode(api.CodeFailed.Exit())
			}
			return err
		},
	}
	cmd.Flags().StringVar(&given, "origin", "", "`CLIENT PANE` of who pressed the key; else what "+originOption+" says")
	return cmd
}

// unfitAt reports whether a pane of the presser's window is neither adopted nor has an agent.
func (a *app) unfitAt(ctx context.Context, o origin) (bool, error) {
	c, status, err := a.sidecarOf(ctx)
	if err != nil {
		return false, err
	}
	panes, err := tmux.ListPanes(ctx, a.tmuxOptions())
	if err != nil {
		return false, err
	}
	ctx, found := context.WithCancel(ctx) // one is enough
	defer found()
	at := slices.IndexFunc(panes, func(p tmux.Pane) bool { return p.ID == o.Pane })
	var looks sync.WaitGroup
	var unfit atomic.Bool
	for _, p := range panes {
		adopted := func(s message.Peer) bool { return s.Pane == p.ID }
		if at < 0 || p.WindowID != panes[at].WindowID || slices.ContainsFunc(status.Sessions, adopted) {
			continue
		}
		looks.Go(func() {
			if e, err := api.Call(ctx, c, api.Explain, api.ExplainRequest{Pane: p.ID}); err == nil && e.Agent == "" {
				unfit.Store(true)
				found()
			}
		})
	}
	looks.Wait()
	return unfit.Load(), nil
}

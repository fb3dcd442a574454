package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

func (a *app) pluginLoad() *cobra.Command {
	return &cobra.Command{
		Use: "load", Short: "Start the sidecar of this version, and prepare the menu", Args: between(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.ran = true
			ctx := cmd.Context()
			err := a.load(ctx)
			if err == nil || tmux.NoServer(err) {
				return err // a plugin manager starts a server for a moment
			}
			told := api.AsError(err)
			terminals, _ := tmux.Terminals(ctx, a.tmuxOptions())
			for _, t := range terminals {
				if err := a.show(ctx, t.Name, "intercom: "+told.Text, told.Hint, badNews); err != nil {
					break
				}
			}
			return err
		},
	}
}

func (a *app) load(ctx context.Context) error {
	if c, err := a.typed(a.Getenv("PATH")); err == nil && c.onPath {
		_ = c.install() // the doctor reports a missing link
	}
	can := []string{}
	for _, entry := range laterEntries {
		if slices.ContainsFunc(a.commands(), func(c topCommand) bool { return c.name == entry }) {
			can = append(can, entry)
		}
	}
	text := ""
	if len(can) > 0 {
		text = " " + strings.Join(can, " ") + " "
	}
	if err := tmux.Set(ctx, a.tmuxOptions(), map[string]string{canOption: text}); err != nil {
		return err
	}
	c, started, err := a.ensure(ctx)
	if err != nil {
		return err
	}
	status, err := quickStatus(ctx, c)
	if err != nil || started || sameBuild(status.Version, built().Version) {
		return err
	}
	reply, err := a.replace(ctx, c.Socket, status)
	if err == nil && reply.Warning != "" {
		return api.Errorf(api.CodeFailed, "%s", reply.Warning).WithHint("intercom up says more")
	}
	return err
}

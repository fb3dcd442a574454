package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/inherited"
)

// sidecarOptions are the options that the sidecar is started with.
type sidecarOptions struct {
	Paths   api.Paths
	Version string // of this program
}

func (a *app) sidecar() *cobra.Command {
	return &cobra.Command{
		Use:    "sidecar",
		Short:  "Run as the sidecar of a tmux server (started by other commands)",
		Hidden: true,
		Args:   between(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.ran = true
			inherited.Close()
			// The sidecar computes where it listens, and never asks for it: what a server publishes is what some
			// sidecar wrote there.
			p, err := api.Places(a.Getenv, a.tmuxServer())
			if err != nil {
				return err
			}
			err = runSidecar(cmd.Context(), a.env, sidecarOptions{Paths: p, Version: built().Version})
			if errors.Is(err, api.ErrHeld) {
				// Another sidecar was faster, and serves the caller as well.
				return nil
			}
			return err
		},
	}
}

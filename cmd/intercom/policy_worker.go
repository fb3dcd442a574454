package main

import (
	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/scripting/worker"
)

func (a *app) policyWorker() *cobra.Command {
	return &cobra.Command{
		Use:    "policy-worker",
		Short:  "Run policies (started by the sidecar)",
		Hidden: true,
		Args:   between(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			a.ran = true
			return worker.Main(a.Stdin, a.Stdout)
		},
	}
}

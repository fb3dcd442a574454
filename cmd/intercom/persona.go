package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
)

func (a *app) persona() *cobra.Command {
	return &cobra.Command{
		Use:    "persona line|tui [flags]",
		Short:  "Run a scripted program, for tests and the demo",
		Hidden: true,
		// Its flags are its own.
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.ran = true
			terminal, ok := a.Stdin.(*os.File)
			if !ok {
				return api.Errorf(api.CodeUsage, "a persona needs a terminal").WithHint("intercom demo shows two of them at work")
			}
			code := persona.Run(cmd.Context(), args, persona.Options{Stdin: terminal, Stdout: a.Stdout, Stderr: a.Stderr})
			if code != 0 {
				return exitCode(code)
			}
			return nil
		},
	}
}

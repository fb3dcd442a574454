package main

import (
	"regexp"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// profiles are those that a person may name.
var profiles = []string{"line", "line-paste"}

func (a *app) adopt() *cobra.Command {
	var req api.AdoptRequest
	cmd := &cobra.Command{
		Use:   "adopt PANE --as line|line-paste",
		Short: "Let a pane be read and typed into",
		Long: `Let a pane be read and typed into, until the program in it ends or the pane is
released. The pane is named by its id, %7; tmux display-message -p '#{pane_id}'
prints that of the pane it runs in.

Programs that read lines are adopted, which show a prompt, read a line, work,
print, and show the prompt again:

  --as line         what is said arrives as one line, line breaks as " ⏎ "
  --as line-paste   what is said is pasted as it is: for programs with bracketed
                    paste, which take a text of several lines as one

The program must stand at its prompt, quiet, with nothing typed: that is how the
prompt is learned. --prompt gives it as a regular expression (RE2) instead, for
one that changes.

Do not adopt a program that executes what it reads, a shell or an interpreter:
whatever the others say would be run. Shells, editors and full-screen programs
are refused; an interpreter looks like any other program, so this one is up to
you.`,
		Example: `  intercom adopt %1 --as line --name alice`,
		Args:    between(1, 1, "a pane"),
		RunE: do(a, func(cmd *cobra.Command, args []string) (message.Session, error) {
			req.Pane = args[0]
			if !paneID.MatchString(req.Pane) {
				return message.Session{}, api.Errorf(api.CodeUsage, "pane %q: not the id of a pane, like %%7", req.Pane).
					WithHint("tmux list-panes -a -F '#{pane_id} #{pane_current_command} #{pane_title}'")
			}
			if err := oneOf("--as", req.As, profiles); err != nil {
				return message.Session{}, err
			}
			if req.Name != "" {
				if err := checkName(req.Name); err != nil {
					return message.Session{}, err
				}
			}
			if _, err := regexp.Compile(req.Prompt); err != nil {
				return message.Session{}, api.Errorf(api.CodeUsage, "--prompt: %w", err).
					WithHint("what is special in regular expressions takes a \\ before it: --prompt '\\$ '")
			}
			c, err := a.tmuxClient(cmd.Context())
			if err != nil {
				return message.Session{}, err
			}
			ctx, cancel := within(cmd.Context())
			defer cancel()
			return c.Adopt(ctx, req)
		}, func(s message.Session) {
			a.say("adopted %s as %s (%s, %s), prompt %q", plainLine(s.Pane), plainLine(s.Name), plainLine(s.Profile), plainLine(program(s.Foreground)), s.Prompt)
		}),
	}
	cmd.Flags().StringVar(&req.As, "as", "", "`PROFILE` of the program: line or line-paste")
	cmd.Flags().StringVar(&req.Name, "name", "", "`NAME` that the others see; else one made from the program's")
	cmd.Flags().StringVar(&req.Prompt, "prompt", "", "the prompt, as a regular expression `RE2`; else learned from the screen")
	a.completes(cmd)
	_ = cmd.RegisterFlagCompletionFunc("as", cobra.FixedCompletions(profiles, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

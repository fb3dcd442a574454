package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// lineProfiles are the profiles of programs that read lines.
var lineProfiles = []string{"line", "line-paste", "aider"}

// fullScreen is the profile of any other program with a composer.
const fullScreen = "tui"

// profiles are the values that --as accepts.
var profiles = slices.Concat(knownAgents, lineProfiles, []string{fullScreen})

func (a *app) adopt() *cobra.Command {
	var req api.AdoptRequest
	var pastesUntold bool
	cmd := &cobra.Command{
		Use:   "adopt PANE [--as PROFILE]",
		Short: "Let a pane be read and typed into",
		Long: `Let a pane be read and typed into, until its program ends or you release it.
Name the pane by its id, %7, or as tmux does: work:0.1, @3, or, inside tmux, 1
or {right} for a pane of the same window.

` + paragraph("Agents are recognised by their process: "+titles("and", anyAgent)+`. Recognised agents are adopted by
intercom chat start itself. --as says what a program is where that is not recognised, and is always needed for a program
that reads lines:`) + `

` + asAgents() + `  --as line         text arrives as one line, with " ⏎ " for line breaks
  --as line-paste   text is pasted unchanged: for programs with bracketed paste,
                    which take several lines as one input
  --as aider        aider, which is such a program
  --as tui          any other program with a composer; see below

A program that reads lines shows a prompt, reads a line, works, prints, and
shows the prompt again. It must be at its prompt, quiet, with nothing typed:
that is how the prompt is learned. For a prompt that changes, give a regular
expression (RE2) with --prompt instead. One that intercom started as an agent,
and waits for, gets what has waited for it.

--as tui is for a program that is known only to have a composer, full-screen or
not. Adopt it while the composer is empty: from then on, only what surrounds the
cursor now counts as an empty composer. Whatever is new above it is taken for
its words, which is approximate.

Do not adopt a program that executes what it reads, such as a shell or an
interpreter: it would run whatever the others say. Shells, editors, unknown
full-screen programs and the interpreters that are known are refused.`,
		Example: `  intercom adopt %1
  intercom adopt %1 --as line --name alice`,
		Args: between(1, 1, "a pane"),
		RunE: do(a, func(cmd *cobra.Command, args []string) (message.Peer, error) {
			req.Pane = args[0]
			if cmd.Flags().Changed("as") {
				if err := oneOf("--as", req.As, profiles); err != nil {
					return message.Peer{}, err
				}
			}
			if err := checkPrompt(cmd, req); err != nil {
				return message.Peer{}, err
			}
			if req.Name != "" {
				if err := checkName(req.Name); err != nil {
					return message.Peer{}, err
				}
			}
			c, err := a.paneClient(cmd.Context(), &req.Pane)
			if err != nil {
				return message.Peer{}, err
			}
			if !paneID().MatchString(req.Pane) {
				return message.Peer{}, api.Errorf(api.CodeUsage, "%q is not a pane, like %%7 or work:0.1", req.Pane).
					WithHint("tmux list-panes -a -F '#{pane_id} #{session_name}:#{window_index}.#{pane_index} #{window_name} #{pane_current_command}'")
			}
			s, err := quickly(cmd.Context(), c, api.Adopt, req)
			if err == nil && s.Profile == profile.LinePaste().Name {
				status, err := quickly(cmd.Context(), c, api.ShowStatus, api.None{})
				pastesUntold = err == nil && !tmux.TellsPastes(status.Tmux)
			}
			return s, err
		}, func(s message.Peer) {
			a.showAdopted(s)
			if pastesUntold {
				a.note("this tmux does not tell whether the program takes a paste as one input; if each line of a message becomes one, adopt it --as line")
			}
			if req.Name != "" && req.Name != s.Name {
				a.note("the name %q is taken; intercom name %s NAME gives this pane another", req.Name, s.Pane)
			}
		}),
	}
	cmd.Flags().StringVar(&req.As, "as", "", "`PROFILE` of the program: an agent's name, line, line-paste, aider or tui")
	cmd.Flags().StringVar(&req.Name, "name", "", "`NAME` that the others see; by default made from the program's name")
	cmd.Flags().StringVar(&req.Prompt, "prompt", "", "regular expression `RE2` for the prompt of a line program; by default it is learned")
	a.completes(cmd)
	_ = cmd.RegisterFlagCompletionFunc("as", cobra.FixedCompletions(profiles, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// asAgents returns the help lines for the agents that --as accepts, one line each.
func asAgents() string {
	var b strings.Builder
	for _, a := range profile.Agents() {
		fmt.Fprintf(&b, "  --as %-13s%s\n", a.Name, a.Title)
	}
	return b.String()
}

// checkPrompt refuses a --prompt that is not a regular expression, or that is given for a program that does not read
// lines.
func checkPrompt(cmd *cobra.Command, req api.AdoptRequest) error {
	if !cmd.Flags().Changed("prompt") {
		return nil
	}
	if !slices.Contains(lineProfiles, req.As) {
		return api.Errorf(api.CodeUsage, "--prompt is for programs that read lines").WithHint("add --as line or --as line-paste")
	}
	if _, err := regexp.Compile(req.Prompt); err != nil {
		return api.Errorf(api.CodeUsage, "--prompt: %w", err).
			WithHint("in regular expressions, special characters need a \\ before them: --prompt '\\$ '")
	}
	return nil
}

func (a *app) showAdopted(s message.Peer) {
	text := "adopted " + s.Pane + " as " + s.Name + " (" + s.Profile + ", " + program(s.Foreground) + ")"
	if slices.Contains(lineProfiles, s.Profile) {
		a.say("%s, prompt %q", plainLine(text), s.Prompt)
		if below := s.PaneProc.PID; below > 0 && below != s.Foreground.PID {
			a.note("input that it has not read when it ends goes to process %d below it, and a shell would run it; tmux new-window PROGRAM starts a program without a shell below it", below)
		}
		return
	}
	a.say("%s", plainLine(text))
}

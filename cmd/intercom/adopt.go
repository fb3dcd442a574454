package main

import (
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// lineProfiles are those of programs that read lines.
var lineProfiles = []string{"line", "line-paste", "aider"}

// fullScreen is the profile of a program that nobody knows.
const fullScreen = "tui"

// profiles are those that a person may name.
var profiles = slices.Concat(knownAgents, lineProfiles, []string{fullScreen})

func (a *app) adopt() *cobra.Command {
	var req api.AdoptRequest
	cmd := &cobra.Command{
		Use:   "adopt PANE [--as PROFILE]",
		Short: "Let a pane be read and typed into",
		Long: `Let a pane be read and typed into, until the program in it ends or the pane is
released. The pane is named by its id, %7, or as tmux names it: work:0.1, @3,
or, from inside tmux, 1 or {right} for one of the same window.

Agents are recognised by their process: Claude Code, Codex, opencode and Gemini
CLI. Those that are recognised are adopted by intercom chat start itself. --as
says what it is where that is not seen, and always for a program that reads
lines:

  --as claude       Claude Code
  --as codex        Codex
  --as opencode     opencode
  --as gemini       Gemini CLI
  --as line         what is said arrives as one line, line breaks as " ⏎ "
  --as line-paste   what is said is pasted as it is: for programs with bracketed
                    paste, which take a text of several lines as one
  --as aider        aider, which is such a program
  --as tui          any other program with a composer; see below

A program that reads lines shows a prompt, reads a line, works, prints, and
shows the prompt again. It must stand at its prompt, quiet, with nothing typed:
that is how the prompt is learned. --prompt gives it as a regular expression
(RE2) instead, for one that changes.

A program of which nothing is known but that it has a composer, on a screen of
its own or not, is adopted --as tui while that is empty: what stands around the
cursor then, and nothing else, counts as an empty composer from then on. Its
words are what is new above it, and approximate.

Do not adopt a program that executes what it reads, a shell or an interpreter:
whatever the others say would be run. Shells, editors and full-screen programs
that are no agents are refused; an interpreter looks like any other program, so
this one is up to you.`,
		Example: `  intercom adopt %1
  intercom adopt %1 --as line --name alice`,
		Args: between(1, 1, "a pane"),
		RunE: do(a, func(cmd *cobra.Command, args []string) (message.Session, error) {
			req.Pane = args[0]
			if cmd.Flags().Changed("as") {
				if err := oneOf("--as", req.As, profiles); err != nil {
					return message.Session{}, err
				}
			}
			if err := checkPrompt(cmd, req); err != nil {
				return message.Session{}, err
			}
			if req.Name != "" {
				if err := checkName(req.Name); err != nil {
					return message.Session{}, err
				}
			}
			c, err := a.paneClient(cmd.Context(), &req.Pane)
			if err != nil {
				return message.Session{}, err
			}
			if !paneID.MatchString(req.Pane) {
				return message.Session{}, api.Errorf(api.CodeUsage, "%q is no pane, like %%7 or work:0.1", req.Pane).
					WithHint("tmux list-panes -a -F '#{pane_id} #{pane_current_command} #{pane_title}'")
			}
			return quickly(cmd.Context(), c, api.Adopt, req)
		}, a.showAdopted),
	}
	cmd.Flags().StringVar(&req.As, "as", "", "`PROFILE` of the program: an agent's name, line, line-paste, aider or tui; else recognised")
	cmd.Flags().StringVar(&req.Name, "name", "", "`NAME` that the others see; else one made from the program's")
	cmd.Flags().StringVar(&req.Prompt, "prompt", "", "the prompt of a line program, as a regular expression `RE2`; else learned from the screen")
	a.completes(cmd)
	_ = cmd.RegisterFlagCompletionFunc("as", cobra.FixedCompletions(profiles, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// checkPrompt refuses a prompt that is no regular expression, and one of a program that has
// none.
func checkPrompt(cmd *cobra.Command, req api.AdoptRequest) error {
	if !cmd.Flags().Changed("prompt") {
		return nil
	}
	if !slices.Contains(lineProfiles, req.As) {
		return api.Errorf(api.CodeUsage, "--prompt is for programs that read lines").WithHint("with it goes --as line or --as line-paste")
	}
	if _, err := regexp.Compile(req.Prompt); err != nil {
		return api.Errorf(api.CodeUsage, "--prompt: %w", err).
			WithHint("what is special in regular expressions takes a \\ before it: --prompt '\\$ '")
	}
	return nil
}

func (a *app) showAdopted(s message.Session) {
	text := "adopted " + s.Pane + " as " + s.Name + " (" + s.Profile + ", " + program(s.Foreground) + ")"
	if slices.Contains(lineProfiles, s.Profile) {
		a.say("%s, prompt %q", plainLine(text), s.Prompt)
		return
	}
	a.say("%s", plainLine(text))
}

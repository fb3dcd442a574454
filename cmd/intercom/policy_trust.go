package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/scripting"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// trustReply is what `policy trust` prints with --json.
type trustReply struct {
	Project string `json:"project"`
	File    string `json:"file"`
	Hash    string `json:"hash"`    // SHA-256 of what the file has now
	Trusted bool   `json:"trusted"` // from now on
	Changed bool   `json:"changed"` // it was not so before
}

func (a *app) policyTrust() *cobra.Command {
	var revoke bool
	cmd := &cobra.Command{
		Use:   "trust [DIR]",
		Short: "Let the policy of a project do what your own may",
		Long: `Let the policy of a project, .intercom/policy.lua in DIR, do what your own
policies may: decide, change texts, choose recipients. Until then it may only
make things stricter. DIR is this directory if you name none.

It shows the file and asks, and only y at your terminal is a yes. What you trust
is the file as it stands: when it changes, it is not trusted any more.`,
		Example: `  intercom policy trust
  intercom policy trust --revoke ~/src/project`,
		Args: between(0, 1, "a directory, or nothing"),
		RunE: do(a, func(cmd *cobra.Command, args []string) (trustReply, error) {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			return a.trust(cmd.Context(), dir, revoke)
		}, func(r trustReply) {
			switch {
			case r.Trusted && !r.Changed:
				a.say("it is trusted already: %s", plainLine(r.File))
			case r.Trusted:
				a.say("trusted as it stands: %s", plainLine(r.File))
			case !r.Changed:
				a.say("it is not trusted: %s", plainLine(r.File))
			default:
				a.say("trusted no longer: %s", plainLine(r.File))
			}
		}),
	}
	cmd.Flags().BoolVar(&revoke, "revoke", false, "take that back")
	return cmd
}

// trust lets a person trust the policy of a project, or not any more.
func (a *app) trust(ctx context.Context, dir string, revoke bool) (trustReply, error) {
	project, err := filepath.Abs(dir)
	if err == nil {
		project, err = filepath.EvalSymlinks(project)
	}
	if err != nil {
		return trustReply{}, api.Errorf(api.CodeUsage, "project: %w", err).WithHint("name the directory that has %s", scripting.ProjectFile)
	}
	r := trustReply{Project: project, File: filepath.Join(project, scripting.ProjectFile), Trusted: !revoke}
	source, err := scripting.ReadProject(project)
	if err != nil {
		return r, api.Errorf(api.CodeUsage, "%w", err).WithHint("name the directory that has %s", scripting.ProjectFile)
	}
	r.Hash = source.Hash()
	list, err := a.trusted()
	if err != nil {
		return r, err
	}
	if list.Trusted(r.Hash) == r.Trusted {
		return r, nil
	}
	what, question, change := "trust a project's policy", "May it do what your own policies may?", list.Add
	if revoke {
		what, question, change = "revoke the trust in a project's policy", "Trust it no longer?", list.Remove
	}
	if err := a.notInside(ctx, what); err != nil {
		return r, err
	}
	question = fmt.Sprintf("%s\nSHA-256 %s\n\n%s\n\n%s", plainLine(r.File), r.Hash, indent(plain(source.Text), "  "), question)
	if err := a.confirm(ctx, question); err != nil {
		return r, err
	}
	r.Changed = true
	return r, change(r.Hash, r.File)
}

// notInside refuses what only a person may do to a command that was started inside a pane
// that is adopted, as far as the sidecar of this server and the system can tell.
func (a *app) notInside(ctx context.Context, what string) error {
	ctx, cancel := within(ctx)
	defer cancel()
	c, _, running, err := a.running(ctx)
	if err != nil || !running {
		return err
	}
	sessions, err := c.Sessions(ctx)
	if err != nil {
		return err
	}
	line, err := tmux.Ancestors(os.Getpid())
	if errors.Is(err, tmux.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	pane := tmux.PaneOf(os.Getpid())
	for _, s := range sessions {
		inside := pane == s.Pane || tmux.HasTerminal(os.Getpid(), s.TTY)
		for _, p := range line {
			inside = inside || p.PID == s.PaneProc.PID || p.PID == s.Foreground.PID
		}
		if inside {
			return api.Errorf(api.CodeRefused, "%s: only a person may, and this runs inside %q", what, s.Name).WithHint("do it from a pane that is not adopted")
		}
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/policies"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

const maxPolicy = 1 << 20 // bytes that are compared with the policy as it came

// droppedPolicy is what `policy drop` prints with --json.
type droppedPolicy struct {
	offeredPolicy
	Removed []string   `json:"removed"`
	Check   checkReply `json:"check"` // of the policies that are left
}

func (a *app) policyDrop() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drop NAME",
		Short: "Stop using a ready-made policy",
		Long: `Remove the files of a policy that policy use put in place, which ends its use at
once. You are asked first, and told if you have changed them; only y at your
terminal means yes. Policies that you wrote yourself are not touched.`,
		Example: "  intercom policy drop quiet-hours",
		Args:    between(1, 1, "the name of a policy"),
		RunE: do(a, func(cmd *cobra.Command, args []string) (droppedPolicy, error) {
			return a.dropPolicy(cmd.Context(), args[0])
		}, func(r droppedPolicy) {
			for _, path := range r.Removed {
				a.say("removed: %s", plainLine(path))
			}
			if !r.Check.OK {
				a.showCheck(r.Check)
			}
		}),
	}
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) (words []cobra.Completion, _ cobra.ShellCompDirective) {
		all, err := a.gallery()
		if err == nil && len(args) == 0 {
			for _, one := range all {
				if one.Used {
					words = append(words, one.Name)
				}
			}
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// dropPolicy lets a person take a policy of the gallery out of use.
func (a *app) dropPolicy(ctx context.Context, name string) (r droppedPolicy, err error) {
	if r.offeredPolicy, err = a.offered(name); err != nil {
		return r, err
	}
	source, _ := policies.Example(r.Name)
	question, there := "", []string{}
	for _, file := range [][2]string{{r.File, source.Text}, {r.tests(), policies.TestsOf(source)}} {
		text, err := foreign.ReadItself(file[0], maxPolicy)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil || string(text) != file[1]:
			question += fmt.Sprintf("Remove %s? It has been changed since it was installed.\n", plainLine(file[0]))
		default:
			question += fmt.Sprintf("Remove %s?\n", plainLine(file[0]))
		}
		there = append(there, file[0])
	}
	if len(there) == 0 {
		return r, api.Errorf(api.CodeNotFound, "policy %q is not in use: there is no %q", r.Name, r.File).WithHint("intercom policy use lists those that are")
	}
	if err := a.personOnly(ctx, "stop using a policy"); err != nil {
		return r, err
	}
	if err := a.confirm(ctx, strings.TrimSuffix(question, "\n")); err != nil {
		return r, err
	}
	// Remove the policy first: without it, its tests do nothing.
	for _, path := range there {
		if err := os.Remove(path); err != nil {
			return r, fmt.Errorf("a policy: %w", err)
		}
		r.Removed = append(r.Removed, path)
	}
	r.Used = false
	r.Check, err = a.check(ctx, nil)
	return r, err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/policies"
	"github.com/tmux-intercom/tmux-intercom/scripting"
	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/scripting/trust"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/service"
)

// shipped returns the policies that come with the program.
var shipped = sync.OnceValue(policies.Shipped)

func (a *app) policy() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Write policies in Lua, and see what they do",
		Long: `Work with policies in Lua, which decide what happens to a message and how it
looks. Yours are init.lua and policies/*.lua in $XDG_CONFIG_HOME/intercom, or
~/.config/intercom. They run in a process that is killed if it does not answer,
here too.`,
		Example: "  intercom policy check",
		Args:    a.onlyCommands,
		RunE:    showHelp,
	}
	cmd.AddCommand(a.policyCheck(), a.policyTest(), a.policyExplain(), a.policyDiff(), a.policyLog(), a.policyBench(), a.policyRollback(), a.policyTrust(), a.policyUse(), a.policyDrop(), a.policyEdit())
	return cmd
}

// policies reads a person's set, or only the files that are named.
func (a *app) policies(named []string) (policy.Files, error) {
	var files policy.Files
	if len(named) > 0 {
		for _, path := range named {
			source, err := scripting.ReadNamed(filepath.Clean(path))
			if err != nil {
				return files, api.Errorf(api.CodeUsage, "%w", err).WithHint("name a file that can be read; without one, yours are used")
			}
			modules, err := scripting.ReadModules(filepath.Clean(path))
			if err != nil {
				return files, api.Errorf(api.CodeUsage, "%w", err).WithHint("put modules into lib, beside the policy")
			}
			files.Sources = append(files.Sources, source)
			for _, m := range modules { // several files may have them in common
				if !slices.ContainsFunc(files.Modules, func(have policy.Source) bool { return have.Name == m.Name }) {
					files.Modules = append(files.Modules, m)
				}
			}
		}
		if err := files.Validate(); err != nil {
			return files, api.Errorf(api.CodeUsage, "%w", err).WithHint("name each file once")
		}
		return files, nil
	}
	config, err := a.configDir()
	if err != nil {
		return files, err
	}
	if files, err = scripting.Read(config); err == nil {
		files = files.With(nil, shipped())
		err = files.Validate()
	}
	if err != nil {
		return files, api.Errorf(api.CodeFailed, "%w", err).WithHint("policies are files of Lua in %s", config)
	}
	return files, nil
}

// trusted returns the list of project files that the person trusts.
func (a *app) trusted() (trust.List, error) {
	dir, err := a.stateDir()
	return trust.In(dir), err
}

// compiled compiles a person's set, or the named files, and returns the set ready to be asked; the returned function
// ends it. A mistake in the files is an error.
func (a *app) compiled(ctx context.Context, named []string) (*scripting.Engine, *scripting.Set, func(), error) {
	files, err := a.policies(named)
	if err != nil {
		return nil, nil, nil, err
	}
	engine := scripting.New(scripting.Options{})
	set, err := engine.Compile(ctx, files)
	if problems, ok := errors.AsType[scripting.ProblemsError](err); ok {
		return nil, nil, nil, api.Errorf(api.CodeFailed, "%s", firstError(problems)).WithHint("intercom policy check lists all problems")
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("policies: %w", err)
	}
	return engine, set, set.Close, nil
}

func firstError(problems []policy.Problem) policy.Problem {
	for _, p := range problems {
		if !p.Warning {
			return p
		}
	}
	return problems[0]
}

// checkReply is what `policy check` prints with --json.
type checkReply struct {
	OK       bool             `json:"ok"`    // no error
	Files    []string         `json:"files"` // without those that are shipped
	Errors   int              `json:"errors"`
	Warnings int              `json:"warnings"`
	Problems []policy.Problem `json:"problems"`
}

func (a *app) policyCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [FILE…]",
		Short: "Check policies without using them",
		Long: `Check your policies, or the FILEs you name: syntax, names and fields that do not
exist, patterns that do not compile, rules that never decide because earlier
ones cover them. Nothing is put into use. The .aea/agent-config.yaml of the
current repository is checked too; a part that has no effect because you do not
trust it is a warning.

The exit code is 1 if there is an error; warnings do not count.`,
		Example: `  intercom policy check
  intercom policy check --json`,
		Args: between(0, -1, "files"),
		RunE: withCode(func(cmd *cobra.Command, args []string) (code int, err error) {
			err = do(a, func(cmd *cobra.Command, args []string) (checkReply, error) {
				r, err := a.check(cmd.Context(), args)
				if err == nil && !r.OK {
					code = api.CodeFailed.Exit()
				}
				return r, err
			}, func(r checkReply) {
				a.showCheck(r)
				if r.OK && len(args) == 0 {
					a.noteUnused(cmd.Context(), false)
				}
			})(cmd, args)
			return code, err
		}),
	}
	return cmd
}

// withCode makes a command's function out of one that may end with another exit code than 0 although it has printed
// everything already.
func withCode(run func(*cobra.Command, []string) (int, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		code, err := run(cmd, args)
		if err == nil && code != 0 {
			return exitCode(code)
		}
		return err
	}
}

// check compiles policies without putting them into use.
func (a *app) check(ctx context.Context, named []string) (checkReply, error) {
	r := checkReply{OK: true, Files: []string{}, Problems: []policy.Problem{}}
	files, err := a.policies(named)
	if err != nil {
		return r, err
	}
	for _, s := range files.Sources {
		if !s.Shipped {
			r.Files = append(r.Files, s.Name)
		}
	}
	set, err := scripting.New(scripting.Options{}).Compile(ctx, files)
	problems, wrong := errors.AsType[scripting.ProblemsError](err)
	switch {
	case wrong:
		r.Problems = append(r.Problems, problems...)
	case err != nil:
		return r, fmt.Errorf("policies: %w", err)
	default:
		r.Problems = append(r.Problems, set.Problems...)
		if err := service.CheckSettings(set.Settings); err != nil {
			r.Problems = append(r.Problems, set.Lines.Wrong(err))
		}
		set.Close()
	}
	if len(named) == 0 {
		own, err := a.ownConfig()
		if err != nil {
			return r, err
		}
		if name, problems := own.problems(); name != "" {
			r.Files, r.Problems = append(r.Files, name), append(r.Problems, problems...)
		}
	}
	for _, p := range r.Problems {
		if p.Warning {
			r.Warnings++
		} else {
			r.Errors++
		}
	}
	r.OK = r.Errors == 0
	return r, nil
}

func (a *app) showCheck(r checkReply) {
	for _, p := range r.Problems {
		a.say("%s", plainLine(problemLine(p)))
	}
	switch {
	case len(r.Files) == 0:
		a.say("you have no policies yet, so the shipped ones apply; intercom policy edit creates init.lua")
	case len(r.Problems) == 0:
		a.say("%s, no problems", several(len(r.Files), "file"))
	default:
		a.say("%s: %s, %s", several(len(r.Files), "file"), several(r.Errors, "error"), several(r.Warnings, "warning"))
	}
}

// problemLine formats a problem for editors and people.
func problemLine(p policy.Problem) string {
	if p.Warning {
		p.Text = "warning: " + p.Text
	}
	return p.String()
}

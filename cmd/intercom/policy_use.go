package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/policies"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// offeredPolicy is one of the gallery, as `policy use` lists it with --json.
type offeredPolicy struct {
	Name string    `json:"name"`
	Does string    `json:"does"`
	File string    `json:"file"` // where it stands once it is used
	Used bool      `json:"used"` // there is such a file, and it is in use
	left time.Time // since when earlier policies are in use, whatever files there are
}

// usedPolicy is what `policy use NAME` prints with --json.
type usedPolicy struct {
	offeredPolicy
	Tests string     `json:"tests"` // the file of its tests
	Check checkReply `json:"check"` // of all policies, with this one
}

func (a *app) policyUse() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "use [NAME]",
		Short: "List ready-made policies, or put one in place",
		Long: `List the policies that come with the program, or copy one of them, with its
tests, to policies/50-NAME.lua, where it is in use at once. Read it then: names
and limits stand at its top, and are yours to change.

A file that is there already is left alone. intercom policy drop ends the use of
a policy.`,
		Example: `  intercom policy use
  intercom policy use quiet-hours`,
		Args: between(0, 1, "the name of a policy, or nothing"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return do(a, func(cmd *cobra.Command, _ []string) ([]offeredPolicy, error) { return a.galleryInUse(cmd.Context()) }, a.showGallery)(cmd, args)
			}
			return do(a, func(cmd *cobra.Command, args []string) (usedPolicy, error) {
				return a.usePolicy(cmd.Context(), args[0])
			}, a.showUsed)(cmd, args)
		},
	}
	var names []string
	for _, s := range policies.Examples() {
		names = append(names, strings.TrimSuffix(s.Name, ".lua"))
	}
	cmd.ValidArgsFunction = cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)
	return cmd
}

// gallery is what can be put in place.
func (a *app) gallery() (all []offeredPolicy, err error) {
	config, err := a.configDir()
	if err != nil {
		return nil, err
	}
	for _, s := range policies.Examples() {
		name := strings.TrimSuffix(s.Name, ".lua")
		one := offeredPolicy{Name: name, Does: policies.Purpose(s), File: filepath.Join(config, "policies", "50-"+s.Name)}
		_, err := os.Lstat(one.File)
		one.Used = err == nil
		all = append(all, one)
	}
	return all, nil
}

// galleryInUse is the gallery as it is in force: after a rollback, files do not tell.
func (a *app) galleryInUse(ctx context.Context) ([]offeredPolicy, error) {
	all, err := a.gallery()
	if err != nil {
		return nil, err
	}
	if left := a.leftFor(ctx); left != nil {
		for i := range all {
			all[i].Used, all[i].left = slices.Contains(left.Files, "policies/"+filepath.Base(all[i].File)), left.Since
		}
	}
	return all, nil
}

func (a *app) showGallery(all []offeredPolicy) {
	if len(all) > 0 && !all[0].left.IsZero() {
		a.sayLeft(all[0].left, "")
	}
	rows := [][]string{{"NAME", "IN USE", "WHAT IT DOES"}}
	for _, one := range all {
		used := "-"
		if one.Used {
			used = "yes"
		}
		rows = append(rows, []string{one.Name, used, one.Does})
	}
	a.table(rows)
}

// offered is the policy of the gallery that has a name, also one with the number or the ending of its file.
func (a *app) offered(name string) (offeredPolicy, error) {
	all, err := a.gallery()
	if err != nil {
		return offeredPolicy{}, err
	}
	name = strings.TrimPrefix(strings.TrimSuffix(name, ".lua"), "50-")
	var names []string
	for _, one := range all {
		if one.Name == name {
			return one, nil
		}
		names = append(names, one.Name)
	}
	return offeredPolicy{}, api.Errorf(api.CodeUsage, "no policy %q comes with the program", name).WithHint("they are %s", strings.Join(names, ", "))
}

// tests is the file of its tests.
func (o offeredPolicy) tests() string { return strings.TrimSuffix(o.File, ".lua") + "_test.lua" }

// usePolicy has a person put a policy of the gallery in place.
func (a *app) usePolicy(ctx context.Context, name string) (r usedPolicy, err error) {
	if r.offeredPolicy, err = a.offered(name); err != nil {
		return r, err
	}
	tty, err := terminal()
	if err != nil {
		return r, err
	}
	tty.Close()
	if err := a.notInside(ctx, "use a policy"); err != nil {
		return r, err
	}
	r.Tests = r.tests()
	source, _ := policies.Example(r.Name)
	tests := policies.TestsOf(source)
	for _, path := range []string{r.File, r.Tests} {
		if _, err := os.Lstat(path); err == nil {
			return r, api.Errorf(api.CodeFailed, "%q is there already, and is left as it is", path).
				WithHint("intercom policy edit 50-%s; intercom policy drop %s removes it", r.Name, r.Name)
		}
	}
	// The tests first: without their policy they do nothing.
	if err := created(r.Tests, tests); err != nil {
		return r, err
	}
	if err := created(r.File, source.Text); err != nil {
		return r, errors.Join(err, os.Remove(r.Tests))
	}
	r.Used = true
	r.Check, err = a.check(ctx, nil)
	return r, err
}

func (a *app) showUsed(r usedPolicy) {
	a.say("in use: %s", plainLine(r.File))
	a.say("%s", r.Does)
	a.say("change it: intercom policy edit 50-%s; end it: intercom policy drop %s", r.Name, r.Name)
	if !r.Check.OK {
		a.showCheck(r.Check)
	}
}

// created makes a file that must not be there yet.
func created(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("a policy: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("a policy: %w", err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path) // half of it is of no use
	}
	return err
}

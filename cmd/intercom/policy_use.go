package main

import (
	"cmp"
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
	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// offeredPolicy is a policy of the gallery, as `policy use` lists it with --json.
type offeredPolicy struct {
	Name    string    `json:"name"`
	Does    string    `json:"does"`
	File    string    `json:"file"` // path of its file, once it is used
	Used    bool      `json:"used"` // there is such a file, and it is in use
	left    time.Time // since when earlier policies are in use, whatever files there are
	refused string    // why the files are not in use as they are
}

// usedPolicy is what `policy use NAME` prints with --json.
type usedPolicy struct {
	offeredPolicy
	Tests   string     `json:"tests"`             // the file of its tests
	Check   checkReply `json:"check"`             // of all policies, with this one
	Refused string     `json:"refused,omitempty"` // why the sidecar keeps the policies that it has in use
}

func (a *app) policyUse() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "use [NAME]",
		Short: "List ready-made policies, or put one in place",
		Long: `List the policies that come with the program, or copy one of them, with its
tests, to policies/50-NAME.lua, where it is in use at once. Read it then: names
and limits stand at its top, and are yours to change.

A file that is there already is left alone. If your policies cannot be used with
this one, as when another file has a mistake, that is said, and the exit status
is 1; it is in use once that is mended. intercom policy drop ends the use of a
policy.`,
		Example: `  intercom policy use
  intercom policy use quiet-hours`,
		Args: between(0, 1, "the name of a policy, or nothing"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return do(a, func(cmd *cobra.Command, _ []string) ([]offeredPolicy, error) { return a.galleryInUse(cmd.Context()) }, a.showGallery)(cmd, args)
			}
			return withCode(func(cmd *cobra.Command, args []string) (code int, err error) {
				err = do(a, func(cmd *cobra.Command, args []string) (usedPolicy, error) {
					r, err := a.usePolicy(cmd.Context(), args[0])
					if err == nil && !r.Used {
						code = api.CodeFailed.Exit()
					}
					return r, err
				}, a.showUsed)(cmd, args)
				return code, err
			})(cmd, args)
		},
	}
	var names []string
	for _, s := range policies.Examples() {
		names = append(names, strings.TrimSuffix(s.Name, ".lua"))
	}
	cmd.ValidArgsFunction = cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)
	return cmd
}

// gallery returns the policies that can be put in place.
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

// galleryInUse returns the gallery with what is really in use: after a rollback, and if the files are refused, the
// files do not tell.
func (a *app) galleryInUse(ctx context.Context) ([]offeredPolicy, error) {
	all, err := a.gallery()
	if err != nil {
		return nil, err
	}
	if s := a.policiesInForce(ctx); s != nil && (s.RolledBack != "" || s.Error != "") {
		for i := range all {
			all[i].Used, all[i].refused = all[i].among(*s), s.Error
			if s.RolledBack != "" {
				all[i].left = s.Since
			}
		}
	}
	return all, nil
}

// among reports whether o is one of the policies in use.
func (o offeredPolicy) among(s policy.Status) bool {
	return slices.Contains(s.Files, "policies/"+filepath.Base(o.File))
}

func (a *app) showGallery(all []offeredPolicy) {
	switch {
	case len(all) == 0:
	case !all[0].left.IsZero():
		a.sayLeft(all[0].left, "")
	case all[0].refused != "":
		a.say("your files are not in use as they are: %s", plainLine(all[0].refused))
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

// offered returns the policy of the gallery that has a name; the number and the extension of its file may be part of
// the name.
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

// tests returns the path of its tests.
func (o offeredPolicy) tests() string { return strings.TrimSuffix(o.File, ".lua") + "_test.lua" }

// usePolicy lets a person put a policy of the gallery in place.
func (a *app) usePolicy(ctx context.Context, name string) (r usedPolicy, err error) {
	if r.offeredPolicy, err = a.offered(name); err != nil {
		return r, err
	}
	tty, err := terminal()
	if err != nil {
		return r, err
	}
	tty.Close()
	if err := a.personOnly(ctx, "use a policy"); err != nil {
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
	// Create the tests first: without their policy they do nothing.
	if err := created(r.Tests, tests); err != nil {
		return r, err
	}
	if err := created(r.File, source.Text); err != nil {
		return r, errors.Join(err, os.Remove(r.Tests))
	}
	r.Check, err = a.check(ctx, nil)
	if r.Used = err == nil && r.Check.OK; r.Used {
		r.Used, r.Refused = a.taken(ctx, r.offeredPolicy)
	}
	return r, err
}

// How long to wait until a sidecar uses what was saved, and how long if it says that it cannot: it may be about to find
// that it can.
const (
	takenWithin   = 15 * time.Second
	refusedWithin = time.Second
	takenPoll     = 50 * time.Millisecond
)

// taken reports whether the sidecar has a policy in use, and if not, why. If no sidecar runs, the next one will use it.
func (a *app) taken(ctx context.Context, one offeredPolicy) (used bool, why string) {
	return a.takenInto(ctx, one.among)
}

// takenInto is taken for whatever is reports to be in use.
func (a *app) takenInto(ctx context.Context, is func(policy.Status) bool) (used bool, why string) {
	for began := time.Now(); ; {
		s := a.policiesInForce(ctx)
		switch took := time.Since(began); {
		case s == nil || is(*s):
			return true, ""
		case s.Error != "" && took > refusedWithin, took > takenWithin:
			if s.RolledBack != "" {
				return false, cmp.Or(s.Error, leftSays(s.Since))
			}
			return false, cmp.Or(s.Error, "the sidecar has not taken it yet")
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err().Error()
		case <-time.After(takenPoll):
		}
	}
}

func (a *app) showUsed(r usedPolicy) {
	if r.Used {
		a.say("in use: %s", plainLine(r.File))
	} else {
		a.say("put in place, and not in use: %s", plainLine(r.File))
	}
	if r.Refused != "" {
		a.say("the policies before it stay in use: %s", plainLine(r.Refused))
	}
	a.say("%s", r.Does)
	a.say("change it: intercom policy edit 50-%s; end it: intercom policy drop %s", r.Name, r.Name)
	if !r.Check.OK {
		a.showCheck(r.Check)
	}
}

// created creates a file that must not exist yet.
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

package main

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

// aeaDisabled is what `aea disable` prints.
type aeaDisabled struct {
	Repository string `json:"repository"`
	Agent      string `json:"agent_id"`
	Enabled    bool   `json:"enabled"` // always false
}

func (a *app) aeaDisable(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "disable",
		Short: "Disable a repository that was enabled",
		Long: `Take back what intercom aea install enabled: on this computer no messages of the
repository are processed any more, no answers are written there, and AEA's
registry does not offer its agent. Nothing in the repository is changed or
removed; what was processed is not processed again if you install it once more.

A repository that was moved or deleted is named by the path that it had, as
intercom peers shows it: --repository DIR. An agent cannot disable one.`,
		Example: `  intercom aea disable
  intercom aea disable --repository ~/src/deleted`,
		Args: between(0, 0, "no arguments"),
		RunE: tells(a, func(cmd *cobra.Command, _ []string) (aeaDisabled, error) {
			r := aeaDisabled{}
			if err := a.personOnly(cmd.Context(), "disable a repository"); err != nil {
				return r, err
			}
			list, err := a.enabled()
			if err != nil {
				return r, err
			}
			w, err := wishFor(list, *dir)
			if err != nil {
				return r, err
			}
			r.Repository, r.Agent = w.Path, w.Agent
			if err := list.Remove(w.Path); err != nil {
				return r, err
			}
			if err := (repository.Registry{Path: repository.RegistryPath(a.Getenv)}).Disable(w.Agent, w.Path); err != nil {
				a.warn(err.Error())
			}
			return r, unserved(cmd.Context(), list, w.Path)
		}, func(r aeaDisabled) {
			a.tellLine("%s is disabled: nothing processes the messages of agent %s", r.Repository, r.Agent)
		}),
	}
}

// wishFor returns the wish for the repository that dir is in, also if that repository is gone; "" means the current
// directory.
func wishFor(list repository.Enabled, dir string) (repository.Wish, error) {
	all, err := list.List()
	if err != nil {
		return repository.Wish{}, err
	}
	named, err := filepath.Abs(cmp.Or(dir, "."))
	if err != nil {
		return repository.Wish{}, api.Errorf(api.CodeFailed, "%w", err)
	}
	paths := []string{named}
	if whole, err := directoryOf(dir); err == nil {
		paths = append(paths, whole, repository.Nearest(whole, ".aea"), repository.Of(whole))
	}
	for _, path := range paths {
		if i := slices.IndexFunc(all, func(w repository.Wish) bool { return w.Path == path }); i >= 0 {
			return all[i], nil
		}
	}
	return repository.Wish{}, api.Errorf(api.CodeNotFound, "repository %q is not enabled on this computer", named).
		WithHint("intercom peers --json has the paths of those that are; --repository DIR names one")
}

// unserved waits until no sidecar processes the messages of a repository any more.
func unserved(ctx context.Context, list repository.Enabled, path string) error {
	ctx, cancel := within(ctx)
	defer cancel()
	for list.Served(path) {
		select {
		case <-ctx.Done():
			return api.Errorf(api.CodeTimeout, "%q is disabled, and a sidecar still processes its messages", path).WithHint("intercom down --all ends every sidecar")
		case <-time.After(monitorPause):
		}
	}
	return nil
}

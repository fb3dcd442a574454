package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

// aeaInstalled is what `aea install` prints.
type aeaInstalled struct {
	Repository string                 `json:"repository"`
	Agent      string                 `json:"agent_id"`
	Enabled    bool                   `json:"enabled"` // its messages are processed while a sidecar runs
	Files      []repository.Installed `json:"files"`
	Warning    string                 `json:"warning,omitempty"` // its agent is not found by its id, or had an id of another, or others may write there
}

func (a *app) aeaInstall(dir *string) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Set up a repository for messages, and enable it",
		Long: `Make the .aea directory of a repository: scripts, prompts, README.md and
agent-config.yaml, and the lines in CLAUDE.md that have its agent look for
messages. What is there already stays.

It also enables the repository on this computer: its messages are processed
while a sidecar runs, and answers may be written there. An .aea directory that
came with git clone does nothing until you run this. An agent cannot.`,
		Example: `  intercom aea install`,
		Args:    between(0, 0, "no arguments"),
		RunE: tells(a, func(cmd *cobra.Command, _ []string) (aeaInstalled, error) {
			r := aeaInstalled{}
			if err := a.personOnly(cmd.Context(), "enable a repository"); err != nil {
				return r, err
			}
			root, err := directoryOf(*dir)
			if err != nil {
				return r, err
			}
			root = cmp.Or(repository.Of(root), root)
			list, err := a.enabled()
			if err != nil {
				return r, err
			}
			program, err := a.program()
			if err != nil {
				return r, err
			}
			var d repository.Dir
			if d, r.Files, err = repository.Install(root, program, force); err != nil {
				return r, aeaError(err)
			}
			own := d.Own()
			r.Repository, r.Agent = d.Path, own.ID
			w, had := list.Find(d.Path)
			if !had {
				w = repository.Wish{Path: d.Path, Since: time.Now()}
			}
			w.Agent = own.ID
			if err := list.Set(w); err != nil {
				return r, err
			}
			r.Enabled = true
			if why := d.Exposed(); why != "" {
				r.Warning = ".aea: " + why + ": they can remove its messages; intercom aea doctor --fix" + inRepository(d.Path) + " changes that"
			}
			was, err := repository.Registry{Path: repository.RegistryPath(a.Getenv)}.Add(repository.Registered{ID: own.ID, Path: d.Path, Description: "AEA-enabled repository"})
			var why string
			_, taken := errors.AsType[*repository.TakenError](err)
			_, form := errors.AsType[*repository.FormError](err)
			switch {
			case taken || form: // the repository is enabled all the same
				why = err.Error()
			case err != nil:
				return r, err
			case was.Path != "":
				why = fmt.Sprintf("agent %q of AEA's registry was that of %q, which is gone or not enabled; it is that of this repository now", own.ID, was.Path)
			}
			if why != "" {
				r.Warning = strings.TrimPrefix(r.Warning+"; "+why, "; ")
			}
			return r, nil
		}, a.showInstalled),
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace scripts of others too")
	return cmd
}

// ownProgram returns the path of this program, with links resolved: for the plugin's program, that is the path of one
// revision.
func ownProgram(named string) string {
	if named == "" {
		named, _ = os.Executable()
	}
	if whole, err := filepath.EvalSymlinks(named); err == nil {
		return whole
	}
	return named
}

// aeaExamined is what `aea doctor` prints.
type aeaExamined struct {
	Repository string               `json:"repository"`
	Agent      string               `json:"agent_id"`
	Enabled    bool                 `json:"enabled"`
	Findings   []repository.Finding `json:"findings"`
}

func (a *app) aeaDoctor(dir *string) *cobra.Command {
	var fix bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find out why messages are not processed",
		Long: `Find out why messages of a repository are not sent, found or processed:
permissions, missing files, messages that cannot be read, and mistakes in
agent-config.yaml. --fix repairs permissions and missing files.

The exit code is 1 if a problem remains.`,
		Example: `  intercom aea doctor --fix`,
		Args:    between(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			left := 0
			err := tells(a, func(*cobra.Command, []string) (aeaExamined, error) {
				r := aeaExamined{}
				d, err := a.repo(cmd.Context(), *dir)
				if err != nil {
					return r, err
				}
				list, err := a.enabled()
				if err != nil {
					return r, err
				}
				program, err := a.program()
				if err != nil {
					return r, err
				}
				r.Repository, r.Agent = d.Path, d.Own().ID
				_, r.Enabled = list.Find(d.Path)
				if r.Findings, err = repository.Examine(d.Path, program, fix); err != nil {
					return r, aeaError(err)
				}
				for i, f := range r.Findings {
					if strings.HasPrefix(f.Fix, "intercom ") {
						r.Findings[i].Fix += inRepository(d.Path)
					}
				}
				if !r.Enabled {
					r.Findings = append(r.Findings, repository.Finding{File: ".aea", What: "it is not enabled on this computer: nothing processes its messages", Fix: "intercom aea install" + inRepository(d.Path)})
				}
				if waiting := haltedIn(list, d); waiting.held > 0 {
					for why, n := range waiting.why {
						r.Findings = append(r.Findings, repository.Finding{File: ".aea", What: fmt.Sprintf("messages held until you say so: %d: %s", n, why), Fix: release(why)})
					}
				}
				for _, f := range r.Findings {
					if !f.Fixed {
						left++
					}
				}
				return r, nil
			}, a.showExamined)(cmd, args)
			if err == nil && left > 0 {
				return exitCode(1)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&fix, "fix", false, fixUsage)
	return cmd
}

// aeaVersions is what `aea version` prints.
type aeaVersions struct {
	Protocol string   `json:"protocol_version"` // the version that is written
	Reads    []string `json:"reads"`
	Released string   `json:"released"`
	Intercom string   `json:"intercom"`
}

func (a *app) aeaVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show which versions of the protocol are spoken",
		Example: `  intercom aea version`,
		Args:    between(0, 0, "no arguments"),
		RunE: tells(a, func(*cobra.Command, []string) (aeaVersions, error) {
			return aeaVersions{aea.Version, []string{aea.Version, "0.1.0"}, "2025-10-14", built().Version}, nil
		}, a.showVersions),
	}
}

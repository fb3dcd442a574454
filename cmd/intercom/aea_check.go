package main

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

// aeaChecked is what `aea check` prints.
type aeaChecked struct {
	Repository  string    `json:"repository"`
	Unprocessed int       `json:"unprocessed"`
	InHand      int       `json:"in_hand"`           // a sidecar is processing them
	Awaiting    int       `json:"awaiting_approval"` // they await a person's approval: aea approvals
	Held        int       `json:"held"`              // they or their answers are held until a person says so: at a limit, for example
	Hint        string    `json:"hint,omitempty"`    // how the waiting ones go on
	Messages    []letters `json:"messages"`          // the unprocessed ones that no sidecar is processing, newest first
}

func (a *app) aeaCheck(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Show messages that are not processed",
		Long: `Show the messages of a repository that are not processed, newest first. Exit
code 1 if there are any, 0 if not. What a sidecar is at, what awaits your
approval and what is held at a limit is counted, and not shown.`,
		Example: `  intercom aea check || cat .aea/prompts/check-messages.md`,
		Args:    between(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var r aeaChecked
			err := tells(a, func(*cobra.Command, []string) (aeaChecked, error) {
				d, all, err := a.messages(cmd.Context(), *dir, false)
				r = aeaChecked{Repository: d.Path, Messages: []letters{}}
				if err != nil {
					return r, err
				}
				for _, one := range all {
					if one.InHand {
						r.InHand++
						continue
					}
					r.Messages = append(r.Messages, one)
				}
				r.Unprocessed = len(r.Messages)
				list, err := a.enabled()
				if err != nil {
					return r, err
				}
				w := haltedIn(list, d)
				r.Awaiting, r.Held, r.Hint = w.awaiting, w.held, w.hint()
				r.InHand -= w.heldInHand
				return r, nil
			}, a.showChecked)(cmd, args)
			if err == nil && r.Unprocessed > 0 {
				return exitCode(1)
			}
			return err
		},
	}
}

// halted counts the messages of a repository that go on only once a person says so.
type halted struct {
	awaiting, held int
	heldInHand     int            // held messages that also count as in hand: they are not marked as processed yet
	why            map[string]int // how many are held, by reason
}

func haltedIn(list repository.Enabled, d repository.Dir) halted {
	w := halted{why: map[string]int{}}
	for _, p := range list.Progress(d) {
		if p.Awaits {
			w.awaiting++
		}
		if p.Held != "" {
			w.held++
			w.why[p.Held]++
		}
		if p.Held != "" && p.InHand {
			w.heldInHand++
		}
	}
	return w
}

// The commands for what is held.
const (
	resuming = "intercom aea resume"
	listing  = "intercom inbox"
)

// release returns the command with which a person lets go on what is held for a reason.
func release(why string) string {
	if repository.Resumes(why) {
		return resuming
	}
	return listing
}

// hint says how these messages go on.
func (w halted) hint() string {
	var all []string
	if w.awaiting > 0 {
		all = append(all, "intercom aea approvals lists what awaits your approval")
	}
	whys := map[string][]string{}
	for _, why := range slices.Sorted(maps.Keys(w.why)) {
		whys[release(why)] = append(whys[release(why)], why)
	}
	if some := whys[resuming]; some != nil {
		all = append(all, resuming+" lets go on what is held ("+strings.Join(some, "; ")+")")
	}
	if some := whys[listing]; some != nil {
		all = append(all, listing+" shows what is held ("+strings.Join(some, "; ")+")")
	}
	return strings.Join(all, "; ")
}

func (a *app) aeaList(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the messages of a repository, newest first",
		Example: `  intercom aea list`,
		Args:    between(0, 0, "no arguments"),
		RunE: tells(a, func(cmd *cobra.Command, _ []string) ([]letters, error) {
			_, all, err := a.messages(cmd.Context(), *dir, true)
			return all, err
		}, a.showLetters),
	}
}

// messages returns the messages of a repository, newest first: all, or only the unprocessed ones. It leaves out the
// copies of messages that the repository's own agent sent to others.
func (a *app) messages(ctx context.Context, dir string, all bool) (repository.Dir, []letters, error) {
	d, err := a.repo(ctx, dir)
	if err != nil {
		return d, nil, err
	}
	list, err := a.enabled()
	if err != nil {
		return d, nil, err
	}
	entries, err := d.List()
	if err != nil {
		return d, nil, aeaError(err)
	}
	hand, asked := map[string]bool{}, approvalsIn(list, d)
	for _, p := range list.Progress(d) {
		hand[p.File] = p.InHand
	}
	own := d.Owner()
	if !all {
		entries = slices.DeleteFunc(entries, func(e repository.Entry) bool { return e.Processed })
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
	}
	found := []letters{}
	for i, one := range d.ReadAll(names) {
		e, m, err := entries[i], one.Message, one.Err
		file := filepath.Join(".aea", e.Name)
		l := lettersOf(file, m)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			l = letters{File: file, Invalid: err.Error()}
		case own.Mine(m):
			continue
		}
		l.Processed, l.InHand, l.Approval = e.Processed, hand[e.Name] && !e.Processed, asked[e.Name]
		found = append(found, l)
	}
	return d, found, nil
}

// approvalsIn maps the file name of each message of a repository that awaits approval to its id for aea approve.
func approvalsIn(list repository.Enabled, d repository.Dir) map[string]string {
	all := map[string]string{}
	for _, p := range list.Progress(d) {
		if p.Awaits {
			all[p.File] = p.ID.Short()
		}
	}
	return all
}

func (a *app) aeaThread(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "thread ID",
		Short: "Show a conversation across repositories, oldest first",
		Long: `Show the messages of a conversation, oldest first, in all repositories that are
enabled here, that AEA's registry has, and the current one. ID is that of the
conversation, or of a message in it.`,
		Example: `  intercom aea thread 7c9e6679-7425-40de-944b-e07fc1f90ae7`,
		Args:    between(1, 1, "an id"),
		RunE: tells(a, func(cmd *cobra.Command, args []string) ([]letters, error) {
			var dirs []repository.Dir
			seen := map[string]bool{}
			add := func(path string) {
				if d, err := repository.Open(path); err == nil && !seen[d.Path] {
					seen[d.Path] = true
					dirs = append(dirs, d)
				}
			}
			d, err := a.repo(cmd.Context(), *dir)
			if err == nil {
				add(d.Path)
			} else if told, ok := errors.AsType[*api.Error](err); ok && told.Code == api.CodeRefused {
				return nil, err
			}
			list, err := a.enabled()
			if err != nil {
				return nil, err
			}
			wishes, err := list.List()
			if err != nil {
				return nil, err
			}
			for _, w := range wishes {
				add(w.Path)
			}
			registered, err := repository.Registry{Path: repository.RegistryPath(a.Getenv)}.List()
			if err != nil {
				return nil, err
			}
			for _, one := range registered {
				if one.Host == "" {
					add(one.Path)
				}
			}
			found, err := repository.Thread(args[0], dirs)
			if err != nil {
				return nil, aeaError(err)
			}
			if a.Agent != nil {
				places := a.workplaces(cmd.Context())
				found = slices.DeleteFunc(found, func(f repository.Found) bool {
					return !anyIn(places, f.Repository) && (f.Message.From.Path == "" || !anyIn(places, f.Message.From.Path))
				})
			}
			asked := map[string]map[string]string{} // by repository
			for _, d := range dirs {
				asked[d.Path] = approvalsIn(list, d)
			}
			all := []letters{}
			for _, f := range found {
				one := lettersOf(f.File, f.Message)
				one.Processed, one.Approval = f.Processed, asked[f.Repository][filepath.Base(f.File)]
				all = append(all, one)
			}
			if len(all) == 0 {
				return nil, api.Errorf(api.CodeNotFound, "no message of conversation %q", args[0]).WithHint("intercom aea list --json, in a repository, shows conversation_id of each message")
			}
			return all, nil
		}, a.showLetters),
	}
}

// aeaArchived is what `aea archive` prints.
type aeaArchived struct {
	Repository string   `json:"repository"`
	Archived   []string `json:"archived"` // file names, oldest first
}

func (a *app) aeaArchive(dir *string) *cobra.Command {
	var older string
	cmd := &cobra.Command{
		Use:   "archive",
		Short: "Move old processed messages into .aea/archive",
		Long: `Move messages that are processed and older than a time, with their markers, into
.aea/archive. What is not processed stays.`,
		Example: `  intercom aea archive --older-than 30d`,
		Args:    between(0, 0, "no arguments"),
		RunE: tells(a, func(cmd *cobra.Command, _ []string) (aeaArchived, error) {
			r := aeaArchived{}
			age, err := days(older)
			if err != nil {
				return r, err
			}
			d, err := a.repo(cmd.Context(), *dir)
			if err != nil {
				return r, err
			}
			r.Repository = d.Path
			r.Archived, err = d.Archive(time.Now().Add(-age))
			if err != nil && len(r.Archived) > 0 { // they are moved all the same
				if a.json {
					return r, errors.Join(a.printJSON(r), aeaError(err))
				}
				a.showArchived(r)
			}
			return r, aeaError(err)
		}, a.showArchived),
	}
	cmd.Flags().StringVar(&older, "older-than", "30d", "`AGE`, like 30d, 12h or 90m")
	return cmd
}

// days parses a duration that may be given in days.
func days(text string) (time.Duration, error) {
	hours := text
	unit := time.Duration(1)
	if n := len(text); n > 1 && text[n-1] == 'd' {
		hours, unit = text[:n-1]+"h", 24
	}
	age, err := time.ParseDuration(hours)
	if err != nil || age < 0 || age > math.MaxInt64/unit {
		return 0, api.Errorf(api.CodeUsage, "--older-than %q: not a time, like 30d, 12h or 90m", text)
	}
	return age * unit, nil
}

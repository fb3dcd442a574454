package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/scripting"
	"github.com/tmux-intercom/tmux-intercom/scripting/trust"
	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

// trustReply is what `policy trust` prints with --json.
type trustReply struct {
	Project string `json:"project"`
	trustedFile
	More []trustedFile `json:"more,omitempty"` // the other file of a project that has two
}

// trustedFile is what became of one file.
type trustedFile struct {
	File    string `json:"file"`
	Hash    string `json:"hash"`    // SHA-256 of the file as it is now; "" if it cannot be read
	Trusted bool   `json:"trusted"` // from now on
	Changed bool   `json:"changed"` // that was different before
}

func (a *app) policyTrust() *cobra.Command {
	var revoke bool
	cmd := &cobra.Command{
		Use:   "trust [DIR]",
		Short: "Let a project's policy do what your own policies may",
		Long: `Let a project's policy, .intercom/policy.lua in DIR, do what your own policies
may: decide, change texts, choose recipients. And let its AEA configuration,
.aea/agent-config.yaml, loosen what its agent answers by itself. Until then
either can only make things stricter. DIR is the current directory by default;
you can also name one of the two files.

Each file is shown and you are asked, and only y at your terminal means yes. You
trust the file as it is now: once it changes, it is no longer trusted. --revoke
takes back all that it was trusted for, also once the file is gone.`,
		Example: `  intercom policy trust
  intercom policy trust .aea/agent-config.yaml
  intercom policy trust --revoke ~/src/project`,
		Args: between(0, 1, "a directory, or nothing"),
		RunE: do(a, func(cmd *cobra.Command, args []string) (trustReply, error) {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			return a.trust(cmd.Context(), dir, revoke)
		}, func(r trustReply) {
			for _, f := range append([]trustedFile{r.trustedFile}, r.More...) {
				switch {
				case f.Trusted && !f.Changed:
					a.say("already trusted: %s", plainLine(f.File))
				case f.Trusted:
					a.say("trusted as it is now: %s", plainLine(f.File))
				case !f.Changed:
					a.say("not trusted: %s", plainLine(f.File))
				default:
					a.say("no longer trusted: %s", plainLine(f.File))
				}
			}
		}),
	}
	cmd.Flags().BoolVar(&revoke, "revoke", false, "revoke the trust")
	return cmd
}

// brought is a file that a project brings, and that a person may trust.
type brought struct {
	place      string // in the project
	text, hash string
	lets       []string // what it lets through and what is wrong with it, if known
	question   string
}

// trust lets a person trust what a project brings, or stop trusting it.
func (a *app) trust(ctx context.Context, named string, revoke bool) (trustReply, error) {
	list, err := a.trusted()
	if err != nil {
		return trustReply{}, err
	}
	project, files, err := filesOf(named, func(file string) bool { return revoke && list.Listed("", file) })
	if err != nil {
		return trustReply{}, err
	}
	r := trustReply{Project: project}
	for i, f := range files {
		one := trustedFile{File: filepath.Join(project, f.place), Hash: f.hash, Trusted: !revoke}
		stands := list.Trusted(f.place, f.hash)
		if revoke { // also for a text that the file had before it was changed
			stands = list.Listed(f.hash, one.File)
		}
		if stands != one.Trusted {
			if err := a.trustOne(ctx, list, f, one); err != nil {
				return r, err
			}
			one.Changed = true
		}
		if i == 0 {
			r.trustedFile = one
		} else {
			r.More = append(r.More, one)
		}
	}
	return r, nil
}

// trustOne shows a file to a person, and changes its trust if they say yes.
func (a *app) trustOne(ctx context.Context, list trust.List, f brought, to trustedFile) error {
	what, question, change := "trust a project's policy", f.question, list.Add
	if !to.Trusted {
		what, question, change = "revoke the trust in a project's policy", "Stop trusting it?", list.Remove
	}
	if err := a.personOnly(ctx, what); err != nil {
		return err
	}
	if to.Trusted && len(f.lets) > 0 {
		question = strings.Join(f.lets, "\n") + "\n\n" + question
	}
	if f.hash == "" {
		question = fmt.Sprintf("%s\nIt cannot be read any more.\n\n%s", plainLine(to.File), question)
	} else {
		question = fmt.Sprintf("%s\nSHA-256 %s\n\n%s\n\n%s", plainLine(to.File), f.hash, indent(plain(f.text), "  "), question)
	}
	if err := a.confirm(ctx, question); err != nil {
		return err
	}
	return change(f.hash, to.File)
}

// filesOf returns the files that a project brings; only one of them if that file is named. A file that cannot be read
// is returned if it is wanted all the same.
func filesOf(named string, wanted func(file string) bool) (project string, files []brought, err error) {
	hint := fmt.Sprintf("name a directory that has %s or %s", scripting.ProjectFile, repository.ConfigFile)
	places := []string{scripting.ProjectFile, repository.ConfigFile}
	project, err = filepath.Abs(named)
	for _, place := range places {
		if dir, found := strings.CutSuffix(project, string(filepath.Separator)+place); found {
			project, places = dir, []string{place}
		}
	}
	if err == nil {
		var there string
		if there, err = filepath.EvalSymlinks(project); err == nil {
			project = there
		} else if slices.ContainsFunc(places, func(place string) bool { return wanted(filepath.Join(project, place)) }) {
			err = nil
		}
	}
	if err != nil {
		return project, nil, api.Errorf(api.CodeUsage, "project: %w", err).WithHint("%s", hint)
	}
	for _, place := range places {
		f, err := broughtIn(project, place)
		if err != nil && wanted(filepath.Join(project, place)) {
			f, err = brought{place: place}, nil
		}
		if errors.Is(err, fs.ErrNotExist) && len(places) > 1 {
			continue
		}
		if err != nil {
			return project, nil, api.Errorf(api.CodeUsage, "%w", err).WithHint("%s", hint)
		}
		files = append(files, f)
	}
	if files == nil {
		return project, nil, api.Errorf(api.CodeUsage, "%q has neither %s nor %s", project, places[0], places[1]).WithHint("%s", hint)
	}
	return project, files, nil
}

func broughtIn(project, place string) (brought, error) {
	if place == scripting.ProjectFile {
		source, err := scripting.ReadProject(project)
		return brought{place: place, text: source.Text, hash: source.Hash(), question: "May it do what your own policies may?"}, err
	}
	c, err := repository.Read(project)
	f := brought{place: place, text: c.Text, hash: c.Hash, question: "May it decide what its agent answers by itself?"}
	for _, p := range append(slices.Clone(c.Problems), c.Said.Withheld()...) {
		if p.Level != aea.Notice {
			f.lets = append(f.lets, plainLine(p.String()))
		}
	}
	return f, err
}

// personOnly refuses to change a person's own files for a caller that one of this person's sidecars does not take for
// the person. It asks all of them, whichever server the command names: they all go by those files. If no sidecar runs,
// nobody can tell, and nothing is refused.
func (a *app) personOnly(ctx context.Context, what string) error {
	reach, cancel := within(ctx)
	defer cancel()
	here, p, running, err := a.running(reach)
	if err != nil {
		return err
	}
	sockets := api.Sockets(p.Runtime)
	if running && !slices.Contains(sockets, here.Socket) {
		sockets = append(sockets, here.Socket)
	}
	for _, socket := range sockets {
		_, err := quickly(ctx, &api.Client{Socket: socket, Key: a.Key, Agent: a.Agent}, api.MayChange, api.MayChangeRequest{What: what})
		told, _ := errors.AsType[*api.Error](err)
		switch {
		case err == nil || absent(err):
		case told != nil && told.Code == api.CodeNotFound:
			return told.WithHint("the sidecar at %s is of another version: intercom up, in its tmux server, replaces it", plainLine(socket))
		default:
			return err
		}
	}
	return nil
}

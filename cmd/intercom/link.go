package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/hub"
	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
	plaintext "github.com/tmux-intercom/tmux-intercom/sidecar/plain"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// hubApplies is how long a running hub may take to learn of a new computer.
const hubApplies = 10 * time.Second

// maxCredentials is how many bytes of credentials are read.
const maxCredentials = 1 << 20

func (a *app) link() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "link",
		Short: "Link this computer with others",
		Long: `Print the line with which another computer joins the hub of this one, as link
add does, under a name of its own: computer-2, computer-3, …

  on this computer       intercom-hub --listen 0.0.0.0:4222
                         intercom link add raspi
  on the other           the line that it prints

Two computers without a service that others can reach: intercom link ssh HOST.`,
		Example: `  intercom link
  intercom link add raspi
  intercom link ssh raspi.local`,
		Args: a.onlyCommands,
		RunE: a.adds(&dir),
	}
	cmd.PersistentFlags().StringVar(&dir, "dir", "", "`DIRECTORY` of the hub; else ~/.local/state/intercom-hub")
	cmd.AddCommand(a.linkAdd(&dir), a.linkJoin(), a.linkSSH(), a.linkEnd(&dir))
	return cmd
}

// linkAdded is what `link add --json` prints.
type linkAdded struct {
	Computer string      `json:"computer"`
	URL      string      `json:"url"`
	Line     string      `json:"line"`           // for the other computer
	Here     *linkJoined `json:"here,omitempty"` // this computer joined as well
}

func (a *app) linkAdd(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "add NAME",
		Short: "Print the line with which another computer joins",
		Long: `Give a computer access to the hub on this one and print the line that is to be
run there. Whoever has the line can join as that computer: it is printed once,
and intercom-hub revoke NAME takes the access away.

This computer joins its hub as well, if it has not joined one.`,
		Example: `  intercom link add raspi`,
		Args:    between(1, 1, "a name for the other computer"),
		RunE:    a.adds(dir),
	}
}

// adds makes a command's function out of addComputer. The line is kept nowhere: it is printed before anything else that
// may fail.
func (a *app) adds(dir *string) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.ran = true
		defer a.still(cmd.CommandPath())()
		h, err := a.hubHere(*dir)
		if err != nil {
			return err
		}
		r, joined, err := a.addComputer(h, strings.Join(args, ""))
		if err != nil {
			return err
		}
		if a.json {
			err = a.printJSON(r)
		} else {
			_, err = fmt.Fprintln(a.Stdout, r.Line)
		}
		if err != nil {
			return api.Errorf(api.CodeFailed, "print the line for %s: %w", r.Computer, err).WithHint("%s, then add it again", revokes(r.Computer, *dir))
		}
		if !a.json {
			a.noteAdded(r, *dir)
		}
		if joined != nil {
			return joined
		}
		return applied(cmd.Context(), h)
	}
}

// revokes returns the command that takes away the access of a computer to the hub in dir.
func revokes(computer, dir string) string {
	if dir == "" {
		return "intercom-hub revoke " + computer
	}
	return "intercom-hub revoke " + computer + " --dir " + plaintext.ShellWord(dir)
}

func (a *app) noteAdded(r linkAdded, dir string) {
	if r.Here != nil {
		a.note("this computer has joined as %s", r.Here.Computer)
		a.noteSetting(*r.Here)
	}
	a.note("run that line on the other computer; %s undoes it", revokes(r.Computer, dir))
}

// hubHere opens the hub whose files are on this computer.
func (a *app) hubHere(dir string) (h hub.Hub, err error) {
	if dir == "" {
		if dir, err = hub.Place(a.Getenv); err != nil {
			return h, api.Errorf(api.CodeUsage, "%w", err).WithHint("set HOME")
		}
	}
	if h, err = hub.Open(dir); err != nil {
		return h, api.Errorf(api.CodeFailed, "%w", err).WithHint("name the directory of the hub with --dir")
	}
	return h, nil
}

// addComputer gives a computer access to the hub; without a name it gets the first free one. joined is why this
// computer could not join the hub itself; the other one has access all the same.
func (a *app) addComputer(h hub.Hub, name string) (r linkAdded, joined, err error) {
	s, runs, err := h.Serving()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, nil, api.Errorf(api.CodeFailed, "no hub has run on this computer").WithHint("start one: intercom-hub --listen 0.0.0.0:4222 (make install, in a checkout, installs it); or intercom link ssh HOST")
	case err != nil:
		return r, nil, api.Errorf(api.CodeFailed, "%w", err)
	case !s.Reachable():
		return r, nil, api.Errorf(api.CodeFailed, "the hub listens on %s, which no other computer reaches", s.Listen).WithHint("start it with --listen 0.0.0.0:4222; or intercom link ssh HOST")
	}
	if name == "" {
		if name, err = freeComputer(h); err != nil {
			return r, nil, err
		}
	}
	i, err := invite(h, name, s.URL())
	if err != nil {
		return r, nil, err
	}
	r = linkAdded{Computer: i.Name, URL: i.URL, Line: "intercom link join " + i.String()}
	r.Here, joined = a.joinOwn(h, s)
	if !runs {
		a.note("the hub is not running: start intercom-hub")
	}
	return r, joined, nil
}

func applied(ctx context.Context, h hub.Hub) error {
	ctx, cancel := context.WithTimeout(ctx, hubApplies)
	defer cancel()
	if err := h.Applied(ctx); err != nil {
		return api.Errorf(api.CodeFailed, "%w", err).WithHint("look at what intercom-hub says")
	}
	return nil
}

func invite(h hub.Hub, name, url string) (hub.Invitation, error) {
	i, err := h.Invite(name, url, time.Now())
	switch {
	case errors.Is(err, hub.ErrKnown):
		return i, api.Errorf(api.CodeFailed, "%w", err).WithHint("choose another name; if its line was lost: intercom-hub revoke %s", strings.ToLower(name))
	case errors.Is(err, registry.ErrName):
		return i, api.Errorf(api.CodeUsage, "%w", err).WithHint("1 to 64 of a-z 0-9 _ -, for example raspi")
	case err != nil:
		return i, api.Errorf(api.CodeFailed, "%w", err).WithHint("name the directory of the hub with --dir")
	}
	return i, nil
}

func freeComputer(h hub.Hub) (string, error) {
	book, err := h.Book()
	if err != nil {
		return "", api.Errorf(api.CodeFailed, "%w", err)
	}
	taken := map[string]bool{}
	for _, c := range book.Computers {
		taken[c.Name] = true
	}
	for n := 2; ; n++ {
		if name := fmt.Sprintf("computer-%d", n); !taken[name] {
			return name, nil
		}
	}
}

// ownName returns the name of this computer: its host name up to the first dot, as far as that makes a valid name, else
// "this".
func ownName() string {
	name, err := os.Hostname()
	if err != nil {
		return "this"
	}
	name, _, _ = strings.Cut(name, ".")
	if token, err := link.Token(registry.NameFrom(name)); err == nil {
		return token
	}
	return "this"
}

// joinOwn has this computer join its own hub. It returns nil if this computer has joined a hub already, or its name has
// access but its credentials are not here.
func (a *app) joinOwn(h hub.Hub, s hub.Serving) (*linkJoined, error) {
	config, err := a.configDir()
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(config, credsFile)); !errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	name := ownName()
	i, err := h.Invite(name, s.Here(), time.Now())
	if errors.Is(err, hub.ErrKnown) {
		a.note("%s has access, but its credentials are not here; to join again: intercom-hub revoke %s", name, name)
		return nil, nil
	}
	if err != nil {
		return nil, api.Errorf(api.CodeFailed, "%w", err)
	}
	r, err := a.join(i, "")
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// credsFile is the file with this computer's credentials, in its configuration directory.
const credsFile = "link.creds"

// linkJoined is what `link join --json` prints.
type linkJoined struct {
	Computer    string `json:"computer"`
	NATS        string `json:"nats"`
	Credentials string `json:"credentials"` // path
	Init        string `json:"init"`        // path of init.lua
	Setting     string `json:"setting"`     // the line that init.lua needs
	Written     bool   `json:"written"`     // init.lua was created with that line, or has it already
}

func (a *app) linkJoin() *cobra.Command {
	return &cobra.Command{
		Use:   "join TOKEN",
		Short: "Join the hub of another computer",
		Long: `Join the hub that link add was run on: its line is run here. The credentials go
to link.creds, in the directory of init.lua. Where there is no init.lua, one is
written; else the line that it needs is printed, and is yours to add.`,
		Example: `  intercom link join eyJ2IjoxLCJuIjoicmFzcGkiLCJ1IjoidGxzOi8v…`,
		Args:    between(1, 1, "the token that link add has printed"),
		RunE: do(a, func(_ *cobra.Command, args []string) (linkJoined, error) {
			i, err := hub.ParseInvitation(args[0])
			if err != nil {
				return linkJoined{}, api.Errorf(api.CodeUsage, "%w", err).WithHint("copy the whole line that intercom link add has printed")
			}
			return a.join(i, "")
		}, func(r linkJoined) {
			if r.Written {
				a.say("linked as %s: %s", r.Computer, plainLine(r.Init))
				return
			}
			a.say("%s", plainLine(r.Setting))
			a.noteSetting(r)
		}),
	}
}

// noteSetting says what is left to do.
func (a *app) noteSetting(r linkJoined) {
	if r.Written {
		a.note("%s is new, and says so", r.Init)
	} else {
		a.note("put this into %s: %s", r.Init, r.Setting)
	}
}

// join writes the credentials, and init.lua if there is none. remark is written before the credentials.
func (a *app) join(i hub.Invitation, remark string) (r linkJoined, err error) {
	config, err := a.configDir()
	if err != nil {
		return r, err
	}
	r = linkJoined{Computer: i.Name, NATS: i.URL, Credentials: filepath.Join(config, credsFile), Init: filepath.Join(config, "init.lua")}
	r.Setting = fmt.Sprintf("intercom.configure { computer = { name = %s, nats = %s, creds = %s } }", luaString(i.Name), luaString(i.URL), luaString(a.tilde(r.Credentials)))
	if err := os.MkdirAll(config, 0o700); err != nil {
		return r, api.Errorf(api.CodeFailed, "%w", err)
	}
	text := append([]byte(remark), i.Credentials()...)
	err = atomicfile.Create(r.Credentials, text, 0o600)
	if errors.Is(err, fs.ErrExist) {
		if have, e := own.Read(r.Credentials, maxCredentials); e != nil || string(have) != string(text) {
			return r, api.Errorf(api.CodeFailed, "this computer has joined already: %s is there", r.Credentials).WithHint("to join again, remove it first: rm %s", a.tilde(r.Credentials))
		}
		err = nil
	}
	if err != nil {
		return r, api.Errorf(api.CodeFailed, "%w", err)
	}
	err = atomicfile.Create(r.Init, []byte("-- intercom policy edit has more to offer.\n"+r.Setting+"\n"), 0o644)
	switch {
	case err == nil:
		r.Written = true
	case errors.Is(err, fs.ErrExist):
		have, e := foreign.Read(r.Init, 1<<20)
		r.Written = e == nil && strings.Contains("\n"+string(have), "\n"+r.Setting)
	default:
		return r, api.Errorf(api.CodeFailed, "%w", err)
	}
	return r, nil
}

// tilde returns a path as a person writes it, with ~ for the home.
func (a *app) tilde(path string) string {
	if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(a.Getenv("HOME"), "/")+"/"); ok && a.Getenv("HOME") != "" {
		return "~/" + rest
	}
	return path
}

func luaString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(s) + `"`
}

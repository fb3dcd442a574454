package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/hub"
	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/manpage"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// version is set by the linker in a program that make builds.
var version = "devel"

// env is all that the program sees of the world around it.
type env struct {
	Args   []string
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
}

// app is one run of the program.
type app struct {
	env
	json bool
	dir  string
	ran  bool // a command has begun: its errors are not those of wrong usage
}

// failure is an error with a hint and an exit code: 1 failed, 2 wrong usage.
type failure struct {
	err  error
	hint string
	code int
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func refuse(code int, hint, format string, args ...any) error {
	return &failure{err: fmt.Errorf(format, args...), hint: hint, code: code}
}

// appliedWithin is how long a running hub may take to apply a change.
const appliedWithin = 10 * time.Second

// run runs the command that the arguments name and returns the exit code: 0 done, 1 failed, 2 wrong usage.
func run(ctx context.Context, e env) int {
	a := &app{env: e}
	root := a.root()
	root.SetArgs(e.Args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	f, ok := errors.AsType[*failure](err)
	if !ok {
		f = explained(err, a.ran)
	}
	fmt.Fprintf(e.Stderr, "intercom-hub: error: %v\n", f.err)
	fmt.Fprintf(e.Stderr, "intercom-hub: hint: %s\n", cmp.Or(f.hint, cmd.CommandPath()+" --help"))
	return f.code
}

// explained returns an error with a hint and an exit code.
func explained(err error, ran bool) *failure {
	f := &failure{err: err, code: 1}
	switch {
	case !ran:
		f.code = 2
	case errors.Is(err, hub.ErrUnknown):
		f.hint = "intercom-hub list"
	case errors.Is(err, registry.ErrName):
		f.code, f.hint = 2, "1 to 64 of a-z 0-9 _ -, for example raspi"
	case errors.Is(err, hub.ErrServed):
		f.hint = "name another directory with --dir, or end the one that runs"
	case errors.Is(err, hub.ErrNotApplied):
		f.hint = "see the output of the hub; until it applies the change, the previous access stays in effect"
	default:
		f.hint = "name another directory with --dir, or another address with --listen"
	}
	return f
}

func (a *app) root() *cobra.Command {
	var s serving
	root := &cobra.Command{
		Use:   "intercom-hub",
		Short: "The server between your computers, for tmux-intercom",
		Long: `Carry messages between your computers: each has a key of its own, and can only
speak as itself and read what is for itself. What is sent to a computer that is
away waits here.

Everything is kept below $XDG_STATE_HOME/intercom-hub (~/.local/state). The
connections are encrypted, by a certificate of the hub's own making that comes
with the credentials of each computer. Beyond this machine, --plain needs
--insecure: anybody on the way could read and change what is sent.

On the computer of the hub, intercom link add NAME prints the line with which
another one joins.`,
		Example: `  intercom-hub --listen 0.0.0.0:4222 --host desk.example.org
  intercom-hub add raspi > raspi.creds
  intercom-hub revoke raspi`,
		Version:       version,
		Args:          cobra.NoArgs,
		SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { a.ran = true; return a.serve(cmd.Context(), s) },
	}
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print one JSON value and nothing else")
	root.PersistentFlags().StringVar(&a.dir, "dir", "", "`DIRECTORY` of keys and messages")
	root.Flags().StringVar(&s.listen, "listen", "127.0.0.1:4222", "`ADDRESS` to listen on")
	root.Flags().StringArrayVar(&s.hosts, "host", nil, "`NAME` by which others reach it; may be repeated")
	root.Flags().BoolVar(&s.plain, "plain", false, "do not encrypt")
	root.Flags().BoolVar(&s.insecure, "insecure", false, "allow --plain beyond this machine")
	root.AddCommand(a.add(), a.list(), a.revoke(), a.man())
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	return root
}

func (a *app) open() (hub.Hub, error) {
	dir, err := a.dir, error(nil)
	if dir == "" {
		if dir, err = hub.Place(a.Getenv); err != nil {
			return hub.Hub{}, refuse(2, "set HOME, or name a directory with --dir", "%w", err)
		}
	}
	return hub.Open(dir)
}

// added is what `add --json` prints.
type added struct {
	hub.Computer
	URL         string `json:"url,omitempty"` // where the hub is reached, once it has run
	Credentials string `json:"credentials"`
}

func (a *app) add() *cobra.Command {
	return &cobra.Command{
		Use:   "add NAME",
		Short: "Give a computer access, and print its credentials",
		Long: `Give a computer access and print its credentials, a file for computer.creds in its
init.lua. They are printed once and kept nowhere here. A hub that runs takes
them at once.`,
		Example: `  intercom-hub add raspi > raspi.creds`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.ran = true
			h, err := a.open()
			if err != nil {
				return err
			}
			s, _, err := h.Serving()
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			ca, err := h.Authority(time.Now())
			if err != nil {
				return err
			}
			if s.Plain {
				ca = nil
			}
			c, seed, err := h.Add(args[0], time.Now())
			if errors.Is(err, hub.ErrKnown) {
				return refuse(1, a.revokeLine(strings.ToLower(args[0]))+" first, if its credentials were lost", "%w", err)
			}
			if err != nil {
				return err
			}
			r := added{Computer: c, Credentials: string(link.Format(seed, ca))}
			if s.Listen != "" {
				r.URL = s.URL()
			}
			if a.json {
				err = a.printJSON(r)
			} else {
				_, err = io.WriteString(a.Stdout, r.Credentials)
			}
			if err != nil {
				return refuse(1, a.revokeLine(c.Name)+", then add it again", "print the credentials of %s: %w", c.Name, err)
			}
			// Only now: they are kept nowhere, and waiting may fail.
			if err := a.applied(cmd.Context(), h); err != nil || a.json {
				return err
			}
			if r.URL != "" && !s.Reachable() {
				fmt.Fprintln(a.Stderr, "intercom-hub: note: the hub listens on this machine alone; others reach it with --listen 0.0.0.0:4222")
			}
			return nil
		},
	}
}

// revokeLine returns the command that takes away the access of a computer.
func (a *app) revokeLine(name string) string {
	if a.dir == "" {
		return "intercom-hub revoke " + name
	}
	return "intercom-hub revoke " + name + " --dir " + strconv.Quote(a.dir)
}

func (a *app) list() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the computers that have access",
		Example: `  intercom-hub list --json`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			a.ran = true
			h, err := a.open()
			if err != nil {
				return err
			}
			book, err := h.Book()
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(append([]hub.Computer{}, book.Computers...))
			}
			w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tADDED\tKEY")
			for _, c := range book.Computers {
				fmt.Fprintf(w, "%s\t%s\t%s\n", c.Name, c.Added.Local().Format("2006-01-02 15:04"), c.Key)
			}
			return w.Flush()
		},
	}
}

// revoked is what `revoke --json` prints.
type revoked struct {
	Name   string `json:"name"`
	Purged bool   `json:"purged"`
}

func (a *app) revoke() *cobra.Command {
	var purge bool
	cmd := &cobra.Command{
		Use:   "revoke NAME",
		Short: "Revoke a computer's access: its connections are closed at once",
		Long: `Revoke a computer's access. A hub that runs closes its connections before this
returns. What waits for the computer stays for one that is added by the same
name, unless it is purged.`,
		Example: `  intercom-hub revoke raspi`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.ran = true
			h, err := a.open()
			if err != nil {
				return err
			}
			if err := h.Revoke(args[0], purge); err != nil {
				return err
			}
			if err := a.applied(cmd.Context(), h); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(revoked{Name: strings.ToLower(args[0]), Purged: purge})
			}
			fmt.Fprintf(a.Stdout, "%s has no access any more\n", strings.ToLower(args[0]))
			return nil
		},
	}
	cmd.Flags().BoolVar(&purge, "purge", false, "delete what waits for it as well")
	return cmd
}

// man writes the manual pages, for make install.
func (a *app) man() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the manual pages", Hidden: true, Args: cobra.ExactArgs(1),
		Example: `  intercom-hub man ~/.local/share/man/man1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.ran = true
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			for _, page := range manpage.Of(cmd.Root(), "intercom-hub "+version, "tmux-intercom") {
				if err := os.WriteFile(filepath.Join(args[0], page.Name), []byte(page.Text), 0o644); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// applied waits until the hub, if it runs, has applied a change.
func (a *app) applied(ctx context.Context, h hub.Hub) error {
	ctx, cancel := context.WithTimeout(ctx, appliedWithin)
	defer cancel()
	return h.Applied(ctx)
}

func (a *app) printJSON(value any) error {
	e := json.NewEncoder(a.Stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(value)
}

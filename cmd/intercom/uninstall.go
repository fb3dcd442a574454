package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/hooks"
	plaintext "github.com/tmux-intercom/tmux-intercom/sidecar/plain"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// leftover is something that `uninstall` does not remove, since it may still be wanted.
type leftover struct {
	What   string `json:"what"`
	Path   string `json:"path"`
	Remove string `json:"remove"` // the command that removes it, or, in brackets, how to remove it
}

// uninstallReply is what `uninstall --json` prints.
type uninstallReply struct {
	Server   string   `json:"server,omitempty"`
	PID      int      `json:"pid,omitempty"`      // of the sidecar that was ended
	Headless int      `json:"headless,omitempty"` // of the one without tmux, which serves ports and repositories
	Released []string `json:"released,omitempty"` // sessions, by name
	// Undelivered are the short ids of messages that waited for one of those; the journal keeps them. 21 ids mean 21
	// messages or more.
	Undelivered []string `json:"undelivered,omitempty"`
	Chats       []string `json:"chats_ended,omitempty"` // by name and short id, as they are printed
	Unsent      []string `json:"unsent,omitempty"`      // where our text stands in a composer, as it is printed
	tmux.Removed
	Hooks    []string   `json:"hooks"`              // files of agents that call intercom no longer
	Commands []string   `json:"commands,omitempty"` // what made intercom a command to type
	Left     []leftover `json:"left"`

	root   string    // where the plugin is; "" where none is loaded
	typed  string    // how to call the remaining program in a shell; "" means intercom
	at     api.Paths // where the sidecar was, perhaps in another environment
	failed []leftover
}

// line returns a command of the remaining program.
func (r *uninstallReply) line(words string) string { return cmp.Or(r.typed, "intercom") + " " + words }

// stays records what could not be removed, and why; again is the command that removes it once the cause is gone.
func (r *uninstallReply) stays(what, complaint, file, again string) {
	why, _, _ := strings.Cut(strings.TrimSpace(complaint), "\n")
	one := leftover{what + ", where something is wrong: " + strings.TrimPrefix(why, "intercom: error: "), file, again}
	r.failed, r.Left = append(r.failed, one), append(r.Left, one)
}

// unfinished returns the error of a removal that has left something; nil if it has not.
func (r *uninstallReply) unfinished() error {
	if len(r.failed) == 0 {
		return nil
	}
	var what, again []string
	for _, one := range r.failed {
		what, again = append(what, one.What), append(again, one.Remove)
	}
	return api.Errorf(api.CodeFailed, "%s", strings.Join(what, "; ")).
		WithHint("fix that, then: %s; everything else was removed", strings.Join(again, " && "))
}

func (a *app) uninstall() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove intercom from this tmux server",
		Long: `Remove intercom from this tmux server and from the agents on this computer:
adopted panes are released, which ends their chats; the sidecar and its socket
go, and so does one that serves talk ports and repositories without tmux; our
keys, options and marks are removed from the tmux server, and our hooks, tools
and skill from the settings of agents. Everything else is left alone, options
that you have set for intercom too.

The journal, the program itself and the files of AEA repositories stay; how to
remove them is printed. No command but intercom up starts a sidecar again. The
plugin comes back when tmux loads its configuration again: remove its line from
there first.

At a terminal you are asked before, if messages wait that would not be delivered
then, or a chat would end. An agent cannot uninstall. Where no sidecar runs that
could tell, you are asked, and only y at your terminal means yes.`,
		Example: `  intercom uninstall`,
		Args:    between(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var unfinished error
			err := do(a, func(cmd *cobra.Command, _ []string) (uninstallReply, error) {
				r, err := a.takeOut(cmd.Context(), force)
				unfinished = r.unfinished()
				return r, err
			}, a.showUninstalled)(cmd, args)
			return cmp.Or(err, unfinished)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "do not ask, whatever is lost")
	return cmd
}

func (a *app) takeOut(ctx context.Context, force bool) (uninstallReply, error) {
	r := uninstallReply{Removed: tmux.Removed{Keys: []string{}, Options: []string{}, Panes: []string{}}, Hooks: []string{}, Left: []leftover{}}
	p, err := api.Places(a.Getenv, a.tmuxServer())
	if err != nil {
		return r, err
	}
	r.Server = p.Server
	// Ask first for what only a person may allow: if that is refused, nothing is half done.
	if err := a.asked(ctx, force); err != nil {
		return r, err
	}
	if err := a.endSidecars(ctx, p, &r); err != nil {
		return r, err
	}
	if p.Server != "" {
		removed, err := tmux.Clear(ctx, a.tmuxOptions())
		r.Keys = append(r.Keys, removed.Keys...)
		r.Options = append(r.Options, removed.Options...)
		r.Panes = append(r.Panes, removed.Panes...)
		r.Yours = removed.Yours
		slices.Sort(r.Options)
		if err != nil && !tmux.NoServer(err) { // if the server has ended, all of it is gone
			return r, err
		}
	}
	if free(p.Lock) {
		_ = os.Remove(p.Socket) // of a sidecar that was killed
	}
	r.typed = a.typedAfter(r.at)
	a.unhook(ctx, &r)
	a.untype(&r)
	a.untool(ctx, &r)
	r.Left = append(r.Left, a.portsLeft(&r)...) // before the lines that remove their state, or the program
	r.Left = append(r.Left, a.leftovers(p, r.root, otherRuns(r.at))...)
	return r, nil
}

// typedAfter returns how a person calls this program after untype: by its path, if untype removes what makes intercom a
// command to type.
func (a *app) typedAfter(at api.Paths) string {
	self := ownProgram(a.Executable)
	if c, err := a.typed(a.Getenv("PATH")); err == nil && !otherRuns(at) && slices.ContainsFunc(c.files(), exists) && filepath.IsAbs(self) {
		return plaintext.ShellWord(self)
	}
	return ""
}

// asked has a person say yes if something would be lost, or if no sidecar runs that would refuse a caller that is not a
// person.
func (a *app) asked(ctx context.Context, force bool) error {
	reach, cancel := within(ctx)
	defer cancel()
	c, p, running, err := a.running(reach)
	switch {
	case err != nil || running && force:
		return err
	case running:
		would, err := mayRelease(reach, c, "")
		if hangs(err) {
			return err
		}
		return a.askBeforeLoss(ctx, would, "Uninstall?") // the request to end refuses a caller that may not
	}
	if err := a.personOnly(ctx, "uninstall"); err != nil {
		return err
	}
	from := "the agents on this computer"
	if p.Server != "" {
		from = "tmux server " + plainLine(p.Server) + ", and from " + from
	}
	return a.confirm(ctx, "No sidecar runs that could tell who asks. Remove intercom from "+from+"?")
}

// endSidecars ends the sidecar of this tmux server, and the one without tmux that serves ports and repositories. No
// command but up brings them back.
func (a *app) endSidecars(ctx context.Context, p api.Paths, r *uninstallReply) error {
	if p.Server != "" {
		var ended []downReply
		free, err := a.alone(ctx, &ended)
		defer free()
		if err != nil {
			return err
		}
		for _, one := range ended {
			r.Headless = one.PID
		}
	}
	who, err := a.endSidecar(ctx, r)
	if err != nil {
		return err
	}
	if p.Server != "" {
		if err := a.unload(ctx, r); err != nil && !tmux.NoServer(err) {
			return err
		}
	}
	if exists(p.State) { // else there is nothing to come back to
		if err := atomicfile.Write(uninstalledFile(p), nil, 0o600); err != nil {
			return err
		}
	}
	return gone(ctx, who) // after the file is there, so that the sidecar starts no other
}

// unload notes in the tmux server that the plugin is not loaded there, before the file says that intercom was
// uninstalled: a command that finds the file and a loaded plugin concludes that the plugin was loaded again since.
func (a *app) unload(ctx context.Context, r *uninstallReply) error {
	options, err := tmux.Ask(ctx, a.tmuxOptions(), rootOption)
	if err != nil || options[rootOption] == "" {
		return err
	}
	r.root, r.Options = options[rootOption], append(r.Options, rootOption)
	return tmux.Set(ctx, a.tmuxOptions(), map[string]string{rootOption: ""})
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// endSidecar releases all panes and ends the sidecar, if one runs. Its process may still be there.
func (a *app) endSidecar(ctx context.Context, r *uninstallReply) (who process.Process, _ error) {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	_, p, _, _ := a.running(ctx) //nolint:dogsled // where it is, also if it hangs
	r.at = p
	done, err := a.unguarded(ctx, p)
	if err != nil {
		return who, err
	}
	defer done()
	c, p, running, err := a.running(ctx)
	if err != nil || !running {
		return who, err
	}
	who = resident(p.Lock)
	status, err := api.Call(ctx, c, api.ShowStatus, api.None{})
	if absent(err) {
		return who, ended(ctx, p)
	}
	if err != nil {
		return who, err
	}
	before := beforeLoss(ctx, c)
	for _, session := range status.Sessions {
		shown, _ := quickly(ctx, c, api.Explain, api.ExplainRequest{Pane: string(session.ID)}) // afterwards nobody can tell
		released, err := api.Call(ctx, c, api.Release, api.ReleaseRequest{Pane: string(session.ID)})
		if told, ok := errors.AsType[*api.Error](err); ok && told.Code == api.CodeNotFound {
			continue // its pane has ended meanwhile
		}
		if err != nil {
			return who, err
		}
		r.Released = append(r.Released, session.Name)
		if left := leftUnsent(ctx, c, released, shown.Unsent); left != "" {
			r.Unsent = append(r.Unsent, left)
		}
	}
	for _, chat := range endedSince(ctx, c, before.chats) {
		r.Chats = append(r.Chats, chatName(chat))
	}
	r.Undelivered = undelivered(ctx, c, before.seq, anyEvent)
	if _, err := api.Call(ctx, c, api.Down, api.None{}); err != nil && !absent(err) {
		return who, err
	}
	r.PID = status.PID
	return who, ended(ctx, p)
}

// unhook removes our hooks from the settings of all agents. It leaves settings alone that cannot be changed, and that
// have nothing of ours as far as it can see.
func (a *app) unhook(ctx context.Context, r *uninstallReply) {
	for _, agent := range hooks.Agents() {
		var out, complaint bytes.Buffer
		e := a.env
		e.Args, e.Stdin, e.Stdout, e.Stderr = []string{"hooks", "uninstall", agent, "--json"}, strings.NewReader(""), &out, &complaint
		if code := run(ctx, e); code != 0 {
			if file, err := a.hooksFile(agent); err != nil || says(file, "hook") {
				r.stays("hooks of "+agent, complaint.String(), file, r.line("hooks uninstall "+agent))
			}
			continue
		}
		var reply hooksReply
		if json.Unmarshal(out.Bytes(), &reply) == nil && reply.Changed {
			r.Hooks = append(r.Hooks, reply.File)
		}
	}
}

// says reports whether a file contains a word, or cannot be read.
func says(file, word string) bool {
	text, err := readWhole(file)
	return err != nil || bytes.Contains(text, []byte(word))
}

// untool removes our tools, and the skill that says when to use them, from the settings of all agents. A skill that was
// changed since stays, and is reported as left.
func (a *app) untool(ctx context.Context, r *uninstallReply) {
	for _, agent := range hooks.ServerAgents() {
		var out, complaint bytes.Buffer
		e := a.env
		e.Args, e.Stdin, e.Stdout, e.Stderr = []string{"mcp", "uninstall", agent, "--json"}, strings.NewReader(""), &out, &complaint
		var reply mcpInstalled
		code := run(ctx, e)
		if err := json.Unmarshal(out.Bytes(), &reply); code != 0 || err != nil {
			file, err := a.serverFile(agent)
			skill, skillErr := a.fileOf(agent, skillFile(agent))
			if err != nil || skillErr != nil || says(file, "intercom") || exists(skill) {
				r.stays("tools of "+agent, complaint.String(), file, r.line("mcp uninstall "+agent))
			}
			continue
		}
		for _, f := range reply.Files {
			switch {
			case f.Changed:
				r.Hooks = append(r.Hooks, f.File)
			case f.Stays:
				r.Left = append(r.Left, leftover{"the skill for agents, which was changed since", f.File, "rm " + plaintext.ShellWord(f.File)})
			}
		}
	}
}

// leftovers returns what is still there, each with the command that removes it. What the sidecar of another tmux server
// uses must stay until that sidecar is gone.
func (a *app) leftovers(p api.Paths, root string, others bool) []leftover {
	left := []leftover{}
	add := func(what, path string, shared bool) {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) || path == "" {
			return
		}
		left = append(left, leftover{what, path, removal(path, shared && others)})
	}
	add("journals and logs of all tmux servers: what was said, and the mark that keeps commands from starting a sidecar here", filepath.Dir(p.State), true)
	add("locks", p.Runtime, true)
	if data, err := a.dataDir(); err == nil {
		add("programs built by the plugin, and editor support for policies", data, true)
	}
	if config, err := a.configDir(); err == nil {
		add("your settings", config, true)
	}
	if ports, err := talkHome(a.Getenv); err == nil {
		add("messages of talk ports", ports.Dir, true)
	}
	left = append(left, a.repositoriesLeft(p, others)...)
	if prefix, ok := a.installed(); ok {
		left = append(left, leftover{"what make install put below " + prefix, prefix, "make uninstall PREFIX=" + plaintext.ShellWord(prefix) + " (in a checkout)"})
	}
	if root != "" { // it may be somebody's work, so no command that removes it
		left = append(left, leftover{"the plugin itself, at " + root, root, "(its line in tmux.conf; with TPM, prefix + M-u after that)"})
	}
	return left
}

// portsLeft returns the talk ports that a person wants listened on.
func (a *app) portsLeft(r *uninstallReply) (left []leftover) {
	ports, err := talkHome(a.Getenv)
	if err != nil {
		return nil
	}
	for _, w := range ports.Wishes() {
		left = append(left, leftover{fmt.Sprintf("the listener on talk port %d: the next sidecar opens it again", w.Port), ports.Dir, r.line(fmt.Sprintf("talk listen stop --port %d", w.Port))})
	}
	return left
}

// installed returns the PREFIX of the `make install` that put this program where it is, if one did.
func (a *app) installed() (prefix string, ok bool) {
	self := ownProgram(a.Executable)
	bin := filepath.Dir(self)
	prefix = filepath.Dir(bin)
	return prefix, filepath.IsAbs(self) && filepath.Base(bin) == "bin" && exists(filepath.Join(prefix, "share", "man", "man1", "intercom.1"))
}

// removal returns the command that removes a directory; a directory in use must stay for now.
func removal(path string, used bool) string {
	remove := "rm -r " + plaintext.ShellWord(path)
	if used {
		remove = "(in use: " + remove + " after intercom uninstall where the last other tmux server is)"
	}
	return remove
}

// repositoriesLeft returns the AEA files of repositories that a person enabled or registered, and the list of agents,
// which other AEA programs share. Another sidecar, if others says that one runs, processes the messages of the enabled
// repositories.
func (a *app) repositoriesLeft(p api.Paths, others bool) (left []leftover) {
	var paths []string
	used := map[string]bool{}
	enabled, _ := repository.EnabledIn(filepath.Dir(p.State)).List()
	for _, w := range enabled {
		paths = append(paths, w.Path)
		used[w.Path] = others && w.Monitor != repository.MonitorOff
	}
	list := repository.Registry{Path: repository.RegistryPath(a.Getenv)}
	registered, _ := list.List()
	for _, one := range registered {
		if one.Host == "" && filepath.IsAbs(one.Path) {
			paths = append(paths, one.Path)
		}
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		if files := filepath.Join(path, ".aea"); exists(files) {
			what := "AEA messages and scripts of a repository"
			if repository.Instructs(path) {
				what += "; lines in its CLAUDE.md tell its agent to run them, and are for you to take out"
			}
			left = append(left, leftover{what, files, removal(files, used[path])})
		}
	}
	if exists(list.Path) {
		left = append(left, leftover{fmt.Sprintf("the list of AEA agents, which names %d", len(registered)), list.Path, "rm " + plaintext.ShellWord(list.Path)})
	}
	return left
}

func (a *app) showUninstalled(r uninstallReply) {
	if r.PID > 0 {
		a.say("sidecar ended: pid %d; panes released: %s", r.PID, cmp.Or(plainLine(strings.Join(r.Released, ", ")), "none"))
	}
	if len(r.Chats) > 0 {
		a.say("chats ended: %s", strings.Join(r.Chats, ", "))
	}
	if len(r.Undelivered) > 0 {
		a.say("%s; the journal keeps them: %s, then %s shows what it was", notDelivered(r.Undelivered), r.line("up"), r.line("log "+r.Undelivered[0]))
	}
	for _, left := range r.Unsent {
		a.say("%s", plainLine(left))
	}
	if r.Headless > 0 {
		a.say("sidecar without tmux ended, with its ports and repositories: pid %d", r.Headless)
	}
	if r.Server != "" {
		a.say("removed from the tmux server: %s, %s; marks in %s", several(len(r.Keys), "key"), several(len(r.Options), "option"), several(len(r.Panes), "pane"))
	}
	if len(r.Yours) > 0 {
		a.say("your own options stay in the tmux server: %s", strings.Join(r.Yours, ", "))
	}
	for _, file := range r.Hooks {
		a.say("no longer calls intercom: %s", plainLine(file))
	}
	for _, path := range r.Commands {
		a.say("removed: %s", plainLine(path))
	}
	if len(r.Left) == 0 {
		return
	}
	a.say("")
	a.say("left for you to remove:")
	for _, l := range r.Left { // a command on a line of its own, however narrow the terminal, can be copied
		a.say("  %s:\n    %s", plainLine(l.What), plainLine(l.Remove))
	}
}

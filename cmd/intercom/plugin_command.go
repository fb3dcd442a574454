package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// The plugin builds programs where no shell looks for them. A copy of intercom-cli beside them runs the one in use; a
// link to that copy in the person's own directory of programs makes it a command that can be typed.

// command says what there is of that.
type command struct {
	script  string // what the plugin has put beside its programs
	link    string // where a shell may find it
	onPath  bool   // a shell looks there
	made    bool   // the link is there, and is ours
	another string // what is found instead, or stands in the way; "" for nothing
}

// typed finds out what runs if somebody types intercom with that PATH. It fails in an environment without a home.
func (a *app) typed(path string) (command, error) {
	data, err := a.dataDir()
	if err != nil {
		return command{}, err
	}
	home := a.Getenv("HOME")
	if !filepath.IsAbs(home) {
		return command{}, errors.New("HOME is not an absolute path")
	}
	c := command{script: filepath.Join(data, "bin", "intercom"), link: filepath.Join(home, ".local", "bin", "intercom")}
	to, err := os.Readlink(c.link)
	c.made = err == nil && to == c.script
	dirs := filepath.SplitList(path)
	c.onPath = slices.ContainsFunc(dirs, func(dir string) bool { return filepath.Clean(dir) == filepath.Dir(c.link) })
	for _, dir := range dirs {
		path := filepath.Join(dir, "intercom")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && !(c.made && path == c.link) {
			c.another = path
			return c, nil
		}
	}
	if _, err := os.Lstat(c.link); err == nil && !c.made {
		c.another = c.link
	}
	return c, nil
}

// install makes the link, never over something that is there.
func (c command) install() error {
	if c.made || c.another != "" {
		return nil
	}
	if _, err := os.Stat(c.script); err != nil {
		return fmt.Errorf("link the command: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(c.link), 0o755); err != nil {
		return fmt.Errorf("link the command: %w", err)
	}
	if err := os.Symlink(c.script, c.link); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("link the command: %w", err)
	}
	return nil
}

// files returns the link, if it is ours, and what the plugin has put beside its programs.
func (c command) files() (all []string) {
	if c.made {
		all = append(all, c.link)
	}
	return append(all, c.script, filepath.Join(filepath.Dir(c.script), "used"))
}

// untype removes all of that, unless another sidecar of this user runs: the keys of its tmux server would then silently
// do nothing.
func (a *app) untype(r *uninstallReply) {
	c, err := a.typed(a.Getenv("PATH"))
	if err != nil {
		return
	}
	others := otherRuns(r.at)
	for _, path := range c.files() {
		switch {
		case others && exists(path):
			r.Left = append(r.Left, leftover{"what the keys of other tmux servers run: " + path, path, "(intercom uninstall, where the last of those is)"})
		case !others && os.Remove(path) == nil:
			r.Commands = append(r.Commands, path)
		}
	}
}

// commandToType tells whether intercom is a command that can be typed, and how it becomes one, if the plugin is
// installed.
func commandToType(ctx context.Context, x *patient) []finding {
	const id = "command"
	path, where, unasked := x.pathOfShells(ctx)
	c, err := x.typed(path)
	if err != nil {
		return nil
	}
	if _, err := os.Stat(c.script); err != nil {
		return nil // there is no plugin, and the person has a command: they have typed it
	}
	switch {
	case c.another != "":
		return []finding{{ID: id, Level: fine, Text: "intercom, typed " + where + ", is " + c.another + unasked}}
	case c.made && c.onPath:
		return []finding{{ID: id, Level: fine, Text: "intercom, typed " + where + ", is the plugin's program, by " + c.link + unasked}}
	case c.made:
		return []finding{{
			ID: id, Level: note, Text: fmt.Sprintf("%s is the plugin's program, but %s is not in PATH %s%s", c.link, filepath.Dir(c.link), where, unasked),
			Hint: toPath(x.Getenv("SHELL")),
		}}
	}
	f := finding{ID: id, Level: note, Text: "intercom is not a command " + where + ": the plugin's program is not in PATH" + unasked, mend: func(context.Context) error { return c.install() }}
	if !c.onPath {
		f.Hint = fmt.Sprintf("a link in %s makes it one, but that has to be in PATH, and is not %s", filepath.Dir(c.link), where)
		f.after = toPath(x.Getenv("SHELL"))
	}
	return []finding{f}
}

// pathOfShells returns the PATH of the shells in panes, and where it holds. In a pane it is that of this process. A
// popup of the plugin has the PATH of tmux, so there a shell is asked. unasked says that neither was possible.
func (a *app) pathOfShells(ctx context.Context) (path, where, unasked string) {
	path, inTmux := a.Getenv("PATH"), a.aroundServer() != ""
	if inTmux && a.Getenv("TMUX_PANE") != "" {
		return path, "here", ""
	}
	if inTmux {
		if own := a.askShell(ctx); own != "" {
			return own, "in a new pane", ""
		}
	}
	return path, "here", "; the shells in panes may have another PATH, and were not asked: command -v intercom there tells"
}

// shellWithin is how long a shell may take to read its start-up files.
const shellWithin = 5 * time.Second

// askShell returns the PATH of a shell that is started as tmux starts one in a new pane, but without a terminal: only
// the person's start-up files determine it. It returns "" if it cannot find out, for example from a shell that takes
// other flags.
func (a *app) askShell(ctx context.Context) string {
	shell, instead, err := tmux.Shell(ctx, a.tmuxOptions())
	if err != nil || instead != "" || !filepath.IsAbs(shell) {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, shellWithin)
	defer cancel()
	// The exit status does not matter: the shell's exit files may fail.
	printed, _ := process.Run(ctx, process.Command{Argv: []string{shell, "-l", "-i", "-c", "env"}, Limit: 1 << 20, Alone: true})
	path := ""
	for line := range strings.Lines(printed) {
		if value, is := strings.CutPrefix(line, "PATH="); is {
			path = strings.TrimSuffix(value, "\n")
		}
	}
	return path
}

// toPath tells a person how to add the link's directory to the PATH of their shells.
func toPath(shell string) string {
	const path = `PATH="$HOME/.local/bin:$PATH"`
	switch filepath.Base(shell) {
	case "fish":
		return "type this once in fish: fish_add_path ~/.local/bin"
	case "zsh":
		return "add this to ~/.zprofile, and log in again: " + path
	}
	return "add this to ~/.profile, and log in again: " + path
}

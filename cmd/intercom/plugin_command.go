package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// The plugin builds programs where no shell looks for them. The copy of intercom-cli beside them
// runs the one in use; a link to it in the person's own directory of programs makes it a command
// that can be typed.

// command is what there is of that.
type command struct {
	script  string // what the plugin has put beside its programs
	link    string // where a shell may find it
	onPath  bool   // it looks there
	made    bool   // the link is there, and is ours
	another string // what is found instead, or stands in the way; "" for nothing
}

// typed finds out what happens if somebody types intercom. The error is that of an environment
// without a home.
func (a *app) typed() (command, error) {
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
	dirs := filepath.SplitList(a.Getenv("PATH"))
	c.onPath = slices.Contains(dirs, filepath.Dir(c.link))
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

// files are the link, if it is ours, and what the plugin has put beside its programs.
func (c command) files() (all []string) {
	if c.made {
		all = append(all, c.link)
	}
	return append(all, c.script, filepath.Join(filepath.Dir(c.script), "used"))
}

// untype takes all of it away, unless another sidecar of this user runs: the keys of its tmux server would do nothing
// then, and not say so.
func (a *app) untype(r *uninstallReply) {
	c, err := a.typed()
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

// commandToType tells how a person comes by a command to type where the plugin is installed.
func commandToType(_ context.Context, x *patient) []finding {
	const id = "command"
	c, err := x.typed()
	if err != nil {
		return nil
	}
	if _, err := os.Stat(c.script); err != nil {
		return nil // there is no plugin, and whoever runs this has typed something
	}
	unasked := x.shellsUnasked()
	switch {
	case c.another != "":
		return []finding{{ID: id, Level: fine, Text: "intercom, typed here, is " + c.another + unasked}}
	case c.made && c.onPath:
		return []finding{{ID: id, Level: fine, Text: "intercom, typed here, is the plugin's program, by " + c.link + unasked}}
	case c.made:
		return []finding{{
			ID: id, Level: note, Text: fmt.Sprintf("%s is the plugin's program, but %s is not in PATH here%s", c.link, filepath.Dir(c.link), unasked),
			Hint: toPath,
		}}
	}
	f := finding{ID: id, Level: note, Text: "intercom is not a command here: the plugin's program is not in PATH" + unasked, mend: func(context.Context) error { return c.install() }}
	if !c.onPath {
		f.Hint = fmt.Sprintf("a link in %s makes it one, but that has to be in PATH, and is not here", filepath.Dir(c.link))
		f.after = toPath
	}
	return []finding{f}
}

// shellsUnasked says that the PATH of this process was looked at, where that is not the one of a shell in a pane which runs it:
// login shells make their own, and to ask one would be to run whatever a person's profile does.
func (a *app) shellsUnasked() string {
	if a.aroundServer() != "" && a.Getenv("TMUX_PANE") != "" {
		return ""
	}
	return "; the shells in panes may have another PATH, and were not asked: command -v intercom there tells"
}

// toPath is how a person makes the link's directory one in which shells look.
const toPath = `add this to ~/.profile, and log in again: PATH="$HOME/.local/bin:$PATH"`

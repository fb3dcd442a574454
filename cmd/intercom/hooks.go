package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/hooks"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// hooksReply is what `hooks install` and `hooks uninstall` print with --json.
type hooksReply struct {
	Agent   string   `json:"agent"`
	File    string   `json:"file"`    // as it is written: what a symbolic link leads to
	Program string   `json:"program"` // the program that the agent calls
	Events  []string `json:"events"`
	Changed bool     `json:"changed"` // the file has changed, or would change
	DryRun  bool     `json:"dry_run"`
	Removed bool     `json:"removed"` // nothing was left in it
	Diff    []string `json:"diff"`    // removed (-) and added (+) lines, with the lines around them
}

func (a *app) hooks() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hooks",
		Short: "Let agents report what they do",
		Long: `Let agents report when a turn begins and ends, what they said, and when they ask
something. Without hooks the sidecar reads their transcripts and screens, which
is enough; hooks tell it sooner.

What is added to an agent's configuration can be removed again, and everything
else stays as it is, to the byte.`,
		Example: `  intercom hooks install claude --dry-run`,
		Args:    a.onlyCommands,
		RunE:    showHelp,
	}
	cmd.AddCommand(
		a.changeHooks("install", "Add hooks to an agent's configuration", `Make an agent call intercom at its turns. Running this twice changes nothing.

`+ofAgents(hooks.Agents(), func(s profile.Settings) string { return s.Hooks.Help })+`
Agents use them from their next start, unless it says otherwise.`, hooks.Install),
		a.changeHooks("uninstall", "Remove the hooks that hooks install added", `Remove from an agent's configuration what intercom hooks install added, and
nothing else, whatever has changed there since. A file that was created for it
is removed too, if nothing else is in it.`, hooks.Uninstall),
	)
	return cmd
}

func (a *app) changeHooks(name, short, long string, change func(agent string, text []byte, program string) ([]byte, error)) *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:     name + " " + strings.Join(hooks.Agents(), "|"),
		Short:   short,
		Long:    long + "\n\n--dry-run shows what would change, without changing it.",
		Example: "  intercom hooks " + name + " claude\n  intercom hooks " + name + " codex --dry-run",
		Args:    between(1, 1, "an agent"),
		RunE: do(a, func(_ *cobra.Command, args []string) (hooksReply, error) {
			agent := args[0]
			if err := oneOf("agent", agent, hooks.Agents()); err != nil {
				return hooksReply{}, err
			}
			file, err := a.hooksFile(agent)
			if err != nil {
				return hooksReply{}, err
			}
			program, err := a.program()
			if err != nil {
				return hooksReply{}, err
			}
			r := hooksReply{Agent: agent, File: file, Program: program, Events: agentNamed(agent).Settings.Hooks.Events, DryRun: dry}
			was, now, err := changeFile(file, dry, func(text []byte) ([]byte, error) { return change(agent, text, program) })
			if err != nil {
				return r, aboutHooks(err, agent, file, program)
			}
			r.Changed = !bytes.Equal(was, now) || (was == nil) != (now == nil)
			r.Removed = was != nil && now == nil
			r.Diff = diff(string(was), string(now))
			return r, nil
		}, a.showHooks(name)),
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what would change, without changing it")
	cmd.ValidArgs = hooks.Agents()
	return cmd
}

func (a *app) showHooks(name string) func(hooksReply) {
	return func(r hooksReply) {
		file := plainLine(r.File)
		switch {
		case r.DryRun && r.Changed:
			a.say("%s would become:", file)
			if r.Removed {
				a.say("(no file)")
			}
			for _, line := range r.Diff {
				a.say("%s", plainLine(line))
			}
		case name == "install" && r.Changed:
			a.say("%s calls %s at %s: %s", r.Agent, plainLine(r.Program), strings.Join(r.Events, ", "), file)
		case name == "install":
			a.say("%s already does so, nothing to change: %s", r.Agent, file)
		case r.Removed:
			a.say("removed, since nothing else was in it: %s", file)
		case r.Changed:
			a.say("%s no longer calls intercom: %s", r.Agent, file)
		default:
			a.say("no hooks of ours, nothing to change: %s", file)
		}
	}
}

var (
	errChanging = errors.New("another process is changing it")
	errReadOnly = errors.New("it is read-only")
)

// aboutHooks returns the error about a configuration that was left as it is.
func aboutHooks(err error, agent, file, program string) error {
	told := api.Errorf(api.CodeRefused, "file %q: %w", file, err)
	_, system := errors.AsType[*fs.PathError](err)
	_, renamed := errors.AsType[*os.LinkError](err)
	switch {
	case errors.Is(err, hooks.ErrTaken):
		return told.WithHint("nothing was changed; "+agentNamed(agent).Settings.Hooks.Taken, program)
	case errors.Is(err, errChanging):
		return told.WithHint("nothing was changed; try again")
	case errors.Is(err, errReadOnly):
		return told.WithHint("nothing was changed; chmod u+w allows it, unless another program generates that file")
	case system || renamed:
		return api.Errorf(api.CodeFailed, "%w", err)
	}
	return told.WithHint("nothing was changed; fix the file first")
}

// program returns a path of this program that survives an update, if there is one. That is the launcher that the plugin
// keeps beside its programs, each of which belongs to one revision and is removed some day; or the intercom that is
// found in PATH, if that is this program.
func (a *app) program() (string, error) {
	self := a.Executable
	if self == "" {
		var err error
		if self, err = os.Executable(); err != nil {
			return "", err
		}
	}
	if launcher, ok := a.launcherOf(self); ok {
		return launcher, nil
	}
	found, err := exec.LookPath("intercom")
	if err != nil || !filepath.IsAbs(found) {
		return self, nil
	}
	one, err := os.Stat(self)
	if err != nil {
		return self, nil
	}
	if other, err := os.Stat(found); err == nil && os.SameFile(one, other) {
		return found, nil
	}
	return self, nil
}

// launcherOf returns the launcher that runs whichever revision the plugin uses, if program is one of the plugin's
// programs.
func (a *app) launcherOf(program string) (string, bool) {
	c, err := a.typed(a.Getenv("PATH"))
	if err != nil || !sameFile(filepath.Dir(filepath.Dir(program)), filepath.Dir(c.script)) {
		return "", false
	}
	return c.script, runnable(c.script)
}

// runnable reports whether there is a program at path.
func runnable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// changeFile replaces the text of a file with what change makes of it; nil means no file. With dry it only returns the
// two texts. Nobody ever sees half of the file, and a change that somebody else makes meanwhile is not lost.
func changeFile(path string, dry bool, change func([]byte) ([]byte, error)) (was, now []byte, err error) {
	for range 3 {
		if was, err = readWhole(path); err != nil {
			return nil, nil, err
		}
		if now, err = change(was); err != nil || dry || bytes.Equal(was, now) && (was == nil) == (now == nil) {
			return was, now, err
		}
		done, err := replace(path, was, now)
		if done || err != nil {
			return was, now, err
		}
	}
	return nil, nil, errChanging
}

// mostSettings is the maximum size in bytes of an agent's settings.
const mostSettings = 16 << 20

// readWhole returns a file's text; nil if there is no file.
func readWhole(path string) ([]byte, error) {
	text, err := foreign.Read(path, mostSettings)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if text == nil && err == nil {
		text = []byte{}
	}
	return text, err
}

// replace writes now in place of the text that was read, or removes the file if now is nil. It is not done if the file
// has changed meanwhile.
func replace(path string, was, now []byte) (done bool, err error) {
	unchanged := func() bool {
		text, err := readWhole(path)
		return err == nil && bytes.Equal(text, was) && (text == nil) == (was == nil)
	}
	mode := fs.FileMode(0o600)
	info, statErr := os.Stat(path)
	if statErr == nil {
		mode = info.Mode().Perm()
	}
	if mode&0o200 == 0 {
		return false, errReadOnly
	}
	if now == nil {
		if !unchanged() {
			return false, nil
		}
		return true, os.Remove(path)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, err
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return false, err
	}
	defer func() {
		if !done {
			_ = os.Remove(f.Name())
		}
	}()
	if statErr == nil {
		if was, ok := info.Sys().(*syscall.Stat_t); ok {
			_ = f.Chown(int(was.Uid), int(was.Gid)) // matters only to root, who does this for another user
		}
	}
	_, err = f.Write(now)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return false, err
	}
	if !unchanged() {
		return false, nil
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return false, err
	}
	return true, atomicfile.SyncDir(dir)
}

const (
	diffAround = 2       // lines that are shown around what changes
	diffMost   = 4 << 20 // pairs of lines that are compared at most
)

// diff returns the lines of was that are removed, with "- " before them, the lines of now that are added, with "+ ",
// and a few lines around them.
func diff(was, now string) []string {
	old, young := slices.Collect(strings.Lines(was)), slices.Collect(strings.Lines(now))
	before := 0
	for before < len(old) && before < len(young) && old[before] == young[before] {
		before++
	}
	after := 0
	for after < min(len(old), len(young))-before && old[len(old)-1-after] == young[len(young)-1-after] {
		after++
	}
	end := len(old) - after
	lines := []string{}
	if before == end && before == len(young)-after {
		return lines
	}
	add := func(mark string, some ...string) {
		for _, line := range some {
			lines = append(lines, mark+strings.TrimRight(line, "\r\n"))
		}
	}
	add("  ", old[max(0, before-diffAround):before]...)
	apart(old[before:end], young[before:len(young)-after], add)
	add("  ", old[end:min(len(old), end+diffAround)]...)
	return lines
}

// apart passes the lines of both to add, those of their longest common subsequence once.
func apart(old, young []string, add func(mark string, lines ...string)) {
	if len(old)*len(young) > diffMost {
		add("- ", old...)
		add("+ ", young...)
		return
	}
	common := make([][]int, len(old)+1) // number of common lines from there on
	for i := range common {
		common[i] = make([]int, len(young)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(young) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if old[i] == young[j] {
				common[i][j] = 1 + common[i+1][j+1]
			}
		}
	}
	i, j := 0, 0
	for i < len(old) || j < len(young) {
		switch {
		case i < len(old) && j < len(young) && old[i] == young[j]:
			add("  ", old[i])
			i, j = i+1, j+1
		case j == len(young) || i < len(old) && common[i+1][j] >= common[i][j+1]:
			add("- ", old[i])
			i++
		default:
			add("+ ", young[j])
			j++
		}
	}
}

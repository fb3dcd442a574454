package main

import (
	"bytes"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/docs/skill"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/hooks"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// mcpInstalled is what `mcp install` and `mcp uninstall` print with --json.
type mcpInstalled struct {
	Agent   string       `json:"agent,omitempty"` // "" for the skill alone
	Program string       `json:"program"`         // the program that the agent starts
	DryRun  bool         `json:"dry_run"`
	Files   []fileChange `json:"files"`
}

// fileChange is what became of one file.
type fileChange struct {
	File    string   `json:"file"` // as it is written: what a symbolic link leads to
	Changed bool     `json:"changed"`
	Removed bool     `json:"removed"`         // nothing was left in it
	Stays   bool     `json:"stays,omitempty"` // written by mcp install, and changed since
	Diff    []string `json:"diff"`
}

func (a *app) mcpInstall() *cobra.Command {
	return a.changeMCP("install", "Give an agent the tools", `Have an agent start intercom mcp, for all its projects. Running this twice
changes nothing; everything else in the file stays as it is, to the byte.

`+ofAgents(hooks.ServerAgents(), func(s profile.Settings) string { return s.Server.File.String() })+`
Each uses it from its next start. With --skill an agent also gets a skill that
says when to use the tools; without an agent, all of them get only that.`, mcpChange{
		server: hooks.InstallServer,
		skill: func(was []byte) ([]byte, error) {
			if was != nil && !isOurSkill(was) {
				return nil, errForeignSkill
			}
			return []byte(skill.Text), nil
		},
	})
}

func (a *app) mcpUninstall() *cobra.Command {
	return a.changeMCP("uninstall", "Take from an agent what mcp install gave it", `Remove from an agent's configuration what intercom mcp install added, and
nothing else, whatever has changed there since. A file that was created for it
is removed too, if nothing else is in it, and so are its directories. So is the
skill, unless it was changed; with --skill also then.`, mcpChange{
		server: hooks.UninstallServer,
		skill: func(was []byte) ([]byte, error) {
			if isOurSkill(was) {
				return nil, nil
			}
			return was, nil
		},
		skillAnyway: func(was []byte) ([]byte, error) {
			if string(was) == skill.Text {
				return nil, nil
			}
			return was, nil
		},
	})
}

// mcpChange says how the files of an agent change.
type mcpChange struct {
	server             func(agent string, text []byte, program string) ([]byte, error)
	skill, skillAnyway func(was []byte) ([]byte, error) // with --skill, and without; nil: the skill is left alone
}

// isOurSkill reports whether mcp install, of any version, wrote a skill.
func isOurSkill(text []byte) bool { return bytes.Contains(text, []byte(skill.Mark)) }

var errForeignSkill = errors.New("another skill of that name is there")

func (a *app) changeMCP(name, short, long string, change mcpChange) *cobra.Command {
	var dry, withSkill bool
	cmd := &cobra.Command{
		Use:     name + " [" + strings.Join(hooks.ServerAgents(), "|") + "]",
		Short:   short,
		Long:    long + "\n\n--dry-run shows what would change, without changing it.",
		Example: "  intercom mcp " + name + " claude --skill\n  intercom mcp " + name + " codex --dry-run",
		Args:    between(0, 1, "an agent"),
	}
	cmd.RunE = do(a, func(_ *cobra.Command, args []string) (mcpInstalled, error) {
		r := mcpInstalled{DryRun: dry, Files: []fileChange{}}
		var err error
		if r.Program, err = a.program(); err != nil {
			return r, err
		}
		agents := hooks.ServerAgents()
		switch {
		case len(args) == 0 && !withSkill:
			return r, api.Errorf(api.CodeUsage, "%s takes an agent", cmd.CommandPath()).WithHint("intercom mcp %s %s", name, strings.Join(agents, ", or "))
		case len(args) > 0:
			if err := oneOf("agent", args[0], agents); err != nil {
				return r, err
			}
			r.Agent, agents = args[0], args[:1]
			file, err := a.serverFile(r.Agent)
			if err != nil {
				return r, err
			}
			changed, err := changed(file, dry, func(text []byte) ([]byte, error) { return change.server(r.Agent, text, r.Program) })
			if err != nil {
				return r, aboutServer(err, r.Agent, file, r.Program)
			}
			if changed.Removed && !dry {
				a.tidy(r.Agent, agentNamed(r.Agent).Settings.Server.File, file)
			}
			r.Files = append(r.Files, changed)
		}
		skilled := change.skill
		if !withSkill {
			skilled = change.skillAnyway
		}
		for _, agent := range agents {
			if skilled == nil {
				break
			}
			file, err := a.fileOf(agent, skillFile(agent))
			if err != nil {
				return r, err
			}
			var was []byte
			changed, err := changed(file, dry, func(text []byte) ([]byte, error) {
				was = text
				return skilled(text)
			})
			if err != nil {
				return r, aboutServer(err, r.Agent, file, r.Program)
			}
			if changed.Removed && !dry {
				a.tidy(agent, skillFile(agent), file)
			}
			changed.Stays = !withSkill && !changed.Changed && isOurSkill(was)
			if withSkill || changed.Changed || changed.Stays {
				r.Files = append(r.Files, changed)
			}
		}
		return r, nil
	}, a.showMCP(name))
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what would change, without changing it")
	cmd.Flags().BoolVar(&withSkill, "skill", false, "the skill too: when to send, and what never to do")
	cmd.ValidArgs = hooks.ServerAgents()
	return cmd
}

// changed changes a file, and reports what became of it.
func changed(file string, dry bool, change func([]byte) ([]byte, error)) (fileChange, error) {
	was, now, err := changeFile(file, dry, change)
	return fileChange{
		File: file, Changed: !bytes.Equal(was, now) || (was == nil) != (now == nil), Removed: was != nil && now == nil, Diff: diff(string(was), string(now)),
	}, err
}

func (a *app) showMCP(name string) func(mcpInstalled) {
	return func(r mcpInstalled) {
		for _, f := range r.Files {
			file := plainLine(f.File)
			switch {
			case r.DryRun && f.Changed:
				a.say("%s would become:", file)
				if f.Removed {
					a.say("(no file)")
				}
				for _, line := range f.Diff {
					a.say("%s", plainLine(line))
				}
			case f.Stays:
				a.say("left, since it was changed (--skill removes it): %s", file)
			case f.Removed:
				a.say("removed, since nothing else was in it: %s", file)
			case f.Changed && name == "install":
				a.say("installed: %s", file)
			case f.Changed:
				a.say("uninstalled: %s", file)
			default:
				a.say("nothing to change: %s", file)
			}
		}
	}
}

// aboutServer returns the error about a file that was left as it is.
func aboutServer(err error, agent, file, program string) error {
	switch {
	case errors.Is(err, hooks.ErrOtherServer):
		return api.Errorf(api.CodeRefused, "file %q: %w", file, err).WithHint("nothing was changed; give that one another name, or add %s mcp by a name of your own", program)
	case errors.Is(err, errForeignSkill):
		return api.Errorf(api.CodeRefused, "file %q: %w", file, err).WithHint("nothing was changed there; move it away first")
	}
	if full, ok := errors.AsType[*hooks.NoRoomError](err); ok {
		return api.Errorf(api.CodeRefused, "file %q: %w", file, err).
			WithHint("nothing was changed; write each server there as a table of its own, [%s.NAME], and run this again", full.Key)
	}
	return aboutHooks(err, agent, file, program)
}

package main

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

func (a *app) session() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "Start agents in windows of their own, and end them",
		Long: `Start agents in windows of their own, give them work, see how they are, and end
them. A session that is started is the same as a pane that is adopted.`,
		Example: `  intercom session start --agent claude --message 'Review the last commit.'
  intercom session list`,
		Args: a.onlyCommands, RunE: showHelp,
	}
	cmd.AddCommand(a.sessionStart(), a.sessionList(), a.sessionData(), a.sessionMute(), a.sessionEnd())
	return cmd
}

func (a *app) sessionStart() *cobra.Command {
	var req api.StartSessionRequest
	var file string
	cmd := &cobra.Command{
		Use:   "start [--agent NAME | -- COMMAND ARG…]",
		Short: "Start an agent in a window of its own",
		Long: `Start an agent in a window of its own, in the background: what you look at stays
as it is. It is adopted at once, and the command returns at once. --message is
typed once the agent's composer is ready; if the agent asks something first,
such as whether you trust the directory, the message waits for your answer.

` + paragraph("--agent is "+inWords("or", append(slices.Clone(knownAgents), "aider"))+`, or the absolute path of one of them, or of a program that
reads lines. Any other COMMAND is run as it stands, by no shell, and only on this computer; an agent in it is recognised, and any
other program needs --as, as for intercom adopt.`) + `

An agent that runs this command may start its own kind, in its own directory,
and what sessions.allow and sessions.roots of init.lua say.`,
		Example: `  intercom session start --agent codex --title Tests --message 'Run make test.'
  intercom session start --as line -- /usr/bin/env LANG=C ./repl --quiet`,
		Args:        a.onlyCommand,
		Annotations: map[string]string{takesText: "yes"},
	}
	var started api.StartedSession
	run := do(a, func(cmd *cobra.Command, args []string) (_ api.StartedSession, err error) {
		for _, flag := range []string{"agent", "dir", "title", "message", "as", "thinking", "computer"} {
			if err := checkWord(cmd, flag); err != nil {
				return api.StartedSession{}, err
			}
		}
		if (len(args) > 0 || !filepath.IsAbs(req.Dir)) && a.thisComputer(cmd.Context(), req.Computer) {
			req.Computer = ""
		}
		if req.Computer != "" && len(args) > 0 { // there every caller counts as an agent
			return api.StartedSession{}, api.Errorf(api.CodeUsage, "--computer: only an agent can be started on another computer, not a command").WithHint("intercom session start --computer %s --agent NAME; for this computer leave --computer out", req.Computer)
		}
		if req.Computer != "" && !filepath.IsAbs(req.Dir) {
			return api.StartedSession{}, api.Errorf(api.CodeUsage, "--dir must be an absolute path on %s", req.Computer).WithHint("intercom session start --computer %s --dir /home/me/project", req.Computer)
		}
		if req.Dir, err = filepath.Abs(cmp.Or(req.Dir, ".")); err != nil {
			return api.StartedSession{}, api.Errorf(api.CodeFailed, "%w", err)
		}
		if req.Command, err = commandOf(args); err != nil {
			return api.StartedSession{}, err
		}
		if file != "" {
			if req.Message, err = a.textOf(cmd.Context(), nil, file); err != nil {
				return api.StartedSession{}, err
			}
		}
		if err := checkText(req.Message + req.Title); err != nil {
			return api.StartedSession{}, err
		}
		req.Near = a.ownPane(cmd.Context())
		c, err := a.tmuxClient(cmd.Context())
		if err != nil {
			return api.StartedSession{}, err
		}
		waiting, cancel := context.WithTimeout(cmd.Context(), startsWithin)
		defer cancel()
		started, err = api.Call(waiting, c, api.StartSession, req)
		return started, err
	}, func(s api.StartedSession) { a.showStarted(s, req.Command) })
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := run(cmd, args); err != nil || started.Status != api.StartHeld {
			return err
		}
		return api.Errorf(api.CodeHeld, "held: %s", started.Why).WithHint("a person approves it: intercom inbox approve %s", started.Request.Short())
	}
	cmd.Flags().StringVar(&req.Agent, "agent", "", "`NAME` of the agent; without it an agent starts its own kind")
	cmd.Flags().StringVar(&req.Dir, "dir", "", "`DIR` in which it works (default: the current one)")
	cmd.Flags().StringVar(&req.Title, "title", "", "`TEXT` that says what it is for; its name is made from it")
	cmd.Flags().StringVar(&req.Message, "message", "", "`TEXT` of its first message")
	cmd.Flags().StringVar(&file, "file", "", "read the first message from `FILE`; - is standard input")
	cmd.Flags().StringVar(&req.As, "as", "", "`PROFILE` of a COMMAND, as for intercom adopt")
	cmd.Flags().StringVar(&req.Computer, "computer", "", "start it on another computer, by its `NAME`")
	cmd.Flags().StringVar(&req.Thinking, "thinking", "", "`MODE`: fast, med or slow, for an agent that has a switch for that")
	cmd.MarkFlagsMutuallyExclusive("message", "file")
	a.completes(cmd)
	_ = cmd.MarkFlagDirname("dir")
	_ = cmd.MarkFlagFilename("file")
	_ = cmd.RegisterFlagCompletionFunc("agent", cobra.FixedCompletions(append(slices.Clone(knownAgents), "aider"), cobra.ShellCompDirectiveDefault))
	_ = cmd.RegisterFlagCompletionFunc("as", cobra.FixedCompletions(profiles, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("thinking", cobra.FixedCompletions(profile.Thinkings, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// thisComputer reports whether a name is that of this computer. Its own name, if init.lua gives it one, only the sidecar knows.
func (a *app) thisComputer(ctx context.Context, computer string) bool {
	if computer == "" || strings.EqualFold(computer, message.LocalComputer) {
		return true
	}
	all, err := request(ctx, a.client, api.Computers, api.None{})
	return err == nil && slices.ContainsFunc(all, func(c api.Computer) bool { return c.Local && strings.EqualFold(c.Name, computer) })
}

// startsWithin is how long a start may take; another computer has 20 s for it.
const startsWithin = 25 * time.Second

// onlyCommand refuses arguments that do not come after --.
func (a *app) onlyCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
		return api.Errorf(api.CodeUsage, "%q: a command goes after --", args[0]).WithHint("%s -- %s", cmd.CommandPath(), strings.Join(args, " "))
	}
	return nil
}

// commandOf returns a command whose program is found as this shell would find it: the sidecar may have another PATH.
func commandOf(args []string) ([]string, error) {
	if len(args) == 0 || args[0] == "" {
		return args, nil
	}
	path, err := exec.LookPath(args[0])
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, api.Errorf(api.CodeFailed, "no program %q can be run", args[0]).WithHint("name a program in $PATH, or its path")
	}
	return append([]string{path}, args[1:]...), nil
}

func (a *app) showStarted(s api.StartedSession, command []string) {
	if s.Status == api.StartHeld {
		a.say("%s", plainLine(string(s.Request)+" held"))
		return
	}
	if s.Status == api.StartUnrecognised {
		a.say("%s", plainLine(fmt.Sprintf("%s opened as %s in %s, but not as an agent: %s", s.Session.ID, s.Session.Name, s.Session.Pane, s.Why)))
		a.noteUnrecognised(s.Session.Name, command, "start it")
		return
	}
	a.say("%s", plainLine(string(s.Session.ID)+" started as "+s.Session.Name+" in "+s.Session.Pane))
}

// noteUnrecognised says what becomes of a session in which no agent is recognised, and how to start it again.
func (a *app) noteUnrecognised(session string, command []string, again string) {
	if len(command) > 0 {
		if why, _, refused := profile.Refuse(filepath.Base(command[0])); refused {
			a.note("%s. What goes to it waits until an agent is started in it; intercom session end %s closes it", why, session)
			return
		}
	}
	a.note("what goes to it waits until an agent is recognised in it; or, if it is a program that reads lines: intercom session end %s, and %s with --as line", session, again)
}

// sessionExec returns the command that tmux starts for a session.
func (a *app) sessionExec() *cobra.Command {
	return &cobra.Command{
		Use:                "session-exec ID DIR PROGRAM ARG…",
		Short:              "Become the program of a session (started by tmux)",
		Hidden:             true,
		DisableFlagParsing: true,
		Args:               cobra.MinimumNArgs(3),
		RunE: func(_ *cobra.Command, args []string) error {
			a.ran = true
			return process.Become(args[1], args[2:], process.Mark(args[0]))
		},
	}
}

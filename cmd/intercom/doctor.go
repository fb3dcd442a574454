package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// answerTimeout is how long the doctor waits for one sidecar or one tmux server.
const answerTimeout = 10 * time.Second

// level says how much a finding matters.
type level string

const (
	fine    level = "ok"
	note    level = "note"    // good to know, nothing is broken
	problem level = "problem" // something does not work, or is not safe
)

// finding is one thing that the doctor looked at. Text and hint are for people; id and
// level are part of the contract of --json.
type finding struct {
	ID      string `json:"id"`
	Level   level  `json:"level"`
	Text    string `json:"text"`
	Hint    string `json:"hint,omitempty"`
	Fixable bool   `json:"fixable,omitempty"` // by --fix
	Fixed   bool   `json:"fixed,omitempty"`

	mend  func(context.Context) error // repairs it; set if Fixable
	after string                      // what a person has to do after mend
}

// doctorReply is what `doctor --json` prints.
type doctorReply struct {
	Findings []finding `json:"findings"`
	OK       bool      `json:"ok"` // no problem is left
}

// patient holds what the examinations look at, asked for once.
type patient struct {
	*app
	paths    api.Paths
	pathsErr error       // if set, nothing else about the places is known
	status   *api.Status // of the sidecar; nil if none answers
	socket   string      // on which that sidecar listens

	program    string // version of the tmux program
	programErr error
	health     tmux.Health
	healthErr  error // of the tmux server that is meant, if any
}

// examinations are all examinations of the doctor, in the order of its report.
var examinations = []func(context.Context, *patient) []finding{
	tmuxProgram, tmuxServer, transport, controlClient, utf8Locale, utf8Clients, tmuxHooks, pluginKeys, pluginProgram, commandToType, platform,
	socketPath, runtimeDirectory, stateDirectory, networkHome,
	staleSockets, publishedSocket, orphans, degraded, allStopped, agentVersions, agentHooks, agentEntries,
	journalSound, journalDamaged, leftovers, logSize, earlierComplaints, teamFiles,
}

// fixUsage is the help text of --fix, in each doctor command.
const fixUsage = "repair what is ours and safe to repair"

func (a *app) doctor() *cobra.Command {
	var fix bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for problems, and fix our own",
		Long: `Look for problems with tmux, the sidecar, its files and its journal. It starts
nothing, and without --fix it changes nothing.

--fix repairs what is ours and safe to repair: the mode of our directories,
sockets without a listener, a published socket that is gone, empty leftovers,
and the link in ~/.local/bin that makes the plugin's program a command. It never
deletes a journal, nor a lock that is held.

The exit code is 1 if a problem remains.`,
		Example: `  intercom doctor
  intercom doctor --fix`,
		Args: between(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var reply doctorReply
			err := do(a, func(cmd *cobra.Command, _ []string) (doctorReply, error) {
				reply = a.examine(cmd.Context(), fix)
				return reply, nil
			}, a.showFindings)(cmd, args)
			if err == nil && !reply.OK {
				return exitCode(api.CodeFailed.Exit())
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&fix, "fix", false, fixUsage)
	a.completes(cmd)
	return cmd
}

func (a *app) examine(ctx context.Context, fix bool) doctorReply {
	x := a.admit(ctx)
	reply := doctorReply{Findings: []finding{}, OK: true}
	for _, look := range examinations {
		for _, f := range look(ctx, x) {
			f.Fixable = f.mend != nil
			if fix && f.Fixable {
				if err := f.mend(ctx); err != nil {
					f.Hint = "not fixed: " + err.Error()
				} else {
					f.Fixed = true
				}
			}
			reply.OK = reply.OK && (f.Level != problem || f.Fixed)
			reply.Findings = append(reply.Findings, f)
		}
	}
	return reply
}

// admit collects what the examinations have in common.
func (a *app) admit(ctx context.Context) *patient {
	x := &patient{app: a}
	if x.paths, x.pathsErr = api.Places(a.Getenv, a.tmuxServer()); x.pathsErr == nil {
		asking, cancel := context.WithTimeout(ctx, answerTimeout)
		c, _, running, err := a.running(asking)
		if err == nil && running {
			if status, err := api.Call(asking, c, api.ShowStatus, api.None{}); err == nil {
				x.status, x.socket = &status, c.Socket
			}
		}
		cancel()
	}
	asking, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	x.program, x.programErr = tmux.ProgramVersion(asking, "")
	if server := a.tmuxServer(); server != "" && x.programErr == nil {
		x.health, x.healthErr = tmux.Inspect(ctx, tmux.Options{Socket: server, Deadline: answerTimeout}, daemon.TransportOption)
	}
	return x
}

// server reports whether a tmux server is meant and answers.
func (x *patient) server() bool {
	return x.tmuxServer() != "" && x.programErr == nil && x.healthErr == nil
}

func (a *app) showFindings(r doctorReply) {
	problems := 0
	var yours []string // what a person has to do after the repairs
	for _, f := range r.Findings {
		if f.Level == problem && !f.Fixed {
			problems++
		}
		if f.Fixed && f.after != "" {
			yours = append(yours, f.after)
		}
	}
	var verdict []string // printed first: the list may be longer than the screen
	switch {
	case problems > 0:
		verdict = append(verdict, fmt.Sprintf("problems: %d", problems))
	case len(yours) == 0:
		verdict = append(verdict, "nothing is wrong")
	}
	if len(yours) > 0 {
		verdict = append(verdict, "mended, once you have done this:")
	}
	for _, step := range yours {
		verdict = append(verdict, "         → "+plainLine(step))
	}
	var list []string
	for _, f := range r.Findings {
		list = append(list, a.findingLines(f)...)
	}
	lines := slices.Concat(verdict, []string{""}, list)
	if rows := a.height(); rows > 0 && rowsOf(lines, a.width()) >= rows { // by the end, the verdict has scrolled off the screen
		lines = slices.Concat(lines, []string{""}, verdict)
	}
	for _, line := range lines {
		a.say("%s", line)
	}
}

// rowsOf returns the number of rows that lines take on a terminal.
func rowsOf(lines []string, width int) (rows int) {
	for _, line := range lines {
		rows += max(1, (cellsOf(line)+width-1)/max(1, width))
	}
	return rows
}

// findingLines formats a finding for people. On a terminal the text is wrapped in a column of its own; a hint, which
// may be a command to copy, stays on one line.
func (a *app) findingLines(f finding) []string {
	const column = 9
	word := string(f.Level)
	if f.Fixed {
		word = "mended"
	}
	text := []string{plainLine(f.Text)}
	if width := a.width(); width > column {
		text = broken(text[0], width-column)
	}
	lines := []string{fmt.Sprintf("%-8s %s", word, text[0])}
	for _, more := range text[1:] {
		lines = append(lines, strings.Repeat(" ", column)+more)
	}
	if f.Hint != "" && !f.Fixed {
		lines = append(lines, "         → "+plainLine(f.Hint))
	}
	if f.Fixable && !f.Fixed {
		lines = append(lines, "         → intercom doctor --fix")
	}
	return lines
}

// hintOf returns the hint that an error carries.
func hintOf(err error) string {
	if told, ok := errors.AsType[*api.Error](err); ok {
		return told.Hint
	}
	return ""
}

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

func (a *app) policyDiff() *cobra.Command {
	var same bool // the policies that are tried are in use
	cmd := &cobra.Command{
		Use:   "diff [DIR]",
		Short: "Show which messages other policies would decide differently",
		Long: `Ask policies that are not in use about the last 200 messages, and show which of
them they would decide differently. They are your own files as they are now,
which are not in use if they were refused, or the init.lua and policies/*.lua of
DIR, which only you may name, and no agent. Nothing is changed.

! marks a message that would go where it did not go before, or not as far.
Settings that differ, such as attribution, are named.`,
		Example: `  intercom policy diff
  intercom policy diff .`,
		Args: between(0, 1, "at most a directory"),
		RunE: do(a, func(cmd *cobra.Command, args []string) (policy.Trial, error) {
			dir, err := a.configDir()
			if len(args) > 0 {
				if dir, err = filepath.Abs(args[0]); err == nil && !isDir(dir) {
					err = api.Errorf(api.CodeUsage, "%q is not a directory", dir).WithHint("name a directory with an init.lua or a policies/")
				}
			}
			if err != nil {
				return policy.Trial{}, err
			}
			t, err := request(cmd.Context(), a.client, api.DiffPolicy, api.DiffPolicyRequest{Dir: dir})
			if err == nil && len(args) == 0 && len(t.Changed) == 0 {
				s := a.policiesInForce(cmd.Context())
				same = s != nil && s.RolledBack == "" && s.Error == ""
			}
			return t, err
		}, func(t policy.Trial) {
			a.showTrial(t)
			if same {
				a.note("your files are in use as they are; intercom policy diff DIR tries others")
			}
		}),
	}
	a.completes(cmd)
	return cmd
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (a *app) showTrial(t policy.Trial) {
	for _, f := range t.Failures {
		a.say("failed: %s", plainLine(f))
	}
	if len(t.Changed) > 0 {
		a.table(changeRows(t.Changed, t.Loosened))
		if len(t.Loosened) > 0 {
			a.say("! marks a message that would go where it did not go before, or not as far")
		}
	}
	a.say("%s tried: %s, %d of them laxer", triedWith(t.Tried, t.Of), several(len(t.Changed), "change"), len(t.Loosened))
	if len(t.Settings) > 0 {
		a.say("settings that differ, and were not tried: %s", plainLine(strings.Join(t.Settings, ", ")))
	}
}

// triedWith says with how many messages a set was tried, and out of how many if there was no time for all.
func triedWith(n, of int) string {
	if of == 0 {
		return several(n, "message")
	}
	return fmt.Sprintf("%d of %s", n, several(of, "message"))
}

// changeRows returns the rows of a table of changes. If none is laxer, there is no column for that.
func changeRows(changed, loosened []policy.Change) [][]string {
	rows := [][]string{{"!", "MESSAGE", "FROM", "TO", "TYPE", "NOW", "THEN", "BY"}}
	for _, c := range changed {
		mark := ""
		if slices.Contains(loosened, c) {
			mark = "!"
		}
		now := string(c.Is)
		if c.Why != "" {
			now += ", " + c.Why
		}
		rows = append(rows, []string{mark, c.Message.Short(), c.From, c.To, c.Type, string(c.Was), now, c.By})
	}
	if len(loosened) == 0 {
		for i := range rows {
			rows[i] = rows[i][1:]
		}
	}
	return rows
}

func (a *app) policyRollback() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollback",
		Short: "Go back to the policies that were in use before",
		Long: `Go back to the policies that were in use before. Your files stay as they are,
but are not used until you change them. Five sets are kept; run it again to go
back further. You are asked, and only y at your terminal means yes. If new
policies fail three times, the last good ones replace them by themselves; those
that were good already stay.`,
		Example: "  intercom policy rollback",
		Args:    between(0, 0, "no arguments"),
		RunE: do(a, func(cmd *cobra.Command, _ []string) (policy.Status, error) {
			now, err := request(cmd.Context(), a.client, api.RollbackPolicy, api.RollbackPolicyRequest{})
			if err != nil {
				return now, err
			}
			if err := a.confirm(cmd.Context(), rollbackAsked(now, time.Now())); err != nil {
				return now, err
			}
			return request(cmd.Context(), a.client, api.RollbackPolicy, api.RollbackPolicyRequest{Sure: true})
		}, func(s policy.Status) {
			a.say("%s", goneBackTo(s))
			if s.RolledBack != "" {
				a.say("your files are not used until you change one")
			}
		}),
	}
	a.completes(cmd)
	return cmd
}

// leftFor returns the status of the policies if earlier ones are in use than the person's files. It returns nil if the
// files are in use, or no sidecar tells.
func (a *app) leftFor(ctx context.Context) *policy.Status {
	if s := a.policiesInForce(ctx); s != nil && s.RolledBack != "" {
		return s
	}
	return nil
}

// policiesInForce returns the status of the sidecar's policies; nil if no sidecar tells.
func (a *app) policiesInForce(ctx context.Context) *policy.Status {
	c, _, running, err := a.running(ctx)
	if err != nil || !running {
		return nil
	}
	s, err := quickly(ctx, c, api.Policy, api.None{})
	if err != nil {
		return nil
	}
	return &s
}

// sayLeft says that earlier policies are in use, and since when.
func (a *app) sayLeft(since time.Time, rest string) {
	a.say("%s%s", leftSays(since), rest)
}

func leftSays(since time.Time) string {
	return fmt.Sprintf("earlier policies are in use since %s; your files are not used until you change one", day(since))
}

// rollbackAsked returns the question before a rollback: what it changes, and how old the policies are that it brings
// back.
func rollbackAsked(s policy.Status, now time.Time) string {
	var text strings.Builder
	if s.Error != "" {
		wrong, _, _ := strings.Cut(s.Error, "\n")
		text.WriteString("Your files as they are now are not in use: " + plainLine(wrong) + "\nThe last good ones are in use; this goes back beyond them.\n")
	}
	fmt.Fprintf(&text, "In use: policies %s, since %s.\n", s.Generation, day(s.Since))
	if e := s.Earlier; e != nil {
		how, at := "last used", e.Until
		if at.IsZero() { // an earlier version did not write it down
			how, at = "put into use", e.At
		}
		// This line fits 80 columns: a terminal would break a longer one anywhere.
		fmt.Fprintf(&text, "Before: %s, %s %s, %s ago.\n", cmp.Or(e.Set, e.Generation), how, day(at), ago(now.Sub(at)))
		if len(e.Changes) == 0 {
			text.WriteString("  only settings differ\n")
		}
		for _, change := range e.Changes {
			text.WriteString("  " + plainLine(change) + "\n")
		}
	}
	return text.String() + "Go back to the ones before?"
}

// goneBackTo says what is in use after a rollback, and how many of the files do not come with the program.
func goneBackTo(s policy.Status) string {
	n := 0
	for _, file := range s.Files {
		if !strings.HasPrefix(file, "shipped/") {
			n++
		}
	}
	return fmt.Sprintf("in use: %s, with %s beside those that come with intercom", s.Generation, several(n, "file"))
}

// ago formats a duration in its largest unit.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return several(int(d/time.Second), "second")
	case d < time.Hour:
		return several(int(d/time.Minute), "minute")
	case d < 48*time.Hour:
		return several(int(d/time.Hour), "hour")
	}
	return several(int(d/(24*time.Hour)), "day")
}

func (a *app) policyLog() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Show what policies decided and printed, and where they failed",
		Long: `Show what policies decided about each message, and by which line, what they
printed, where they failed, and which were put into use, oldest first. It does
not contain the text of messages, which intercom log has. It is read from a file
of the sidecar, which need not be running.`,
		Example: `  intercom policy log
  intercom policy log --limit 5 --json`,
		Args: between(0, 0, "no arguments"),
		RunE: do(a, func(*cobra.Command, []string) ([]policy.Entry, error) {
			if limit < 1 || limit > api.MaxCount {
				return nil, api.Errorf(api.CodeUsage, "--limit %d: not 1 to %d", limit, api.MaxCount).WithHint("intercom policy log --help")
			}
			paths, err := api.Places(a.Getenv, a.tmuxServer())
			if err != nil {
				return nil, err
			}
			return readPolicyLog(paths.PolicyLog, limit)
		}, a.showPolicyLog),
	}
	cmd.Flags().IntVar(&limit, "limit", 100, "only the latest `N` lines")
	a.completes(cmd)
	return cmd
}

// readPolicyLog returns the latest entries of the log and of the one before it, at most most.
func readPolicyLog(path string, most int) ([]policy.Entry, error) {
	all := []policy.Entry{}
	for _, one := range []string{path + ".1", path} {
		f, err := own.Open(one)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		lines, err := loggedIn(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("policy log %q: %w", one, err)
		}
		all = append(all, lines...)
	}
	return all[max(0, len(all)-most):], nil
}

func loggedIn(r io.Reader) (all []policy.Entry, err error) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return all, nil // the text after the last line break is still being written
		}
		if err != nil {
			return nil, err
		}
		var one policy.Entry
		if json.Unmarshal(bytes.TrimSpace(line), &one) == nil {
			all = append(all, one)
		}
	}
}

func (a *app) showPolicyLog(all []policy.Entry) {
	if len(all) == 0 {
		a.say("no policy has decided anything yet")
		return
	}
	for _, one := range all {
		at := clock(one.At)
		switch one.Event {
		case "decided":
			a.say("%s message %s: %s", at, one.Message.Short(), plainLine(decidedLine(one)))
		default:
			a.say("%s %s", at, plainLine(eventLine(one)))
		}
		for _, f := range one.Failures {
			a.say("    failed: %s: %s: %s", plainLine(failedPlace(f)), f.Hook, plainLine(f.Text))
		}
		for _, l := range one.Said {
			a.say("    %s:%d printed: %s", plainLine(l.Script), l.Line, plainLine(l.Text))
		}
		for _, c := range one.Loosened {
			a.say("    laxer: message %s of %s to %s: %s, by %s", c.Message.Short(), plainLine(c.From), plainLine(c.To), c.Verbs(), plainLine(c.By))
		}
	}
}

// decidedLine formats a decision for all targets, and those for targets that differ.
func decidedLine(one policy.Entry) string {
	line := outcomeLine(one.Verb, one.Reason, one.By)
	for _, o := range one.Outcomes {
		if o.Verb == one.Verb && o.Reason == one.Reason && o.By == one.By {
			continue // only its text differs
		}
		line += fmt.Sprintf("; for %s %s", o.Target.Short(), outcomeLine(o.Verb, o.Reason, o.By))
	}
	if one.Unfiltered {
		line += "; not all filters passed"
	}
	return fmt.Sprintf("%s (%.1f ms, %s)", line, float64(one.Micros)/1000, several(one.Instructions, "instruction"))
}

func outcomeLine(verb message.Verb, reason, by string) string {
	line := string(verb)
	if by != "" {
		line += " by " + by
	}
	if reason != "" {
		line += ": " + reason
	}
	return line
}

func eventLine(one policy.Entry) string {
	parts := []string{one.Event}
	if one.Generation != "" {
		parts = append(parts, one.Generation)
	}
	if one.Tried > 0 || one.Of > 0 {
		parts = append(parts, fmt.Sprintf("tried with %s, %s", triedWith(one.Tried, one.Of), several(len(one.Changed), "change")))
	}
	if one.Error != "" {
		parts = append(parts, one.Error)
	}
	return strings.Join(parts, ": ")
}

// explainMessage shows what was decided about a message, and what would be decided now.
func (a *app) explainMessage(cmd *cobra.Command, args []string, described bool) error {
	if described {
		return api.Errorf(api.CodeUsage, "an id and a described message: only one of them").WithHint("%s --help", cmd.CommandPath())
	}
	return do(a, func(cmd *cobra.Command, args []string) (policy.Explained, error) {
		return request(cmd.Context(), a.client, api.ExplainPolicy, api.ExplainPolicyRequest{ID: args[0]})
	}, a.showExplained)(cmd, args)
}

func (a *app) showExplained(e policy.Explained) {
	a.say("message %s of %s, type %s", e.Message.ID.Short(), plainLine(e.Message.From.Name), plainLine(e.Message.Type))
	for _, v := range e.Then {
		who := v.By
		if v.Person.Name != "" {
			who = v.Person.String()
		}
		a.say("%s %s", clock(v.At), plainLine(outcomeLine(v.Verb, v.Reason, who)))
		for _, o := range v.Outcomes {
			a.say("    for %s: %s", o.Target.Short(), plainLine(outcomeLine(o.Verb, o.Reason, o.By)))
		}
	}
	a.say("now:")
	a.showVerdict(e.Now)
}

package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// This file has the text that the aea commands print to a person at a terminal. Agents and scripts, whose standard
// output is not a terminal, get JSON: the commands in CLAUDE.md and in the scripts of .aea are for them.

// tells returns a command's function. It prints what ask returns: as text to a person at a terminal, and as JSON
// otherwise or with --json.
func tells[T any](a *app, ask func(cmd *cobra.Command, args []string) (T, error), show func(T)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.json = a.json || !a.toTerminal()
		return do(a, ask, show)(cmd, args)
	}
}

// toTerminal reports whether standard output is a terminal.
func (a *app) toTerminal() bool {
	f, ok := a.Stdout.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	return err == nil
}

// tellLine prints text that others may have written, in one line.
func (a *app) tellLine(format string, args ...any) {
	a.say("%s", plainLine(fmt.Sprintf(format, args...)))
}

// about describes a message in a listing, beside its file.
func (l letters) about() string {
	if l.Invalid != "" {
		return l.Invalid
	}
	text := fmt.Sprintf("%s, %s, from %s", l.Type, l.Priority, cmp.Or(l.From, "nobody"))
	if l.Wanted {
		text += ", who waits for an answer"
	}
	return text + ": " + l.Subject
}

// showLetters lists messages in the words of the loop in the AEA document.
func (a *app) showLetters(all []letters) {
	if len(all) == 0 {
		a.say("no messages")
	}
	for _, l := range all {
		how := "Unprocessed"
		switch {
		case l.Approval != "":
			how = "Waits for approval"
		case l.Processed:
			how = "Processed"
		case l.InHand:
			how = "In hand"
		case l.Invalid != "":
			how = "Invalid"
		}
		a.tellLine("%s: %s", how, l.File)
		a.tellLine("  %s", l.about())
		if l.Approval != "" {
			a.say("  intercom aea approve %s", l.Approval)
		}
	}
}

func (a *app) showChecked(r aeaChecked) {
	if len(r.Messages) > 0 {
		a.showLetters(r.Messages)
	} else {
		a.say("nothing is unprocessed")
	}
	a.showWaits(r.InHand, r.Awaiting, r.Held, r.Hint)
}

// showWaits counts the messages that wait and are not listed.
func (a *app) showWaits(hand, awaiting, held int, hint string) {
	for _, one := range []struct {
		n    int
		what string
	}{{hand, "with a sidecar"}, {awaiting, "awaiting your approval"}, {held, "held at a limit"}} {
		if one.n > 0 {
			a.say("%s %s", several(one.n, "message"), one.what)
		}
	}
	if hint != "" {
		a.tellLine("%s", hint)
	}
}

func (a *app) showLetter(r aeaShown) {
	a.showLetters([]letters{r.letters})
	for _, one := range [][2]string{{"message_id", r.ID}, {"timestamp", r.Time}, {"from", r.FromPath}, {"reply_to", r.ReplyTo}, {"conversation", r.Thread}, {"tags", strings.Join(r.Tags, ", ")}, {"context", string(r.Context)}} {
		if one[1] != "" {
			a.tellLine("  %s %s", one[0], one[1])
		}
	}
	a.say("\n%s", plain(r.Body))
}

func (a *app) showDone(r aeaDone) {
	if r.Already {
		a.tellLine("%s was marked before", r.File)
		return
	}
	a.tellLine("Processed: %s", r.File)
}

func (a *app) showLetterSent(r aeaSent) {
	a.tellLine("sent to %s: %s", r.To.ID, r.File)
	a.tellLine("from %s, message_id %s", r.From.ID, r.ID)
}

func (a *app) showApprovals(all []aeaApproval) {
	if len(all) == 0 {
		a.say("nothing awaits your approval")
		return
	}
	for _, one := range all {
		a.tellLine("%s %s", one.ID.Short(), one.about())
		why := ""
		if one.Reason != "" {
			why = ": " + one.Reason
		}
		a.tellLine("  %s, to %s, since %s%s", one.File, one.Repository, one.Since, why)
	}
	a.say("intercom aea approve ID or reject ID decides; aea show FILE shows the text")
}

func (a *app) showLetterDecided(r aeaDecided) {
	if r.Already {
		a.tellLine("message %s was already %s, by %s", r.ID.Short(), r.Decision, r.By)
		return
	}
	a.tellLine("%s: %s from %s: %s", r.Decision, r.File, r.From, r.Subject)
}

func (a *app) showResumed(r aeaResumed) {
	if r.Resumed == 0 {
		a.say("no message or answer of a repository is held")
		return
	}
	a.say("resumed: %s", several(r.Resumed, "message"))
}

func (a *app) showMonitored(r aeaMonitored) {
	how := "nothing processes its messages"
	switch {
	case r.Running:
		how = fmt.Sprintf("its messages are processed, by process %d", r.PID)
	case !r.Enabled:
		how = "it is not enabled on this computer; intercom aea install" + inRepository(r.Repository) + " enables it"
	}
	a.tellLine("%s: monitor %s: %s", r.Repository, cmp.Or(r.Monitor, "off"), how)
	a.showWaits(0, r.Awaiting, r.Held, r.Hint)
}

func (a *app) showArchived(r aeaArchived) {
	a.tellLine("archived of %s: %s", r.Repository, several(len(r.Archived), "message"))
	for _, name := range r.Archived {
		a.tellLine("  %s", name)
	}
}

func (a *app) showInstalled(r aeaInstalled) {
	a.tellLine("%s is enabled, for agent %s", r.Repository, r.Agent)
	for _, f := range r.Files {
		text := fmt.Sprintf("  %-8s %s", f.Did, f.File)
		if f.Why != "" {
			text += ": " + f.Why
		}
		a.tellLine("%s", text)
	}
	if r.Warning != "" {
		a.warn(r.Warning)
	}
}

func (a *app) showExamined(r aeaExamined) {
	a.tellLine("%s, agent %s", r.Repository, r.Agent)
	if len(r.Findings) == 0 {
		a.say("nothing is wrong")
	}
	for _, f := range r.Findings {
		text := f.File + ": " + f.What
		switch {
		case f.Fixed:
			text += " (put right)"
		case f.Fix != "":
			text += " → " + f.Fix
		}
		a.tellLine("%s", text)
	}
}

func (a *app) showVersions(r aeaVersions) {
	others := slices.DeleteFunc(slices.Clone(r.Reads), func(v string) bool { return v == r.Protocol })
	a.say("AEA %s of %s; reads %s too; intercom %s", r.Protocol, r.Released, strings.Join(others, ", "), r.Intercom)
}

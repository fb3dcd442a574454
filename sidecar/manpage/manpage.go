// Package manpage writes the manual pages of a program, in the macros of man(7), from the help of its commands. cobra's
// own generator goes through Markdown, and any program that contains its parser builds the parser's tables at each
// start.
package manpage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Page is the manual page of one command, in section 1.
type Page struct {
	Name string // name of its file: intercom-chat-start.1
	Text string
}

// Of returns the pages of root and of all commands below it that people call. source is the program with its version,
// manual the title of all pages. The pages have no date: the same program has the same pages.
func Of(root *cobra.Command, source, manual string) []Page {
	all := []Page{{titleOf(root) + ".1", text(root, source, manual)}}
	for _, cmd := range called(root) {
		all = append(all, Of(cmd, source, manual)...)
	}
	return all
}

// called returns the commands below cmd that people call.
func called(cmd *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool {
		return !c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand()
	})
}

func titleOf(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func text(cmd *cobra.Command, source, manual string) string {
	var b strings.Builder
	cmd.InitDefaultHelpFlag()
	_ = cmd.InheritedFlags() // the synopsis includes them only after this call
	title := titleOf(cmd)
	fmt.Fprintf(&b, ".TH %q 1 \"\" %q %q\n", strings.ToUpper(title), source, manual)
	b.WriteString(".nh\n.ad l\n") // commands and paths are copied from here
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escaped(title), escaped(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n\\fB%s\\fP\n", escaped(cmd.UseLine()))
	b.WriteString(".SH DESCRIPTION\n")
	said := cmd.Long
	if said == "" {
		said = cmd.Short + "."
	}
	paragraphs(&b, said)
	flags(&b, "OPTIONS", cmd.NonInheritedFlags())
	flags(&b, "OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	if cmd.HasExample() {
		b.WriteString(".SH EXAMPLES\n")
		verbatim(&b, cmd.Example)
	}
	var related []string
	if cmd.HasParent() {
		related = append(related, titleOf(cmd.Parent()))
	}
	for _, c := range called(cmd) {
		related = append(related, titleOf(c))
	}
	if len(related) > 0 {
		b.WriteString(".SH SEE ALSO\n")
		for i, one := range related {
			end := ","
			if i == len(related)-1 {
				end = ""
			}
			fmt.Fprintf(&b, ".BR %s (1)%s\n", escaped(one), end)
		}
	}
	return b.String()
}

// paragraphs writes text as paragraphs, with its indented lines as they stand.
func paragraphs(b *strings.Builder, text string) {
	var table []string
	flush := func() {
		if len(table) > 0 {
			verbatim(b, strings.Join(table, "\n"))
			b.WriteString(".PP\n")
		}
		table = nil
	}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		switch {
		case strings.HasPrefix(line, "  "), line == "" && len(table) > 0:
			table = append(table, line)
		case line == "":
			b.WriteString(".PP\n")
		default:
			flush()
			b.WriteString(lineOf(line))
		}
	}
	flush()
}

// verbatim writes text as it stands.
func verbatim(b *strings.Builder, text string) {
	b.WriteString(".nf\n")
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		b.WriteString(lineOf(line))
	}
	b.WriteString(".fi\n")
}

// flags writes a section on the flags that are not hidden.
func flags(b *strings.Builder, title string, of *pflag.FlagSet) {
	if !of.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %q\n", title)
	of.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" && f.ShorthandDeprecated == "" {
			name = "-" + f.Shorthand + ", " + name
		}
		value, usage := pflag.UnquoteUsage(f)
		b.WriteString(".TP\n\\fB" + escaped(name) + "\\fP")
		if value != "" {
			b.WriteString(" \\fI" + escaped(value) + "\\fP")
		}
		switch f.DefValue {
		case "", "0", "0s", "false", "[]":
		default:
			usage += " (default " + f.DefValue + ")"
		}
		b.WriteString("\n" + lineOf(usage))
	})
}

// lineOf returns a line of text that roff does not take for a request, however it begins.
func lineOf(line string) string {
	line = escaped(line)
	if strings.HasPrefix(line, ".") {
		line = `\&` + line
	}
	return line + "\n"
}

// escaped returns text for roff: a hyphen stays the minus of a flag when it is copied, a backslash begins no escape,
// and quotes stay as they are.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\e`, `-`, `\-`, `'`, `\(aq`, "`", `\(ga`, `^`, `\(ha`, `~`, `\(ti`).Replace(text)
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
)

// manReply is what `man --json` prints.
type manReply struct {
	Pages []string `json:"pages"`
}

func (a *app) man() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages",
		Hidden: true,
		Long: `Write a manual page for each command to DIR, which is created if it does not
exist: intercom.1, intercom-chat.1, intercom-chat-start.1, …`,
		Example: `  intercom man ~/.local/share/man/man1`,
		Args:    between(1, 1, "a directory"),
		RunE: do(a, func(_ *cobra.Command, args []string) (r manReply, err error) {
			dir := args[0]
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return r, api.Errorf(api.CodeFailed, "%w", err)
			}
			r.Pages = []string{}
			return r, a.writePages(dir, (&app{env: a.env}).root(), &r.Pages)
		}, func(r manReply) {
			a.say("%s in %s", several(len(r.Pages), "page"), plainLine(filepath.Dir(r.Pages[0])))
		}),
	}
}

// writePages writes the page of cmd and those of the commands below it, but for what no person calls.
func (a *app) writePages(dir string, cmd *cobra.Command, written *[]string) error {
	cmd.DisableAutoGenTag = true // no date: the same program has the same pages
	cmd.Long = verbatimTables(cmd.Long)
	var page bytes.Buffer
	header := &doc.GenManHeader{Section: "1", Source: "intercom " + built().Version, Manual: "tmux-intercom"}
	if err := doc.GenMan(cmd, header, &page); err != nil {
		return api.Errorf(api.CodeFailed, "page of %s: %w", cmd.CommandPath(), err)
	}
	path := filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")
	if err := atomicfile.Write(path, page.Bytes(), 0o644); err != nil {
		return api.Errorf(api.CodeFailed, "%w", err)
	}
	*written = append(*written, path)
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
			continue
		}
		if err := a.writePages(dir, c, written); err != nil {
			return err
		}
	}
	return nil
}

// verbatimTables makes indented lines what Markdown leaves as they are.
func verbatimTables(text string) string {
	var b strings.Builder
	table := false
	for line := range strings.Lines(text) {
		if indented := strings.HasPrefix(line, "  "); indented != table {
			table = indented
			b.WriteString("\n")
		}
		if table {
			b.WriteString("    ")
		}
		b.WriteString(line)
	}
	return b.String()
}

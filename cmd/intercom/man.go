package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/manpage"
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
			for _, page := range manpage.Of((&app{env: a.env}).root(), "intercom "+built().Version, "tmux-intercom") {
				path := filepath.Join(dir, page.Name)
				if err := atomicfile.Write(path, []byte(page.Text), 0o644); err != nil {
					return r, api.Errorf(api.CodeFailed, "%w", err)
				}
				r.Pages = append(r.Pages, path)
			}
			return r, nil
		}, func(r manReply) {
			a.say("%s in %s", several(len(r.Pages), "page"), plainLine(filepath.Dir(r.Pages[0])))
		}),
	}
}

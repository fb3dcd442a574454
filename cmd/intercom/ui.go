package main

import (
	"context"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
	"github.com/tmux-intercom/tmux-intercom/sidecar/ui"
)

func (a *app) ui() *cobra.Command {
	var start ui.Start
	var given string
	cmd := &cobra.Command{
		Use:   "ui [waits|chats|inbox|log|computers]",
		Short: "See everything on one screen, and act on it",
		Long: `See everything on one screen, live: what waits for you, the chats and panes,
the messages that have not been taken yet, what happened, and the computers that
this one is linked with. The bottom line shows the keys for the selected row;
Tab or a number changes the tab, / filters, q closes.

Approving, rejecting, releasing, restarting a chat and resuming at a limit ask
for y. --watch shows one chat only.`,
		Example: `  intercom ui inbox
  intercom ui --watch plans`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := between(0, 1, "at most a tab")(cmd, args); err != nil || len(args) == 0 {
				return err
			}
			return oneOf("tab", args[0], tabWords())
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			a.ran = true
			if err := checkWord(cmd, "watch"); err != nil {
				return err
			}
			if len(args) > 0 {
				start.Tab = ui.Tab(args[0])
			}
			var o origin
			if given != "" {
				var err error
				if o, err = a.origin(cmd.Context(), given); err != nil {
					return err
				}
				a.pressed(cmd.Context(), o, api.PressedRequest{})
			}
			return a.screen(cmd.Context(), o, start)
		},
	}
	cmd.Flags().StringVar(&start.Watch, "watch", "", "show only this `CHAT`")
	cmd.Flags().StringVar(&given, "origin", "", "`CLIENT PANE` of who pressed the key that runs this")
	_ = cmd.Flags().MarkHidden("origin")
	a.completesFlag(cmd, "watch", chatWords)
	cmd.ValidArgsFunction = cobra.FixedCompletions(tabWords(), cobra.ShellCompDirectiveNoFileComp)
	return cmd
}

// shows opens the screen at a tab, for a key.
func (a *app) shows(tab ui.Tab) func(context.Context, origin) (string, error) {
	return func(ctx context.Context, o origin) (string, error) { return "", a.screen(ctx, o, ui.Start{Tab: tab}) }
}

// watchHere shows the chat of the pane in which a key was pressed, or all chats if it is in none.
func (a *app) watchHere(ctx context.Context, o origin) (string, error) {
	_, status, err := a.sidecarOf(ctx)
	if err != nil {
		return "", err
	}
	// If the popup closed by itself, the key that closes it would go to the agent below.
	start := ui.Start{Tab: ui.Chats}
	if chat, _, in := chatOf(status, o.Pane); in {
		start = ui.Start{Watch: string(chat.ID)}
	}
	return "", a.screen(ctx, o, start)
}

func tabWords() (words []string) {
	for _, tab := range ui.Tabs {
		words = append(words, string(tab))
	}
	return words
}

// screen shows a screen at the terminal, for the person who pressed a key there.
func (a *app) screen(ctx context.Context, o origin, start ui.Start) error {
	in, out, err := a.ownTerminal()
	if err != nil {
		return err
	}
	var c *api.Client
	if start.Sheet == nil { // a sheet also works without a sidecar
		if c, err = a.client(ctx); err != nil {
			return err
		}
	}
	var environ []string
	if a.Environ != nil {
		environ = a.Environ()
	}
	told, err := ui.Run(ctx, ui.Host{
		Client: c, In: in, Out: out, Environ: environ, Pane: o.Pane,
		Jump: func(ctx context.Context, pane string) error { return tmux.Jump(ctx, a.tmuxOptions(), o.Client, pane) },
		Edit: func(ctx context.Context, text string) (string, error) { return a.edited(ctx, text, keysThere) },
		Keep: keepText,
		Hint: func(text string) string { return a.byKeys(ctx, text) },
		Unsent: func(ctx context.Context, which api.ChatRef, chats []message.Chat) []string {
			return unsent(ctx, c, which, chats)
		},
		Left: func(ctx context.Context, session message.Peer, deliveries []message.ID) string {
			return leftUnsent(ctx, c, session, deliveries)
		},
	}, start)
	if err != nil || told == "" {
		return err
	}
	if o.Client != "" {
		return a.handOver(o, "told", told)
	}
	a.say("%s", plain(told))
	return nil
}

// ownTerminal returns the terminal at which this runs. A yes is typed there, so nothing else will do.
func (a *app) ownTerminal() (in, out *os.File, err error) {
	in, isFile := a.Stdin.(*os.File)
	out, shows := a.Stdout.(*os.File)
	if isFile && shows && !slices.ContainsFunc([]*os.File{in, out}, func(f *os.File) bool {
		_, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
		return err != nil
	}) {
		return in, out, nil
	}
	return nil, nil, api.Errorf(api.CodeUsage, "intercom ui needs a terminal").WithHint("intercom status, intercom inbox list and intercom log print the same")
}

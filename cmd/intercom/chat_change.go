package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func (a *app) chatStop() *cobra.Command {
	var after bool
	stop := func(ctx context.Context, which api.ChatRef) ([]message.Chat, error) {
		if which.After = after; after && which.All {
			return nil, api.Errorf(api.CodeUsage, "--all stops at once, and --after-answer does not: only one of them").WithHint("intercom chat stop --help")
		}
		c, err := a.tmuxClient(ctx)
		if err != nil {
			return nil, err
		}
		since := logged(ctx, c)
		chats, err := quickly(ctx, c, api.StopChat, which)
		if err == nil {
			a.noteUndelivered(ctx, c, since, inChats(chats))
			if !after {
				a.noteUnsent(ctx, c, which, chats)
			}
		}
		return chats, err
	}
	cmd := a.changeChat(stop, "ended", nothingTyped, &cobra.Command{
		Use:   "stop [CHAT|--all]",
		Short: "End a chat",
		Long: `End a chat, or all chats. Messages that have not been typed yet will not be, and
what is said later is not passed on. Text of the chat that stands in a composer
already gets no Enter, and its pane is named. --all stops all typing, single
messages included, until intercom chat resume --all.`,
		Example: `  intercom chat stop --all
  intercom chat stop plans --after-answer`,
	})
	cmd.Flags().BoolVar(&after, "after-answer", false, "not now, but after the next answer has been passed on")
	return cmd
}

func (a *app) chatPause() *cobra.Command {
	pause := func(ctx context.Context, which api.ChatRef) ([]message.Chat, error) {
		c, err := a.tmuxClient(ctx)
		if err != nil {
			return nil, err
		}
		chats, err := quickly(ctx, c, api.PauseChat, which)
		if err == nil {
			a.noteUnsent(ctx, c, which, chats)
		}
		return chats, err
	}
	return a.changeChat(pause, "paused", nothingTyped, &cobra.Command{
		Use:   "pause [CHAT|--all]",
		Short: "Hold the messages of a chat",
		Long: `Hold the messages of a chat, or of all chats, until you resume it: nothing is
typed, and nothing is lost. --all holds single messages too, until
intercom chat resume --all.`,
		Example: `  intercom chat pause --all`,
	})
}

func (a *app) chatResume() *cobra.Command {
	idle := false // nothing was stopped, paused or at a limit
	resume := func(ctx context.Context, which api.ChatRef) ([]message.Chat, error) {
		c, err := a.tmuxClient(ctx)
		if err != nil {
			return nil, err
		}
		before, unknown := quickStatus(ctx, c)
		chats, asked, err := a.resumeAt(ctx, a.tmuxClient, which)
		idle = unknown == nil && !before.Stopped && len(chats) == 0 && !asked
		return chats, err
	}
	typedAgain := func() string {
		if idle {
			return "nothing was stopped; intercom inbox list says what messages wait for"
		}
		return "messages are typed again"
	}
	return a.changeChat(resume, "resumed", typedAgain, &cobra.Command{
		Use:   "resume [CHAT|--all]",
		Short: "Resume a paused chat",
		Long: `Resume a paused chat. If it is at a limit you are asked first, and only y
at your terminal means yes. That counts as a message from you: depth, rate and
bytes start again from 0.`,
		Example: `  intercom chat resume plans`,
	})
}

// resume lets chats go on. A person must say yes to a chat that is at a limit.
func (a *app) resume(ctx context.Context, which api.ChatRef) ([]message.Chat, error) {
	chats, _, err := a.resumeAt(ctx, a.tmuxClient, which)
	return chats, err
}

// resumeAt is resume at one sidecar; asked reports whether a person was asked about a limit.
func (a *app) resumeAt(ctx context.Context, reach func(context.Context) (*api.Client, error), which api.ChatRef) (chats []message.Chat, asked bool, _ error) {
	chats, err := request(ctx, reach, api.ResumeChat, which)
	if err == nil || api.AsError(err).Code != api.CodeUnsure {
		return chats, false, err
	}
	if err := a.confirm(ctx, plain(api.AsError(err).Text)+"\n\nResume it?"); err != nil {
		return nil, true, err
	}
	which.Sure = true
	chats, err = request(ctx, reach, api.ResumeChat, which)
	return chats, true, err
}

type changing func(context.Context, api.ChatRef) ([]message.Chat, error)

// nothingTyped returns the line that is printed after everything was stopped.
func nothingTyped() string {
	return fmt.Sprintf("%s: nothing is typed until you run: %s", message.Stopped, resumeAll)
}

// changeChat completes a command that makes the same change to one chat or to all; ofAll returns the line that is
// printed after a change to all.
func (a *app) changeChat(change changing, done string, ofAll func() string, cmd *cobra.Command) *cobra.Command {
	var all bool
	var asked string
	cmd.Args = between(0, 1, "a chat, or --all")
	cmd.RunE = do(a, func(cmd *cobra.Command, args []string) ([]message.Chat, error) {
		which := api.ChatRef{All: all}
		if len(args) > 0 {
			which.Chat, asked = args[0], args[0]
		}
		if (which.Chat == "") == !all {
			return nil, api.Errorf(api.CodeUsage, "name one chat, or all with --all").
				WithHint("intercom chat list")
		}
		chats, err := change(cmd.Context(), which)
		if told, ok := errors.AsType[*api.Error](err); ok && told.Kind == api.ChatEnded && done == "ended" {
			return chats, told.WithHint("nothing is left to stop in it; intercom chat list shows what goes on")
		}
		return chats, aboutChat(err, which.Chat)
	}, func(chats []message.Chat) {
		for _, c := range chats {
			if done == "ended" && c.State != message.ChatOver {
				a.say("chat %s ends after the next answer", chatName(c))
				continue
			}
			a.say("chat %s %s", chatName(c), done)
		}
		switch {
		case all:
			a.say("%s", ofAll())
		case len(chats) == 0 && done == "resumed":
			a.say("chat %s is already running", plainLine(asked))
		case len(chats) == 0:
			a.say("no chats")
		}
	})
	cmd.Flags().BoolVar(&all, "all", false, "all chats")
	a.completes(cmd, chatWords)
	return cmd
}

package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

const (
	usualLimit = 1000
	logPage    = 2000 // steps that are asked for at once where all are wanted
)

func (a *app) log() *cobra.Command {
	var q api.LogQuery
	var follow, markdown, verbose bool
	cmd := &cobra.Command{
		Use:   "log [ID]",
		Short: "Show messages and what happened to them",
		Long: `Show messages and what happened to them, oldest first: everything, or only one
message, delivery or chat, or what contains certain words.

A message is a step, and so is each stage of its delivery. The latest 1000 steps
are shown; --limit changes that, and --limit 0 shows all. Steps are counted
before the short form leaves some out: it shows messages, cut after 2000
characters, the first hold of each delivery, and its outcome. With an ID every
step is shown with its evidence, the full text, and, if a person edited it, what
was typed; -v shows that for everything. --json always includes everything.

--notices lists what you were told of, and nothing else.

-f goes on until you stop it or the sidecar ends, and across a replaced sidecar;
--json then prints one object per line, without -f one array.`,
		Example: `  intercom log -f --chat plans
  intercom log --chat plans --md > plans.md`,
		Args: between(0, 1, "at most an id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.ran = true
			if len(args) > 0 {
				q.ID = args[0]
			}
			for _, flag := range []string{"chat", "search"} {
				if err := checkWord(cmd, flag); err != nil {
					return err
				}
			}
			switch {
			case q.Limit < 0:
				return api.Errorf(api.CodeUsage, "--limit %d: must not be negative", q.Limit).WithHint("--limit 0 shows all; the default is the latest %d", usualLimit)
			case q.Limit > api.MaxCount:
				return api.Errorf(api.CodeUsage, "--limit %d: too large", q.Limit).WithHint("--limit 0 shows all")
			case follow && (q.ID != "" || q.Search != "" || q.Notices):
				return api.Errorf(api.CodeUsage, "-f goes with --chat only, not with an id, --search or --notices").WithHint("intercom log -f --chat CHAT")
			case markdown && a.json:
				return api.Errorf(api.CodeUsage, "--md and --json: only one of them").WithHint("%s --help", cmd.CommandPath())
			}
			c, err := a.client(cmd.Context())
			if err != nil {
				return err
			}
			if a.tmuxServer() == "" {
				a.note("this is not a tmux pane, so this is the log of headless use; --server SOCKET names a tmux server, whose log is its own")
			}
			events, err := a.ask(cmd.Context(), c, q)
			if err != nil {
				return aboutChat(err, q.Chat)
			}
			if a.json && !follow {
				return a.printJSON(events)
			}
			detail := outcomes
			switch {
			case verbose:
				detail = everything
			case q.ID != "":
				detail = steps
			}
			ctx, cancel := within(cmd.Context())
			defer cancel()
			show, err := a.shower(ctx, c, markdown, detail, events)
			if err != nil {
				return err
			}
			for _, e := range events {
				if err := show(e); err != nil {
					return err
				}
			}
			if !follow {
				return nil
			}
			return a.follow(cmd.Context(), ctx, c, q, events, show)
		},
	}
	cmd.Flags().StringVar(&q.Chat, "chat", "", "only this `CHAT`")
	cmd.Flags().StringVar(&q.Search, "search", "", "only messages that contain these `WORDS`")
	cmd.Flags().BoolVar(&q.Notices, "notices", false, "only what you were told of")
	cmd.Flags().IntVar(&q.Limit, "limit", usualLimit, "only the latest `N` steps; 0 is all")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow what happens")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show every step with its evidence")
	cmd.Flags().BoolVar(&markdown, "md", false, "print what was said as Markdown")
	a.completes(cmd)
	a.completesFlag(cmd, "chat", anyChatWords)
	return cmd
}

// ask reads the log: the latest steps, and says on the side if there are more, or page by
// page all of them.
func (a *app) ask(ctx context.Context, c *api.Client, q api.LogQuery) ([]message.Event, error) {
	if q.Limit > 0 {
		ctx, cancel := within(ctx)
		defer cancel()
		most := q.Limit
		q.Limit++
		events, err := api.Call(ctx, c, api.Log, q)
		if len(events) > most {
			events = events[len(events)-most:]
			a.note("only the latest %s shown: --limit N shows more, --limit 0 all", several(most, "step"))
		}
		return events, err
	}
	all := []message.Event{}
	q.Limit, q.Oldest = logPage, true
	for {
		asking, cancel := within(ctx)
		events, err := api.Call(asking, c, api.Log, q)
		cancel()
		all = append(all, events...)
		if err != nil || len(events) < logPage {
			return all, err
		}
		q.Since = events[len(events)-1].Seq
	}
}

// follow shows what happens after the events that were shown already. lookup bounds the
// one question that it asks before.
func (a *app) follow(ctx, lookup context.Context, c *api.Client, q api.LogQuery, shown []message.Event, show func(message.Event) error) error {
	mine := func(message.Event) bool { return true }
	if q.Chat != "" {
		id, err := chatID(lookup, c, q.Chat)
		if err != nil {
			return err
		}
		mine = func(e message.Event) bool { return e.Chat == id }
	}
	var since int64
	if len(shown) > 0 {
		since = shown[len(shown)-1].Seq
	}
	for e, err := range a.events(ctx, c, since) {
		if err != nil {
			return err
		}
		if !mine(e) {
			continue
		}
		if err := show(e); err != nil {
			return err
		}
	}
	return nil
}

// chatID finds a chat, on or ended, by its id, the end of its id, or its name: of several
// with that name the latest.
func chatID(ctx context.Context, c *api.Client, word string) (message.ID, error) {
	on, err := api.Call(ctx, c, api.Chats, api.ChatsQuery{})
	if err != nil {
		return "", err
	}
	ended, err := api.Call(ctx, c, api.Chats, api.ChatsQuery{Ended: true})
	if err != nil {
		return "", err
	}
	for _, chat := range slices.Backward(append(ended, on...)) {
		if chat.ID.Is(word) || chat.Name == word {
			return chat.ID, nil
		}
	}
	return "", api.Errorf(api.CodeNotFound, "no chat %q", word).WithHint("intercom chat list").About(api.NoChat, word)
}

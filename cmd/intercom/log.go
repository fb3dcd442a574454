package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

const (
	usualLimit = 1000
	logPage    = 2000 // steps per request, if all are wanted
)

// origins are the origins that a message may have.
var origins = []string{string(message.OriginHuman), string(message.OriginAgent), string(message.OriginSystem), string(message.OriginRemote)}

func (a *app) log() *cobra.Command {
	var q api.LogQuery
	var follow, markdown, verbose bool
	cmd := &cobra.Command{
		Use:   "log [ID]",
		Short: "Show messages and what happened to them",
		Long: `Show messages and what happened to them, oldest first: everything, or only one
message, delivery or chat, or what contains certain words.

A message is a step, and so is each stage of its delivery. The latest 1000 steps
are shown; --limit changes that, and --limit 0 shows all. Only steps that are
shown count: the short form has messages, cut after 2000 characters, the first
hold of each delivery, and its outcome. With an ID every step is shown with its
evidence, the full text, and, if a person edited it, what was typed; -v shows
that for everything. --json includes everything, and counts all of it.

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
			if cmd.Flags().Changed("origin") {
				if err := oneOf("--origin", q.Origin, origins); err != nil {
					return err
				}
			}
			switch {
			case q.Limit < 0:
				return api.Errorf(api.CodeUsage, "--limit %d: must not be negative", q.Limit).WithHint("--limit 0 shows all; the default is the latest %d", usualLimit)
			case q.Limit > api.MaxCount:
				return api.Errorf(api.CodeUsage, "--limit %d: too large", q.Limit).WithHint("--limit 0 shows all")
			case follow && (q.ID != "" || q.Search != "" || q.Origin != "" || q.Notices):
				return api.Errorf(api.CodeUsage, "-f goes with --chat only, not with an id, --search, --origin or --notices").WithHint("intercom log -f --chat CHAT")
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
			detail := outcomes
			switch {
			case verbose:
				detail = everything
			case q.ID != "":
				detail = steps
			}
			if follow && q.Chat != "" {
				// Resolve the chat before printing, which may take long: afterwards the word may mean another chat.
				if q.Chat, err = chatID(cmd.Context(), c, q.Chat); err != nil {
					return err
				}
			}
			events, hidden, err := a.ask(cmd.Context(), c, q, func() printer { return a.printer(markdown, detail) })
			if err != nil {
				return aboutChat(err, q.Chat)
			}
			if a.json && !follow {
				return a.printJSON(events)
			}
			ctx, cancel := within(cmd.Context())
			defer cancel()
			p, err := a.naming(ctx, c, a.printer(markdown, detail), events)
			if err != nil {
				return err
			}
			p.stopped = func() bool { return everythingStopped(cmd.Context(), c) }
			for i, e := range events {
				if i < hidden {
					p.take(e)
				} else if err := p.show(e); err != nil {
					return err
				}
			}
			if !follow {
				return nil
			}
			return a.follow(cmd.Context(), c, q, events, p.show)
		},
	}
	cmd.Flags().StringVar(&q.Chat, "chat", "", "only this `CHAT`")
	cmd.Flags().StringVar(&q.Search, "search", "", "only messages that contain these `WORDS`")
	cmd.Flags().StringVar(&q.Origin, "origin", "", "only messages of this `ORIGIN`: "+strings.Join(origins, ", "))
	cmd.Flags().BoolVar(&q.Notices, "notices", false, "only what you were told of")
	cmd.Flags().IntVar(&q.Limit, "limit", usualLimit, "only the latest `N` steps; 0 is all")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow what happens")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show every step with its evidence")
	cmd.Flags().BoolVar(&markdown, "md", false, "print what was said as Markdown")
	a.completes(cmd)
	a.completesFlag(cmd, "chat", anyChatWords)
	_ = cmd.RegisterFlagCompletionFunc("origin", cobra.FixedCompletions(origins, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// ask reads the log: as much of its end as shows the latest steps, or all of it, page by page. The first hidden events
// are not shown, but those after them build on what they tell. ask also notes if there are more.
func (a *app) ask(ctx context.Context, c *api.Client, q api.LogQuery, shows func() printer) (events []message.Event, hidden int, err error) {
	page := func(q api.LogQuery) ([]message.Event, error) {
		ctx, cancel := within(ctx)
		defer cancel()
		return api.Call(ctx, c, api.Log, q)
	}
	events = []message.Event{}
	most := q.Limit
	if most == 0 {
		for q.Limit, q.Oldest = logPage, true; ; q.Since = events[len(events)-1].Seq {
			some, err := page(q)
			events = append(events, some...)
			if err != nil || len(some) < logPage {
				return events, 0, err
			}
		}
	}
	for q.Limit = most + 1; ; q.Limit, q.Before = max(q.Limit, logPage), events[0].Seq {
		some, err := page(q)
		if err != nil {
			return nil, 0, err
		}
		events = append(some, events...)
		if hidden, more := beyond(events, most, shows()); more {
			a.note("only the latest %s shown: --limit N shows more, --limit 0 all", several(most, "step"))
			if a.json {
				return events[hidden:], 0, nil
			}
			return events, hidden, nil
		}
		if len(some) < q.Limit || events[0].Seq == 0 {
			return events, 0, nil
		}
	}
}

// beyond returns how many events come before the latest most of those that are shown, and whether more than most are
// shown.
func beyond(events []message.Event, most int, p printer) (before int, more bool) {
	var shown []int
	for i, e := range events {
		if p.take(e) {
			shown = append(shown, i)
		}
	}
	if len(shown) <= most {
		return 0, false
	}
	return shown[len(shown)-most], true
}

// follow shows what happens after the events that were already shown. If q names a chat, it is by its id.
func (a *app) follow(ctx context.Context, c *api.Client, q api.LogQuery, shown []message.Event, show func(message.Event) error) error {
	mine := func(e message.Event) bool { return q.Chat == "" || string(e.Chat) == q.Chat }
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

// chatID finds a chat, running or ended, as every other command about a chat does.
func chatID(ctx context.Context, c *api.Client, word string) (string, error) {
	chat, err := quickly(ctx, c, api.ShowChat, api.ChatQuery{Chat: word})
	return string(chat.ID), aboutChat(err, word)
}

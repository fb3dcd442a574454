package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func (a *app) log() *cobra.Command {
	var q api.LogQuery
	var follow, markdown, verbose bool
	cmd := &cobra.Command{
		Use:   "log [ID]",
		Short: "Show what happened and what was said",
		Long: `Show what was said and what became of it, oldest first: all of it, what belongs to
one message, delivery or chat, or what was said with certain words in it. With an
ID every step of it is shown; -v shows every step of everything, with what it
rests on. --json always has all.

With -f it goes on until you or the sidecar end it; --json then prints one object
a line, and without -f one array.`,
		Example: `  intercom log -f --chat plans
  intercom log --chat plans --md > plans.md`,
		Args: between(0, 1, "at most an id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.ran = true
			if len(args) > 0 {
				q.ID = args[0]
			}
			switch {
			case q.Limit < 0:
				return api.Errorf(api.CodeUsage, "--limit %d: less than none", q.Limit).WithHint("without --limit it is the latest thousand")
			case follow && (q.ID != "" || q.Search != ""):
				return api.Errorf(api.CodeUsage, "-f goes with --chat only, neither with an id nor with --search")
			case markdown && a.json:
				return api.Errorf(api.CodeUsage, "--md and --json: only one of them")
			}
			c, err := a.client(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := within(cmd.Context())
			defer cancel()
			events, err := c.Log(ctx, q)
			if err != nil {
				return aboutChat(err)
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
			show, err := a.shower(ctx, c, markdown, detail)
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
	cmd.Flags().StringVar(&q.Chat, "chat", "", "only what belongs to `CHAT`")
	cmd.Flags().StringVar(&q.Search, "search", "", "only what was said with these `WORDS` in it")
	cmd.Flags().IntVar(&q.Limit, "limit", 0, "only the latest `N`")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what happens now")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show every step, and what it rests on")
	cmd.Flags().BoolVar(&markdown, "md", false, "print what was said, as Markdown")
	a.completes(cmd)
	a.completesFlag(cmd, "chat", chatWords)
	return cmd
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
	for e, err := range c.Events(ctx, since) {
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
	on, err := c.Chats(ctx, false)
	if err != nil {
		return "", err
	}
	ended, err := c.Chats(ctx, true)
	if err != nil {
		return "", err
	}
	for _, chat := range slices.Backward(append(ended, on...)) {
		if string(chat.ID) == word || chat.ID.Short() == word || chat.Name == word {
			return chat.ID, nil
		}
	}
	return "", api.Errorf(api.CodeNotFound, "no chat %q", word).WithHint("intercom chat list")
}

// detail is how much of what happened is shown to people.
type detail int

const (
	outcomes   detail = iota // words, and what became of them in the end
	steps                    // and how they came there
	everything               // and what each step rests on, and the states of the panes
)

// shows reports whether an event is shown.
func (d detail) shows(e message.Event) bool {
	switch {
	case e.Session != nil:
		return d == everything || e.Session.Ended != nil
	case e.Receipt == nil || d >= steps:
		return true
	}
	switch e.Receipt.State {
	case message.Submitted, message.Failed, message.Expired, message.Uncertain:
		return true
	case message.Answered:
		return e.Chat == "" // in a chat the answer is a message of its own
	}
	return false
}

// shower makes the function that prints an event.
func (a *app) shower(ctx context.Context, c *api.Client, markdown bool, detail detail) (func(message.Event) error, error) {
	switch {
	case a.json:
		return func(e message.Event) error { return a.printJSON(e) }, nil
	case markdown:
		return func(e message.Event) error {
			if e.Message != nil {
				a.say("**%s** · %s\n\n%s\n", plainLine(author(*e.Message)), day(e.At), indent(plain(e.Message.Body), "> "))
			}
			return nil
		}, nil
	}
	sessions, err := c.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	names := map[message.ID]string{}
	for _, s := range sessions {
		names[s.ID] = s.Name
	}
	return func(e message.Event) error {
		if e.Session != nil {
			names[e.Session.ID] = e.Session.Name
		}
		if !detail.shows(e) {
			return nil
		}
		head, body := eventLine(e, names, detail)
		a.say("%s %-7s %s", clock(e.At), plainLine(e.Kind), plainLine(head))
		if body != "" {
			a.say("%s", indent(plain(body), "    "))
		}
		return nil
	}, nil
}

// eventLine says an event in one line, and what was said in it, if anything was.
func eventLine(e message.Event, names map[message.ID]string, detail detail) (head, body string) {
	name := func(id message.ID) string {
		if n := names[id]; n != "" {
			return n
		}
		return id.Short()
	}
	switch {
	case e.Message != nil:
		head = fmt.Sprintf("%s %s", e.Message.ID.Short(), author(*e.Message))
		if detail == everything {
			head += fmt.Sprintf(", %s, depth %d", e.Message.Type, e.Message.Depth)
		}
		return head, e.Message.Body
	case e.Receipt != nil:
		r := *e.Receipt
		head = fmt.Sprintf("%s to %s: %s", r.Message.Short(), name(r.Target), r.State)
		if r.Reason != "" {
			head += ": " + string(r.Reason)
		}
		if r.Sanitised > 0 {
			head += fmt.Sprintf(", %d characters removed or changed", r.Sanitised)
		}
		var seen []string
		for _, v := range r.Evidence {
			seen = append(seen, fmt.Sprintf("%s: %s at %s", v.Source, v.Says, clock(v.At)))
		}
		if len(seen) > 0 && detail == everything {
			head += " (" + strings.Join(seen, "; ") + ")"
		}
		return head, r.Words
	case e.Change != nil:
		head = fmt.Sprintf("%s %s", chatName(*e.Change), e.Change.State)
		if e.Change.Why != "" {
			head += ": " + e.Change.Why
		}
		return head + ", " + participants(*e.Change), ""
	case e.Session != nil:
		head = fmt.Sprintf("%s %s (%s) %s", e.Session.Pane, e.Session.Name, e.Session.Profile, e.Session.State)
		if e.Session.Ended != nil {
			head += " ended: " + e.Session.EndReason
		}
		return head, ""
	}
	return e.Notice, ""
}

// author is who said a message.
func author(m message.Envelope) string {
	name := m.From.Name
	if name == "" {
		name = string(m.Origin)
	}
	if m.From.Number > 0 {
		return fmt.Sprintf("%s (%d)", name, m.From.Number)
	}
	return name
}

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// lastWords is how many of the last messages `chat show` shows.
const lastWords = 10

func (a *app) chatShow() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:   "show CHAT",
		Short: "Show everything about a chat, and its latest messages",
		Long: `Show everything about a chat, running or ended: its participants, settings that
differ from the defaults, what has passed through it, what is waiting and why,
and its latest messages. One that a person edited is shown as it was typed, and
one that a person rejected says so; intercom log has what was said.

-f follows the chat, and shows events such as an interrupted agent, until the
chat ends or you stop; --json then prints one event per line, without -f one
object.`,
		Example: `  intercom chat show plans
  intercom chat show plans -f`,
		Args: between(1, 1, "a chat"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.ran = true
			c, err := a.tmuxClient(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := within(cmd.Context())
			defer cancel()
			chat, err := api.Call(ctx, c, api.ShowChat, api.ChatQuery{Chat: args[0]})
			if err != nil {
				return aboutChat(err, args[0])
			}
			if a.json && !follow {
				return a.printJSON(chat)
			}
			last, err := lastOf(ctx, c, chat.Chat)
			if err != nil {
				return err
			}
			if !a.json {
				a.showChat(chat, chat.State == message.ChatPaused && everythingStopped(ctx, c))
				if last.expired != "" {
					a.say("%s", plainLine(last.expired))
				}
				if len(last.words) > 0 {
					a.say("")
				}
			}
			if last.earlier && !a.json {
				a.say("the last %d; all: intercom log --chat %s", len(last.words), chat.ID.Short())
				a.say("")
			}
			for _, e := range last.words {
				if err := a.showWords(e, last.decided, false); err != nil {
					return err
				}
			}
			if !follow || chat.State == message.ChatOver {
				return nil
			}
			return a.followChat(cmd.Context(), c, chat.Chat, last)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow new messages")
	a.completes(cmd, chatWords)
	return cmd
}

// recent is what happened last in a chat.
type recent struct {
	words   []message.Event // the last messages and notices
	decided *decided
	earlier bool   // there may be more before them
	expired string // the message that expired, if that is what came last
	since   int64  // the number of the last event
}

// lastOf returns what happened last in a chat.
func lastOf(ctx context.Context, c *api.Client, chat message.Chat) (last recent, err error) {
	// A message produces a handful of receipts for each participant that hears it.
	most := max(200, lastWords*(2+6*len(chat.Participants)))
	events, err := api.Call(ctx, c, api.Log, api.LogQuery{Chat: string(chat.ID), Limit: most})
	if err != nil {
		return last, err
	}
	last.decided = decidedIn(chat)
	var n narrator
	for _, e := range events {
		if n.tells(e) && e.Change == nil {
			last.words = append(last.words, e)
		}
		last.decided.take(e)
		last.since = max(last.since, e.Seq)
	}
	last.earlier = len(last.words) > lastWords || len(events) == most
	last.words = last.words[max(0, len(last.words)-lastWords):]
	last.expired = lastExpiry(events)
	return last, nil
}

// narrator selects the events that a person who looks at a chat is shown: its messages, its changes, and notices. A
// notice of the step in which the chat paused or ended would repeat the change, and is left out.
type narrator struct{ halted time.Time }

func (n *narrator) tells(e message.Event) bool {
	switch {
	case e.Change != nil:
		if e.Change.State != message.ChatOn {
			n.halted = e.At
		}
		return true
	case e.Notice != "":
		return e.At.IsZero() || !e.At.Equal(n.halted)
	}
	return e.Message != nil
}

// followChat shows what is said in a chat, what persons decide about it, and how the chat changes, until the chat ends.
func (a *app) followChat(ctx context.Context, c *api.Client, chat message.Chat, last recent) error {
	var seen changes
	var n narrator
	seen.take(chat)
	for e, err := range a.events(ctx, c, last.since) {
		if err != nil {
			return err
		}
		if e.Chat != chat.ID {
			continue
		}
		if line, text := last.decided.take(e); line != "" && !a.json {
			a.say("%s %s", clock(e.At), plainLine(line))
			if text != "" {
				a.say("%s", indent(plain(cutBody(text, e.Receipt.Message)), "    "))
			}
			continue
		}
		if !n.tells(e) && (!a.json || e.Notice == "") {
			continue
		}
		if e.Change != nil && !a.json {
			news, renamed := seen.take(*e.Change)
			for _, line := range renamed {
				a.say("%s %s", clock(e.At), plainLine(line))
			}
			if !news {
				continue
			}
		}
		stopped := !a.json && e.Change != nil && e.Change.State == message.ChatPaused && everythingStopped(ctx, c)
		if err := a.showWords(e, last.decided, stopped); err != nil {
			return err
		}
		if e.Change != nil && e.Change.State == message.ChatOver {
			return nil
		}
	}
	return nil
}

// showWords prints one event: a message with what a person decided about it, a change of the chat, or a notice. stopped
// says whether everything is stopped at the time of a change.
func (a *app) showWords(e message.Event, by *decided, stopped bool) error {
	switch {
	case a.json:
		return a.printJSON(e)
	case e.Message != nil:
		body, how := by.words(*e.Message)
		a.say("%s %s", clock(e.At), plainLine(author(*e.Message)+how))
		a.say("%s", indent(plain(cutBody(body, e.Message.ID)), "    "))
		for _, refused := range by.refused[e.Message.ID] {
			a.say("    → %s", plainLine(refused))
		}
	case e.Change != nil:
		line := stateOf(*e.Change) + ": " + plainLine(participants(*e.Change))
		if way := wayOn(*e.Change, stopped); way != "" {
			line += " → " + plainLine(way)
		}
		a.say("%s chat %s", clock(e.At), line)
	default:
		a.say("%s notice %s", clock(e.At), plainLine(e.Notice))
	}
	return nil
}

// stateOf returns the state of a chat, and why it is in it.
func stateOf(c message.Chat) string {
	return plainLine(c.State.For(whyOf(c)))
}

// whyOf returns why a chat is in its state, and whether it was told to end; "" for a chat that just goes on.
func whyOf(c message.Chat) string {
	if c.Closes == "" || c.State == message.ChatOver {
		return c.Why
	}
	return strings.TrimPrefix(c.Why+"; ends after the next answer", "; ")
}

func (a *app) showChat(d api.ChatDetail, stopped bool) {
	a.say("chat %s %s", chatName(d.Chat), stateOf(d.Chat))
	if way := wayOn(d.Chat, stopped); way != "" {
		a.say("→ %s", plainLine(way))
	}
	line := "started " + day(d.Started)
	if d.Ended != nil {
		line += ", ended " + day(*d.Ended)
	}
	if d.Again != "" {
		line += ", restores " + d.Again.Short()
	}
	if d.Turns > 0 {
		line += ", ends after " + several(d.Turns, map[bool]string{false: "turn", true: "answer"}[d.OneWay])
	}
	a.say("%s", plainLine(line))
	if d.OneWay && len(d.Participants) > 0 {
		a.say("one way: answers go to %s (1), nothing else is passed on", plainLine(d.Participants[0].Name))
	}
	var set []string
	for _, s := range api.Settings {
		if v := s.Of(d.Limits); v != "" {
			if strings.ContainsFunc(v, func(r rune) bool { return r == ' ' || r == '"' || r == '\'' || r == '\\' }) {
				v = strconv.Quote(v)
			}
			set = append(set, s.Key+"="+v)
		}
	}
	if len(set) > 0 {
		a.say("settings %s", plainLine(strings.Join(set, " ")))
	}
	a.say("")
	a.showParticipants(d)
	a.say("")
	a.say("%s", plainLine(counts(d.Stats)))
	if len(d.Waiting) > 0 {
		a.say("")
		rows := [][]string{{"WAITING", "FROM", "TO", "STATE", "SINCE", "WHY"}}
		for _, w := range d.Waiting {
			rows = append(rows, []string{w.Message.Short(), w.From, w.To, w.State.Words(w.Door), day(w.Since), string(w.Reason)})
		}
		a.table(rows)
	}
}

func (a *app) showParticipants(d api.ChatDetail) {
	rows := [][]string{{"NUMBER", "NAME", "ROLE", "PANE", "STATE", "MAY SPEAK", "WHY"}}
	for _, p := range d.Participants {
		row := []string{strconv.Itoa(p.Number), p.Name, p.Role, "", "gone", "yes", ""}
		switch {
		case !p.MaySpeak:
			row[5] = "muted"
		case p.Peer == d.Asker(): // whatever it says goes to nobody
			row[5] = "no: one way"
		case p.Approve || d.Limits.Approve == "yes":
			row[5] = "with your yes"
		}
		for _, s := range d.Sessions {
			if s.ID == p.Peer {
				row[3], row[4], row[6] = s.Pane, string(s.State), sessionWhy(s)
			}
		}
		if p.Left {
			row[3], row[4], row[5], row[6] = "", "left", "", ""
		}
		rows = append(rows, row)
	}
	a.table(rows)
}

// counts returns the statistics of a chat in one line.
func counts(s message.Stats) string {
	line := fmt.Sprintf("turns %d, depth %d", s.Turns, s.Depth)
	for _, state := range slices.Sorted(maps.Keys(s.Deliveries)) {
		line += fmt.Sprintf(", %s %d", state, s.Deliveries[state])
	}
	if s.LatencyP50 > 0 {
		line += fmt.Sprintf("; latency p50 %d ms, p99 %d ms",
			s.LatencyP50.Round(time.Millisecond).Milliseconds(), s.LatencyP99.Round(time.Millisecond).Milliseconds())
	}
	return line
}

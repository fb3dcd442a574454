package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

func (a *app) inbox() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inbox",
		Short: "See what is waiting and why, and approve or reject it",
		Long: `See the messages that have not been taken yet, and what each is waiting for.
Most are delivered by themselves once that is over. A message awaiting approval
is not, and does not expire: approve, edit, reject or reply decides. An agent
cannot.`,
		Example: `  intercom inbox list
  intercom inbox show 4d0c8ed2`,
		Args: a.onlyCommands, RunE: showHelp,
	}
	cmd.AddCommand(
		a.inboxList(), a.inboxShow(), a.inboxApprove(), a.inboxReject(), a.inboxEdit(), a.inboxReply(), a.inboxRelease(),
	)
	return cmd
}

func (a *app) inboxList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List waiting messages, oldest first",
		Long: `List the messages that have not been taken yet, oldest first, each with what it
is waiting for. Most of that passes by itself: an agent ends its turn, you send
or clear your draft, a dialog is answered. For a paused chat there is
intercom chat resume; a message awaiting approval needs your decision.`,
		Example: `  intercom inbox list --json`,
		Args:    between(0, 0, "no arguments"),
		RunE: do(a, func(cmd *cobra.Command, _ []string) ([]api.Held, error) {
			return request(cmd.Context(), a.tmuxClient, api.Inbox, api.None{})
		}, a.showInbox),
	}
	a.completes(cmd)
	return cmd
}

func (a *app) showInbox(all []api.Held) {
	if len(all) == 0 {
		a.say("nothing is waiting")
		return
	}
	// These columns fit 80 cells; inbox show has the pane and the chat.
	rows := [][]string{{"ID", "FROM", "TO", "SINCE", "WHY", "WORDS"}}
	for _, h := range all {
		words, _, _ := strings.Cut(render.Words(h.Form, h.Envelope), "\n")
		rows = append(rows, []string{h.Message.Short(), h.From, h.To, h.Since.Local().Format("01-02 15:04"), heldWhy(h), clipped(words, 40)})
	}
	a.table(rows)
	if i := slices.IndexFunc(all, func(h api.Held) bool { return h.Decision || h.Start() }); i >= 0 {
		a.say("%s waits for your approval → intercom inbox approve %s", all[i].Message.Short(), all[i].Message.Short())
	}
}

// heldWhy returns the state of a waiting message, what it waits for, and why a person is asked. If a policy holds it,
// one reason is both.
func heldWhy(h api.Held) string {
	why, because := string(h.Reason), h.Because()
	switch {
	case because != "" && strings.HasPrefix(because, why):
		why = because
	case because != "":
		why += " (" + because + ")"
	}
	if why == "" {
		return heldState(h)
	}
	return heldState(h) + ": " + why
}

// heldState returns the state of a waiting message in words. A message that came as a file is not typed: it waits its
// turn with the agent of its repository.
func heldState(h api.Held) string {
	if _, _, came := repository.Came(h.Envelope); came && h.State == message.Typed {
		return "in hand"
	}
	return h.State.Words(h.Door)
}

// clipped cuts a text to at most most characters.
func clipped(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

func (a *app) inboxShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one waiting message in full",
		Long: `Show a waiting message in full, with what it is waiting for. ID is the id of the
message, or the end of it, as send, inbox list and log print it; of a message to
several, the id of one delivery is enough for one of them.
intercom log ID shows what has happened to it so far.`,
		Example: `  intercom inbox show 4d0c8ed2`,
		Args:    between(1, 1, "an id"),
		RunE: do(a, func(cmd *cobra.Command, args []string) ([]api.Held, error) {
			all, err := request(cmd.Context(), a.tmuxClient, api.Inbox, api.None{})
			if err != nil {
				return nil, err
			}
			var found []api.Held
			for _, h := range all {
				if h.Delivery.Is(args[0]) || h.Message.Is(args[0]) {
					found = append(found, h)
				}
			}
			if len(found) == 0 {
				return nil, api.Errorf(api.CodeNotFound, "no waiting message has the id %q", args[0]).WithHint("intercom inbox list; intercom log %s shows what happened to it", args[0])
			}
			return found, nil
		}, func(found []api.Held) {
			for i, h := range found {
				if i > 0 {
					a.say("")
				}
				a.showHeld(h)
			}
		}),
	}
	a.completes(cmd, heldWords)
	return cmd
}

func (a *app) showHeld(h api.Held) {
	if h.Start() {
		a.say("start    %s", h.Message)
	} else {
		a.say("message  %s", h.Message)
		a.say("delivery %s", h.Delivery)
	}
	to := h.To
	if h.Pane != "" {
		to = fmt.Sprintf("%s (%s)", h.To, h.Pane)
	}
	a.say("from     %s", plainLine(h.From))
	a.say("to       %s", plainLine(to))
	if h.Chat != "" {
		a.say("chat     %s", plainLine(cmp.Or(h.ChatName, h.Chat.Short())))
	}
	if len(h.Envelope.Tags) > 0 {
		a.say("tags     %s", plainLine(strings.Join(h.Envelope.Tags, ", ")))
	}
	state := heldState(h)
	if h.Reason != "" {
		state += ": " + string(h.Reason)
	}
	a.say("state    %s, since %s", plainLine(state), day(h.Since))
	if because := h.Because(); because != "" {
		a.say("because  %s", plainLine(because))
	}
	switch {
	case h.Start():
		a.say("decide   intercom inbox approve or reject %s", h.Message.Short())
	case h.Decision && h.Unanswerable:
		a.say("decide   intercom inbox approve, edit or reject %s", h.Message.Short())
	case h.Decision:
		a.say("decide   intercom inbox approve, edit, reject or reply %s", h.Message.Short())
	}
	a.say("")
	a.say("%s", plain(render.Words(h.Form, h.Envelope)))
}

func (a *app) inboxRelease() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "release ID",
		Short: "Vouch for a screen that is not recognised, and type a message",
		Long: `Type a message although the screen of its agent is not recognised, for example
after an update of the agent. Look at the pane first: you vouch that its
composer is empty and ready. You are asked, and only y at your terminal means
yes.

Anything else that holds a message still does: an open turn, another program in
front, copy mode. Enter is pressed only if the text is seen right before the
cursor; otherwise it is left there for you to send.`,
		Example: `  intercom inbox release 4d0c8ed2`,
		Args:    between(1, 1, "an id"),
		RunE: do(a, func(cmd *cobra.Command, args []string) (api.Held, error) {
			h, err := request(cmd.Context(), a.tmuxClient, api.Vouch, api.VouchRequest{ID: args[0]})
			if err != nil {
				return h, err
			}
			question := fmt.Sprintf("%s (%s) shows a screen that is not recognised. Is its composer empty, and should the message from %s be typed there?", h.To, h.Pane, h.From)
			if err := a.confirm(cmd.Context(), plainLine(question)); err != nil {
				return h, err
			}
			return request(cmd.Context(), a.tmuxClient, api.Vouch, api.VouchRequest{ID: args[0], Sure: true})
		}, func(h api.Held) {
			a.say("vouched for: %s to %s", h.Message.Short(), plainLine(cmp.Or(h.To, h.Pane)))
		}),
	}
	a.completes(cmd, heldWords)
	return cmd
}

// heldWords returns the ids of the waiting messages.
func heldWords(ctx context.Context, c *api.Client, _ []string) ([]cobra.Completion, error) {
	all, err := api.Call(ctx, c, api.Inbox, api.None{})
	found := []cobra.Completion{}
	for _, h := range all {
		found = append(found, cobra.CompletionWithDesc(h.Message.Short(), plainLine(h.From+" to "+h.To)))
	}
	return found, err
}

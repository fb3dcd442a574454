package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// noteUnsent names the panes whose composer has our text because a stop or a pause keeps back its Enter, and says what
// sends it. chats are those that were stopped or paused; if which is all of them, deliveries in no chat count, too.
// Each pane is asked, since the receipt may come only after the command's answer. Only a person may look at the panes:
// an agent that stops its own chat is told nothing.
func (a *app) noteUnsent(ctx context.Context, c *api.Client, which api.ChatRef, chats []message.Chat) {
	for _, told := range unsent(ctx, c, which, chats) {
		a.note("%s", told)
	}
}

// leftUnsent says that the text of one of those deliveries stood in the composer of a pane that was released, unless
// the log says that it was taken. If the log cannot be read, it says only that the text may stand there.
func leftUnsent(ctx context.Context, c *api.Client, session message.Peer, deliveries []message.ID) string {
	for _, d := range deliveries {
		events, err := quickly(ctx, c, api.Log, api.LogQuery{ID: string(d)})
		if err != nil {
			return fmt.Sprintf("our text may stand in the composer of %s (%s), without its Enter: look there", session.Name, session.Pane)
		}
		if !slices.ContainsFunc(events, func(e message.Event) bool {
			return e.Receipt != nil && e.Receipt.Delivery == d && e.Receipt.State == message.Submitted
		}) {
			return fmt.Sprintf("our text stands in the composer of %s (%s), without its Enter: press Enter there to send it, or clear it", session.Name, session.Pane)
		}
	}
	return ""
}

// noteUnsentOf is noteUnsent for those who have left a chat, and for the others if the chat has ended by that.
func (a *app) noteUnsentOf(ctx context.Context, c *api.Client, chat message.Chat) {
	if chat.State != message.ChatOver { // for those who have left, it is over
		chat.State, chat.Participants = message.ChatOver, slices.Clone(chat.Participants)
		for i := range chat.Participants {
			chat.Participants[i].Left = !chat.Participants[i].Left
		}
	}
	a.noteUnsent(ctx, c, api.ChatRef{Chat: string(chat.ID)}, []message.Chat{chat})
}

// unsent returns the notes of noteUnsent.
func unsent(ctx context.Context, c *api.Client, which api.ChatRef, chats []message.Chat) (notes []string) {
	ctx, cancel := within(ctx)
	defer cancel()
	for _, session := range typedInto(ctx, c, which, chats) {
		e, err := api.Call(ctx, c, api.Explain, api.ExplainRequest{Pane: string(session.ID)})
		if err != nil {
			continue
		}
		for _, d := range e.Unsent {
			if sends := sendsUnsent(ctx, c, d, which, chats); sends != "" {
				notes = append(notes, fmt.Sprintf("our text stands in the composer of %s (%s), without its Enter: %s", session.Name, e.Pane, sends))
				break
			}
		}
	}
	return notes
}

// typedInto returns the sessions whose panes may have our text, each once.
func typedInto(ctx context.Context, c *api.Client, which api.ChatRef, chats []message.Chat) (sessions []message.Peer) {
	if which.All {
		all, err := api.Call(ctx, c, api.Sessions, api.None{})
		if err == nil {
			return all
		}
	}
	for _, chat := range chats {
		for _, p := range chat.Participants {
			if !p.Left && !slices.ContainsFunc(sessions, func(s message.Peer) bool { return s.ID == p.Peer }) {
				sessions = append(sessions, message.Peer{ID: p.Peer, Name: p.Name})
			}
		}
	}
	return sessions
}

// sendsUnsent says, by the log, what sends the text of a delivery whose Enter a stop or a pause keeps back; "" if
// something else keeps it back.
func sendsUnsent(ctx context.Context, c *api.Client, delivery message.ID, which api.ChatRef, chats []message.Chat) string {
	events, err := api.Call(ctx, c, api.Log, api.LogQuery{ID: string(delivery)})
	if err != nil {
		return ""
	}
	given, last := message.ID(""), message.ReceiptState("")
	for _, e := range events {
		if e.Receipt != nil && e.Receipt.Delivery == delivery {
			given, last = e.Chat, e.Receipt.State
		}
	}
	i := slices.IndexFunc(chats, func(chat message.Chat) bool { return chat.ID == given })
	switch {
	case i >= 0 && chats[i].State == message.ChatOver:
		return "press Enter there to send it, or clear it; until then nothing else is typed there"
	case last == "" || last.Final() || i < 0 && (!which.All || given != ""):
		return ""
	case which.All, everythingStopped(ctx, c):
		return resumeAll + " sends it"
	}
	return "intercom chat resume " + cmp.Or(chats[i].Name, chats[i].ID.Short()) + " sends it"
}

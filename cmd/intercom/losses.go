package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// mayRelease returns what the release of a session would lose, or of all sessions if pane is "". It fails if the caller
// may not release. It returns nothing if the release itself will say what is wrong: the session does not exist, or an
// older sidecar does not know the question.
func mayRelease(ctx context.Context, c *api.Client, pane string) (api.Losses, error) {
	would, err := quickly(ctx, c, api.MayRelease, api.MayReleaseRequest{Pane: pane})
	if told, ok := errors.AsType[*api.Error](err); ok && told.Code == api.CodeNotFound {
		return api.Losses{}, nil
	}
	return would, err
}

// askBeforeLoss asks a person at a terminal whether something may be lost. Without a terminal it asks nobody.
func (a *app) askBeforeLoss(ctx context.Context, would api.Losses, question string) error {
	lost := lossOf(would)
	if lost == "" || !a.attended() {
		return nil
	}
	err := a.confirm(ctx, plainLine(lost+". "+question))
	if errors.Is(err, errUndone) || ctx.Err() != nil {
		return err
	}
	return nil // there is nobody to ask
}

// lossOf says what would be lost; "" means nothing.
func lossOf(would api.Losses) string {
	var parts []string
	if n := len(would.Messages); n > 0 {
		ids := make([]string, min(n, mostNamed))
		for i := range ids {
			ids[i] = would.Messages[i].Short()
		}
		waits := " that wait would not be delivered: "
		if n == 1 {
			waits = " that waits would not be delivered: "
		}
		parts = append(parts, several(n, "message")+waits+strings.Join(ids, ", "))
	}
	for _, chat := range would.Chats {
		parts = append(parts, chatNoun(chat)+" would end")
	}
	return strings.Join(parts, "; ")
}

// chatNoun names a chat, or a question, within a sentence.
func chatNoun(c message.Chat) string { return c.Noun() + " " + chatName(c) }

// lossy is the state before an action that may lose some of it.
type lossy struct {
	chats []message.Chat
	seq   int64 // number of the last event
}

func beforeLoss(ctx context.Context, c *api.Client) lossy {
	chats, _ := quickly(ctx, c, api.Chats, api.ChatsQuery{})
	return lossy{chats, logged(ctx, c)}
}

// noteLost reports what the end or the release of a session has caused: the chats that ended by it, the messages that
// are not delivered, and the composers that hold our text.
func (a *app) noteLost(ctx context.Context, c *api.Client, before lossy, session message.ID) {
	ended := slices.DeleteFunc(endedSince(ctx, c, before.chats), func(chat message.Chat) bool { // another chat may end at this moment, too
		return !slices.ContainsFunc(chat.Participants, func(p message.Participant) bool { return p.Peer == session && !p.Left })
	})
	for _, chat := range ended {
		a.note("%s ended; intercom chat show %s shows it", chatNoun(chat), chat.ID.Short())
	}
	a.noteUndelivered(ctx, c, before.seq, func(e message.Event) bool { return e.Receipt.Target == session || inChats(ended)(e) })
	for _, chat := range ended {
		chat.State = message.ChatOver
		a.noteUnsentOf(ctx, c, chat)
	}
}

// endedSince returns the chats of before that no longer run.
func endedSince(ctx context.Context, c *api.Client, before []message.Chat) []message.Chat {
	now, err := quickly(ctx, c, api.Chats, api.ChatsQuery{})
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(before, func(chat message.Chat) bool {
		return slices.ContainsFunc(now, func(one message.Chat) bool { return one.ID == chat.ID })
	})
}

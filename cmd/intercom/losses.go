package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// mayRelease is what a release would drop, of one session or, where pane is "", of all; an error for whom it is refused. It is
// nothing where the release itself tells what is wrong: nobody is there, or an older sidecar cannot say.
func mayRelease(ctx context.Context, c *api.Client, pane string) (api.Losses, error) {
	would, err := quickly(ctx, c, api.MayRelease, api.MayReleaseRequest{Pane: pane})
	if told, ok := errors.AsType[*api.Error](err); ok && told.Code == api.CodeNotFound {
		return api.Losses{}, nil
	}
	return would, err
}

// askBeforeLoss asks a person at a terminal whether something may be lost. Where there is no terminal nobody is asked.
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

// lossOf is what would be lost, in words; "" is nothing.
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

// lossy is what there was before something was done by which some of it may be lost.
type lossy struct {
	waited []api.Held
	chats  []message.Chat
	seq    int64 // of the last event; 0: not known
}

func beforeLoss(ctx context.Context, c *api.Client) (before lossy) {
	before.chats, _ = quickly(ctx, c, api.Chats, api.ChatsQuery{})
	if last, err := quickly(ctx, c, api.Log, api.LogQuery{Limit: 1}); err == nil && len(last) > 0 {
		before.seq = last[0].Seq
	}
	before.waited = waiting(ctx, c)
	return before
}

// noteLost tells of what a session has left by its end or its release: the chats that ended by that, what is not delivered, also
// what came only just before, and whose composers have our text.
func (a *app) noteLost(ctx context.Context, c *api.Client, before lossy, session message.ID) {
	ended := slices.DeleteFunc(endedSince(ctx, c, before.chats), func(chat message.Chat) bool { // another ends at this moment, too
		return !slices.ContainsFunc(chat.Participants, func(p message.Participant) bool { return p.Peer == session && !p.Left })
	})
	for _, chat := range ended {
		a.note("%s ended; intercom chat show %s shows it", chatNoun(chat), chat.ID.Short())
	}
	ids := undelivered(ctx, c, before.waited)
	for _, id := range failedSince(ctx, c, before.seq, session, ended) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		a.note("%s; intercom log %s shows what it was", notDelivered(ids), ids[0])
	}
	for _, chat := range ended {
		chat.State = message.ChatOver
		a.noteUnsentOf(ctx, c, chat)
	}
}

// failedSince are the messages, by their short ids, of which a delivery to a session or in one of those chats has failed since an
// event.
func failedSince(ctx context.Context, c *api.Client, seq int64, session message.ID, chats []message.Chat) (ids []string) {
	if seq == 0 {
		return nil
	}
	events, err := quickly(ctx, c, api.Log, api.LogQuery{Since: seq})
	if err != nil {
		return nil
	}
	for _, e := range events {
		r := e.Receipt
		if r == nil || r.State != message.Failed || slices.Contains(ids, r.Message.Short()) || len(ids) > mostNamed {
			continue
		}
		of := r.Target == session || slices.ContainsFunc(chats, func(chat message.Chat) bool { return chat.ID == e.Chat })
		if of && lost(events, r.Delivery) {
			ids = append(ids, r.Message.Short())
		}
	}
	return ids
}

// endedSince are the chats that went on before, and do no more.
func endedSince(ctx context.Context, c *api.Client, before []message.Chat) []message.Chat {
	now, err := quickly(ctx, c, api.Chats, api.ChatsQuery{})
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(before, func(chat message.Chat) bool {
		return slices.ContainsFunc(now, func(one message.Chat) bool { return one.ID == chat.ID })
	})
}

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// mostNamed is how many messages are named that will not be delivered.
const mostNamed = 20

// notLogged is the number of the last event where that is not known.
const notLogged = -1

// logged is the number of the last event by now: for undelivered, once something was done.
func logged(ctx context.Context, c *api.Client) int64 {
	last, err := quickly(ctx, c, api.Log, api.LogQuery{Limit: 1})
	switch {
	case err != nil:
		return notLogged
	case len(last) == 0:
		return 0
	}
	return last[0].Seq
}

// undelivered are the messages, by their short ids, of which a delivery has failed since an event, of those whose receipts are of
// that kind: what waited, and what came only just before. Beyond mostNamed they are not looked for.
func undelivered(ctx context.Context, c *api.Client, since int64, of func(message.Event) bool) (ids []string) {
	if since == notLogged {
		return nil
	}
	events, err := quickly(ctx, c, api.Log, api.LogQuery{Since: since})
	if err != nil {
		return nil
	}
	for _, e := range events {
		if e.Receipt == nil || !of(e) || !lost(events, e.Receipt.Delivery) || slices.Contains(ids, e.Receipt.Message.Short()) {
			continue
		}
		if ids = append(ids, e.Receipt.Message.Short()); len(ids) > mostNamed {
			break
		}
	}
	return ids
}

// anyEvent has undelivered take all of them.
func anyEvent(message.Event) bool { return true }

// inChats reports of an event whether it is about one of those chats.
func inChats(chats []message.Chat) func(message.Event) bool {
	return func(e message.Event) bool {
		return slices.ContainsFunc(chats, func(chat message.Chat) bool { return chat.ID == e.Chat })
	}
}

// lost reports whether, by the log of its message, a delivery reached nobody. One that was taken fails, too, where its program ends
// before it has answered.
func lost(events []message.Event, delivery message.ID) (failed bool) {
	for _, e := range events {
		switch {
		case e.Receipt == nil || e.Receipt.Delivery != delivery:
		case e.Receipt.State == message.Submitted:
			return false
		case e.Receipt.State == message.Failed && !e.Receipt.Superseded():
			failed = true
		}
	}
	return failed
}

// noteUndelivered tells of them.
func (a *app) noteUndelivered(ctx context.Context, c *api.Client, since int64, of func(message.Event) bool) {
	if ids := undelivered(ctx, c, since, of); len(ids) > 0 {
		a.note("%s; intercom log %s shows what it was", notDelivered(ids), ids[0])
	}
}

// notDelivered says how many are not delivered, and names them.
func notDelivered(ids []string) string {
	return undeliveredCount(ids) + ": " + strings.Join(ids[:min(len(ids), mostNamed)], ", ")
}

// undeliveredCount says how many are not delivered.
func undeliveredCount(ids []string) string {
	count := several(len(ids), "message")
	if len(ids) > mostNamed {
		count = fmt.Sprintf("more than %d messages", mostNamed)
	}
	return "not delivered: " + count + " that waited"
}

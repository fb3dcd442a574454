package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// mostNamed is how many undelivered messages are named at most.
const mostNamed = 20

// notLogged stands for the number of the last event if that is not known.
const notLogged = -1

// logged returns the number of the last event so far, for undelivered after an action.
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

// undelivered returns the short ids of the messages of which a delivery has failed since an event, if of accepts the
// receipt: messages that waited, and messages that came only just before. Beyond mostNamed it does not look for more.
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

// anyEvent accepts all events.
func anyEvent(message.Event) bool { return true }

// inChats accepts the events of those chats.
func inChats(chats []message.Chat) func(message.Event) bool {
	return func(e message.Event) bool {
		return slices.ContainsFunc(chats, func(chat message.Chat) bool { return chat.ID == e.Chat })
	}
}

// lost reports whether a delivery reached nobody, according to the log of its message. A delivery that was taken fails,
// too, if its program ends before it has answered, but is not lost.
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

// noteUndelivered notes the messages that undelivered finds.
func (a *app) noteUndelivered(ctx context.Context, c *api.Client, since int64, of func(message.Event) bool) {
	if ids := undelivered(ctx, c, since, of); len(ids) > 0 {
		a.note("%s; intercom log %s shows what it was", notDelivered(ids), ids[0])
	}
}

// notDelivered says how many messages are not delivered, and names them.
func notDelivered(ids []string) string {
	return undeliveredCount(ids) + ": " + strings.Join(ids[:min(len(ids), mostNamed)], ", ")
}

// undeliveredCount says how many messages are not delivered.
func undeliveredCount(ids []string) string {
	count := several(len(ids), "message")
	if len(ids) > mostNamed {
		count = fmt.Sprintf("more than %d messages", mostNamed)
	}
	return "not delivered: " + count + " that waited"
}

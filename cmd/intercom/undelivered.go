package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// waiting is what waits now, as far as that can be told: for undelivered, once something was done.
func waiting(ctx context.Context, c *api.Client) []api.Held {
	all, _ := quickly(ctx, c, api.Inbox, api.None{})
	return all
}

// mostNamed is how many messages are named that will not be delivered.
const mostNamed = 20

// undelivered are the messages, by their short ids, that waited before something was done, and that will not be delivered by
// what the log says of them now: one that waits no more may have been on its way, and was taken. Beyond mostNamed they are not
// looked for.
func undelivered(ctx context.Context, c *api.Client, waited []api.Held) (ids []string) {
	if len(waited) == 0 {
		return nil
	}
	still := map[message.ID]bool{}
	for _, h := range waiting(ctx, c) {
		still[h.Delivery] = true
	}
	for _, h := range waited {
		if still[h.Delivery] || slices.Contains(ids, h.Message.Short()) {
			continue
		}
		events, err := quickly(ctx, c, api.Log, api.LogQuery{ID: string(h.Delivery)})
		if err == nil && lost(events, h.Delivery) {
			ids = append(ids, h.Message.Short())
		}
		if err != nil || len(ids) > mostNamed {
			break
		}
	}
	return ids
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
func (a *app) noteUndelivered(ctx context.Context, c *api.Client, waited []api.Held) {
	if ids := undelivered(ctx, c, waited); len(ids) > 0 {
		a.note("%s; intercom log %s shows what it was", notDelivered(ids), ids[0])
	}
}

// notDelivered says how many are not delivered, and names them.
func notDelivered(ids []string) string {
	count := several(len(ids), "message")
	if len(ids) > mostNamed {
		ids = ids[:mostNamed]
		count = fmt.Sprintf("more than %d messages", mostNamed)
	}
	return "not delivered: " + count + " that waited: " + strings.Join(ids, ", ")
}

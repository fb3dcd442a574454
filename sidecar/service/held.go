package service

import (
	"context"
	"log/slog"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// holding reads what is held.
type holding interface {
	Held(ctx context.Context) (int, error)
	UnderWay(ctx context.Context) ([]journal.Pending, error)
}

// underWay are the deliveries on their way, none if none of them is held.
func underWay(ctx context.Context, j holding) ([]journal.Pending, error) {
	held, err := j.Held(ctx)
	if err != nil || held == 0 {
		return nil, err
	}
	return j.UnderWay(ctx) // what is kept for agents that have gone is many, and waits for nobody here
}

// firstHeld is, for each peer for which any waits, what holds the first message that does. All else that is known of them is told
// without it.
func firstHeld(ctx context.Context, j holding, log *slog.Logger) map[message.ID]*message.Holding {
	all, err := underWay(ctx, j)
	if err != nil {
		log.Warn("read what is held", "err", err)
	}
	first := map[message.ID]*message.Holding{}
	for _, p := range all {
		if p.Last.State != message.Held || first[p.Delivery.Target] != nil {
			continue
		}
		h := &message.Holding{Delivery: p.Delivery.ID, Message: p.Delivery.Message.ID, Reason: p.Last.Reason}
		if len(p.Last.Evidence) > 0 {
			h.Says = p.Last.Evidence[0].Says
		}
		first[p.Delivery.Target] = h
	}
	return first
}

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

// underWay returns the open deliveries, or none if none of them is held.
func underWay(ctx context.Context, j holding) ([]journal.Pending, error) {
	held, err := j.Held(ctx)
	if err != nil || held == 0 {
		return nil, err
	}
	return j.UnderWay(ctx) // unlike all that waits: much of that is kept for agents that are gone, and nobody here waits for it
}

// firstHeld returns, for each peer that held messages wait for, what holds the first of them. If the journal
// cannot be read, it logs that and returns none: the callers report everything else without it.
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

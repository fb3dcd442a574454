package daemon

import (
	"context"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
)

// How often what is older than the journal's retention is removed, and when first: not
// while everything begins.
const (
	retainFirst = time.Minute
	retainEvery = time.Hour
)

// retain keeps the journal from growing for ever.
func (s *sidecar) retain(ctx context.Context) error {
	pause := retainFirst
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		pause = retainEvery
		pruned, err := s.journal.Prune(ctx, journal.Retention{Age: journal.DefaultAge, Bytes: journal.DefaultBytes}, time.Now())
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			s.log.Warn("remove old messages", "err", err)
		case pruned.Messages > 0:
			s.log.Info("old messages removed", "messages", pruned.Messages, "bytes", pruned.Bytes)
		}
	}
}

package daemon

import (
	"context"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
)

// How often what is older than the journal's retention is removed, and when first: not
// while everything begins. One that ends sooner does so before it ends, at most so often.
const (
	retainFirst  = time.Minute
	retainEvery  = time.Hour
	retainSeldom = 24 * time.Hour
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
		s.prune(ctx, 0)
	}
}

// prune removes what is older than the journal's retention, unless that was done less than every ago. The end
// of ctx ends it, between two short transactions.
func (s *sidecar) prune(ctx context.Context, every time.Duration) {
	pruned, err := s.journal.Retain(ctx, journal.Retention{Age: journal.DefaultAge, Bytes: journal.DefaultBytes}, every, s.cfg.Now())
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.log.Warn("remove old messages", "err", err)
	case pruned.Messages+pruned.Expired > 0:
		s.log.Info("old messages removed", "messages", pruned.Messages, "expired", pruned.Expired, "bytes", pruned.Bytes)
	}
	if pruned.Expired > 0 {
		s.bell.Ring()
	}
}

// check looks through a journal that was too large for that at the start. Where it is damaged this life
// ends, and the next sets it aside and says so.
func (s *sidecar) check(ctx context.Context) error {
	if err := s.journal.Check(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	<-ctx.Done()
	return nil
}

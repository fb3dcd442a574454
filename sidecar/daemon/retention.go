package daemon

import (
	"context"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
)

// How long after a start entries beyond the journal's retention are first removed, when startup is
// over, and how often from then on. A headless sidecar also removes them before it ends, at most
// once per retainSeldom.
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

// prune removes entries beyond the journal's retention, unless that was done less than every ago.
// When ctx ends, it stops between two short transactions.
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

// check checks a journal that was too large to be checked at the start. If the journal is damaged,
// this life ends; the next sets the journal aside and reports it.
func (s *sidecar) check(ctx context.Context) error {
	if err := s.journal.Check(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	<-ctx.Done()
	return nil
}

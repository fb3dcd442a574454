package pane

import (
	"context"
	"errors"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// ErrEnded says that a session ended before its pane was served.
var ErrEnded = errors.New("the session has ended")

// forgottenKept is how many sessions are remembered that ended without a pane of ours.
const forgottenKept = 1_000

// missed notes that a session is to be forgotten whose pane is not served: it ended while it was
// taken up, and must not be served once that succeeds. Nobody would end it again.
func (s *set) missed(session message.ID) {
	s.forgotten = append(s.forgotten, session)
	s.forgotten = s.forgotten[max(0, len(s.forgotten)-forgottenKept):]
}

// vacate waits until nobody else has the pane: an earlier session, which has ended for the relay,
// or another one that begins there. The end of either would take this one's watch along. The
// pane is reserved from then on, until leave is called.
func (ps *Panes) vacate(ctx context.Context, session message.Peer) (leave func(), err error) {
	mine := make(chan struct{})
	for {
		var taken <-chan struct{}
		var ended bool
		err := ps.do(ctx, func(s *set) {
			en, begins := s.byPane[session.Pane], s.beginning[session.Pane]
			switch {
			case slices.Contains(s.forgotten, session.ID):
				ended = true
			case en != nil:
				taken = en.done
			case begins != nil:
				taken = begins
			default:
				s.beginning[session.Pane] = mine
			}
		})
		switch {
		case err != nil:
			return nil, err
		case ended:
			return nil, ErrEnded
		case taken == nil:
			return func() {
				_ = ps.do(context.WithoutCancel(ctx), func(s *set) { delete(s.beginning, session.Pane) })
				close(mine)
			}, nil
		}
		select {
		case <-taken:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

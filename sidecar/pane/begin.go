package pane

import (
	"context"
	"errors"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// ErrEnded says that a session ended before its pane was served.
var ErrEnded = errors.New("the session has ended")

// forgottenKept is how many sessions that ended without a served pane are remembered.
const forgottenKept = 1_000

// missed notes a session that was forgotten before its pane was served. If it is being taken up, it
// must not be served once that succeeds, since nobody would end it again.
func (s *set) missed(session message.ID) {
	s.forgotten = append(s.forgotten, session)
	s.forgotten = s.forgotten[max(0, len(s.forgotten)-forgottenKept):]
}

// vacate waits until no other session has the pane: no earlier one, which has ended for the relay,
// and no other one that begins there. The end of either would end this session's watch, too. From
// then on the pane is reserved until leave is called.
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

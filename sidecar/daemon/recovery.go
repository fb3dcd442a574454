package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/pane"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// server identifies the tmux server, beyond the reuse of its socket's path. The start is in seconds
// since 1970, as tmux tells it.
func (s *sidecar) server() message.Process {
	if s.client == nil {
		return message.Process{}
	}
	info := s.client.Info()
	return message.Process{PID: info.PID, Start: uint64(info.Start)}
}

// restored returns what an earlier life left in the journal.
func (s *sidecar) restored(ctx context.Context) (*relay.Restored, error) {
	was, err := s.journal.Restore(ctx)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	return s.saved(ctx, was)
}

// inherit takes over the state of an earlier life, for the relay and for the panes.
func (s *sidecar) inherit(ctx context.Context) error {
	was, err := s.journal.Restore(ctx)
	if err != nil {
		return fmt.Errorf("read journal: %w", err)
	}
	for _, one := range was.Submitted {
		s.submitted = append(s.submitted, pane.Submitted(one))
	}
	if s.relay.Restored, err = s.saved(ctx, was); err != nil || s.client == nil {
		return err
	}
	return s.returns.Recollect(ctx, was.Chats)
}

// saved converts the journal's state of an earlier life for the relay.
func (s *sidecar) saved(ctx context.Context, was journal.Restored) (*relay.Restored, error) {
	r := &relay.Restored{Server: s.server(), Stopped: was.Stopped, Undecided: was.Undecided, Records: was.Records}
	for _, session := range was.Sessions {
		depth := was.Depths[session.ID]
		r.Peers = append(r.Peers, relay.SavedPeer{Peer: session, Last: depth.Last, Cause: depth.Cause})
	}
	for _, chat := range was.Chats {
		r.Chats = append(r.Chats, relay.SavedChat{Chat: chat, Taken: was.Taken[chat.ID]})
	}
	for _, m := range was.Undecided {
		if slices.ContainsFunc(was.Chats, func(c message.Chat) bool { return c.ID == m.Chat }) {
			continue
		}
		// A message sent to a chat that ended at the same instant reaches nobody, and the relay
		// reports that.
		switch chat, err := s.journal.Chat(ctx, string(m.Chat)); {
		case err == nil:
			was.Chats = append(was.Chats, chat)
			r.Chats = append(r.Chats, relay.SavedChat{Chat: chat})
		case !errors.Is(err, journal.ErrNotFound):
			return nil, fmt.Errorf("read journal: %w", err)
		}
	}
	for _, p := range was.Pending {
		r.Deliveries = append(r.Deliveries, relay.SavedDelivery(p))
	}
	for _, one := range was.Submitted {
		r.Submitted = append(r.Submitted, one.Delivery)
	}
	return r, nil
}

// takeUp serves again the panes whose sessions an earlier life left. A person's permission to read
// a pane and type into it outlives the sidecar, but not the tmux server. Whether the same program
// still runs there is checked before each keystroke anyway. If tmux does not let us look at a pane
// now, later tries again until it does.
func (s *sidecar) takeUp(ctx context.Context, later func(func())) {
	var all sync.WaitGroup // concurrently, so that their looks share batches
	for _, stay := range s.relay.Restored.Peers {
		if stay.Peer.Kind != message.PeerPane || stay.Peer.Server != s.relay.Restored.Server {
			continue // the relay ends this session
		}
		all.Go(func() {
			if !s.takeUpOne(ctx, stay.Peer) {
				later(func() { s.takeUpLater(ctx, stay.Peer) })
			}
		})
	}
	all.Wait()
}

// takeUpEvery is the interval of new attempts for a pane that could not be looked at.
const takeUpEvery = time.Second

func (s *sidecar) takeUpLater(ctx context.Context, session message.Peer) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(takeUpEvery):
		}
		if s.takeUpOne(ctx, session) {
			return
		}
	}
}

// takeUpOne takes up one session. It reports whether that is settled: the pane is served, or its
// session has ended.
func (s *sidecar) takeUpOne(ctx context.Context, session message.Peer) bool {
	if session.Starting {
		return s.launcher.Resume(ctx, session) == nil || ctx.Err() != nil
	}
	past := pane.Past{Unwatched: true}
	for _, left := range s.relay.Restored.Deliveries {
		if left.Delivery.Target == session.ID && left.Delivery.Typed {
			past.Typed = append(past.Typed, left.Delivery)
		}
	}
	for _, one := range s.submitted {
		if one.Delivery.Target == session.ID {
			past.Submitted = append(past.Submitted, one)
		}
	}
	if session.Lost != "" {
		d, err := s.journal.Delivery(ctx, session.Lost)
		if err == nil {
			past.Lost = &d
		} else {
			s.log.Warn("what was lost in a pane", "pane", session.Pane, "delivery", session.Lost, "err", err)
		}
	}
	whole, err := s.panes.Reverify(session)
	if now, ok := s.relay.Snapshot().Peer(session.ID); err == nil && whole != session && ok && now.Ended == nil {
		session, err = s.relay.Adopt(ctx, whole) // updates the session
	}
	if err == nil {
		err = s.panes.Start(ctx, session, past)
	}
	why := message.PaneMissing
	if errors.Is(err, pane.ErrAnother) {
		why = message.AgentGone
	}
	switch {
	case err == nil, ctx.Err() != nil: // ending already: the next life takes the session up
		return true
	case errors.Is(err, pane.ErrEnded): // released meanwhile
		return true
	case !errors.Is(err, tmux.ErrNoPane) && !errors.Is(err, process.ErrOtherTerminal) && !errors.Is(err, pane.ErrProgram) && !errors.Is(err, pane.ErrAnother):
		s.log.Warn("session not taken up yet", "session", session.Name, "pane", session.Pane, "err", err)
		return false
	}
	s.log.Info("session not taken up again", "session", session.Name, "pane", session.Pane, "err", err)
	if err := s.client.Unmark(ctx, session.Pane); err != nil {
		s.log.Debug("unmark", "pane", session.Pane, "err", err)
	}
	if err := s.relay.Gone(ctx, session.ID, why); err != nil {
		s.log.Warn("end session", "session", session.Name, "err", err)
	}
	return true
}

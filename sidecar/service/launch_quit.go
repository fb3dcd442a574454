package service

import (
	"context"
	"errors"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/launch"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// Quit ends the program of a session that was started here and has agreed to end. It returns when none of the
// session's processes is left, even if the program has ended by itself. A session that a person has released is
// left alone. again says that its agent was told to quit before; it is not told twice.
func (s *Launches) Quit(ctx context.Context, id message.ID, again bool) error {
	if s.Launcher == nil {
		return nil
	}
	session, ok := s.Relay.Snapshot().Peer(id)
	if !ok {
		was, err := s.Names.Journal.Session(ctx, id) // it had ended when this life began
		if err != nil && !errors.Is(err, journal.ErrNotFound) {
			return err
		}
		session.EndReason = was.EndReason
	}
	switch {
	case session.EndReason == string(message.ReleasedPane):
		return nil
	case !ok, session.Ended != nil:
		return s.Launcher.EndRest(ctx, id)
	}
	var quit func(context.Context) bool
	if !again {
		quit = s.quit(relay.By{Kind: relay.Person, Name: s.Callers.Person}, session)
	}
	how, err := s.Launcher.End(ctx, session, quit, launch.QuitWithin)
	if err != nil {
		return err
	}
	s.Sessions.mark(ctx, session.Pane, message.Peer{})
	s.Log.Info("ended", "session", session.Name, "pane", session.Pane, "how", how, "by", "its own approval")
	return nil
}

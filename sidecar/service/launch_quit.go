package service

import (
	"context"

	"github.com/tmux-intercom/tmux-intercom/sidecar/launch"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// Quit ends the program of a session that was started here and has agreed to its end, and returns when none of its processes
// is left, also of one that has ended by itself. Again says that its agent was told to quit before; it is not told twice.
func (s *Launches) Quit(ctx context.Context, id message.ID, again bool) error {
	if s.Launcher == nil {
		return nil
	}
	session, ok := s.Relay.Snapshot().Peer(id)
	if !ok || session.Ended != nil {
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

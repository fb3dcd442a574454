package service

import (
	"cmp"
	"context"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// elsewhereWithin is how long another computer may take for what is done at once.
const elsewhereWithin = 4500 * time.Millisecond

// startElsewhere has a session started on another computer, which is a peer here from then on.
func (s *Launches) startElsewhere(ctx context.Context, from api.Caller, token string, req api.StartSessionRequest) (api.StartedSession, error) {
	req.Computer, req.Near = "", ""
	started, err := elsewhere(ctx, s.Elsewhere, from, api.StartSession, token, req, elsewhereWithin)
	if err != nil || started.Session.ID == "" {
		return started, err
	}
	there := link.Session{ID: started.Session.ID, Name: started.Session.Name, Title: started.Session.Title, Agent: started.Session.Profile}
	if _, err := s.Elsewhere.Link.Enter(ctx, token, there); err != nil {
		s.Log.Warn("a session of another computer as a peer", "err", err)
	}
	started.Session = foreign(started.Session, token)
	return started, nil
}

// endElsewhere has a session ended on another computer.
func (s *Launches) endElsewhere(ctx context.Context, from api.Caller, token, session string, req api.EndSessionRequest) (api.EndedSession, error) {
	req.Computer, req.Session = "", session
	ended, err := elsewhere(ctx, s.Elsewhere, from, api.EndSession, token, req, cmp.Or(req.Grace, api.EndGrace)+20*time.Second)
	ended.Session = foreign(ended.Session, token)
	return ended, err
}

// foreign is a session of another computer as that tells of it: nothing of its panes is anything here.
func foreign(p message.Peer, token string) message.Peer {
	p.Computer, p.Kind, p.PaneOf = token, message.PeerRemote, message.PaneOf{Profile: p.Profile}
	return p
}

// abroad is a session as another computer is told of it: what its panes, terminals and processes are called, what
// its composer shows and who had it started is nothing there.
func abroad(p message.Peer) message.Peer {
	return message.Peer{
		ID: p.ID, Name: p.Name, Title: p.Title, Computer: p.Computer, Kind: p.Kind, Adopted: p.Adopted, State: p.State, Ended: p.Ended, EndReason: p.EndReason,
		PaneOf: message.PaneOf{Profile: p.Profile, Starting: p.Starting},
	}
}

// Serve has other computers start sessions, end and read them, as far as a person lets them.
func (s *Launches) Serve() {
	serve(s.Elsewhere, api.StartSession, func(ctx context.Context, from api.Caller, req api.StartSessionRequest) (api.StartedSession, error) {
		req.Near = "" // a pane, of which it knows none
		started, err := s.Start(ctx, from, req)
		started.Session = abroad(started.Session)
		return started, err
	})
	serve(s.Elsewhere, api.EndSession, func(ctx context.Context, from api.Caller, req api.EndSessionRequest) (api.EndedSession, error) {
		ended, err := s.End(ctx, from, req)
		ended.Session = abroad(ended.Session)
		return ended, err
	})
	serve(s.Elsewhere, api.EndAsks, s.EndAsks)
	serve(s.Elsewhere, api.SessionData, s.Data)
}

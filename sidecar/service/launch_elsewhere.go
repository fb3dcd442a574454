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

// Serve has other computers start sessions, end and read them, as far as a person lets them.
func (s *Launches) Serve() {
	serve(s.Elsewhere, api.StartSession, s.Start)
	serve(s.Elsewhere, api.EndSession, s.End)
	serve(s.Elsewhere, api.EndAsks, s.EndAsks)
	serve(s.Elsewhere, api.SessionData, s.Data)
}

package service

import (
	"cmp"
	"context"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/sanitise"
	"github.com/tmux-intercom/tmux-intercom/sidecar/secret"
)

// startElsewhereWithin is how long another computer may take for a start. A slow one takes time to open a
// window, and a start that it has begun goes on even if nobody here waits for it.
const startElsewhereWithin = 20 * time.Second

// startElsewhere starts a session on another computer; the session is a peer here from then on.
func (s *Launches) startElsewhere(ctx context.Context, from api.Caller, token string, req api.StartSessionRequest) (api.StartedSession, error) {
	req.Computer, req.Near = "", ""
	started, err := elsewhere(ctx, s.Elsewhere, from, api.StartSession, token, req, startElsewhereWithin)
	started.Status, started.Why = api.StartStatus(link.Short(string(started.Status))), link.Short(started.Why)
	started.Message, started.Request = known(started.Message), known(started.Request)
	if started.Session = foreign(started.Session, token); err != nil || started.Session.ID == "" {
		return started, err
	}
	there := link.Session{ID: started.Session.ID, Name: started.Session.Name, Title: started.Session.Title, Agent: started.Session.Profile}
	if _, err := s.Elsewhere.Link.Enter(ctx, token, there); err != nil {
		s.Log.Warn("a session of another computer as a peer", "err", err)
	}
	return started, nil
}

// endElsewhere ends a session on another computer.
func (s *Launches) endElsewhere(ctx context.Context, from api.Caller, token, session string, req api.EndSessionRequest) (api.EndedSession, error) {
	req.Computer, req.Session = "", session
	ended, err := elsewhere(ctx, s.Elsewhere, from, api.EndSession, token, req, cmp.Or(req.Grace, api.EndGrace)+20*time.Second)
	ended.Session = foreign(ended.Session, token)
	ended.Status, ended.How, ended.Reason = api.EndStatus(link.Short(string(ended.Status))), link.Short(ended.How), link.Short(ended.Reason)
	return ended, err
}

// endAsksElsewhere asks another computer who is asked before one of its sessions ends.
func (s *Launches) endAsksElsewhere(ctx context.Context, from api.Caller, token string, req api.EndSessionRequest) (api.EndAsked, error) {
	asked, err := elsewhere(ctx, s.Elsewhere, from, api.EndAsks, token, req, elsewhereWithin)
	asked.Session, asked.ID, asked.Teammate = link.Short(asked.Session), "", link.Short(asked.Teammate)
	asked.Grace = min(max(asked.Grace, 0), api.MaxDuration)
	return asked, err
}

// dataElsewhere reads what was said in a session of another computer.
func (s *Launches) dataElsewhere(ctx context.Context, from api.Caller, token string, q api.SessionDataQuery) (api.SessionWords, error) {
	said, err := elsewhere(ctx, s.Elsewhere, from, api.SessionData, token, q, elsewhereWithin)
	return foreignWords(said, token, cmp.Or(q.Tail, api.DefaultTail)), err
}

// foreignWords returns what a computer reports was said, and no more than was asked for.
func foreignWords(said api.SessionWords, token string, tail int) api.SessionWords {
	for i, e := range said.Entries {
		said.Entries[i].From, said.Entries[i].Text = link.Short(e.From), secret.Mask(sanitise.Quote(e.Text))
	}
	words := tailOf(api.SessionWords{Session: foreignRow(said.Session, token)}, said.Entries, tail)
	words.Truncated = words.Truncated || said.Truncated
	return words
}

// foreign returns a session of another computer as that reports it, without its panes, which mean nothing here,
// and with each text cut to the length that it may have in a session.
func foreign(p message.Peer, token string) message.Peer {
	p = abroad(p)
	p.Computer, p.Kind, p.PaneOf = token, message.PeerRemote, message.PaneOf{Profile: link.Short(p.Profile)}
	p.ID, p.Name, p.Title, p.State, p.EndReason = known(p.ID), link.Short(p.Name), link.Short(p.Title), message.PaneState(link.Short(string(p.State))), link.Short(p.EndReason)
	return p
}

// foreignRow is foreign for a row of the list.
func foreignRow(one api.Session, token string) api.Session {
	one.ID, one.Name, one.Title, one.Agent, one.Computer = known(one.ID), link.Short(one.Name), link.Short(one.Title), link.Short(one.Agent), token
	one.State, one.Caller = message.PaneState(link.Short(string(one.State))), link.Short(one.Caller)
	all := one.Subscribers
	one.Subscribers = []message.ID{}
	for _, id := range all[:min(len(all), mostSubscribers)] {
		if id = known(id); id != "" {
			one.Subscribers = append(one.Subscribers, id)
		}
	}
	return one
}

// mostSubscribers is how many subscribers of a foreign session are listed.
const mostSubscribers = 100

// known returns id if it is valid, else "".
func known(id message.ID) message.ID {
	id, err := message.ParseID(string(id))
	if err != nil {
		return ""
	}
	return id
}

// abroad returns a session in the form in which another computer gets it: its panes, terminals and processes,
// what its composer shows and who started it mean nothing there.
func abroad(p message.Peer) message.Peer {
	return message.Peer{
		ID: p.ID, Name: p.Name, Title: p.Title, Computer: p.Computer, Kind: p.Kind, Adopted: p.Adopted, State: p.State, Ended: p.Ended, EndReason: p.EndReason,
		PaneOf: message.PaneOf{Profile: p.Profile, Starting: p.Starting},
	}
}

// Serve lets other computers start, end and read sessions, as far as a person permits.
func (s *Launches) Serve() {
	serve(s.Elsewhere, api.StartSession, func(ctx context.Context, from api.Caller, req api.StartSessionRequest) (api.StartedSession, error) {
		req.Near = "" // the other computer knows no panes here
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

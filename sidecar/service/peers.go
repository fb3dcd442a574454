package service

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/pane"
	"github.com/tmux-intercom/tmux-intercom/sidecar/plain"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/talk"
)

// peersWithin is how long the panes may take to report their state. For one that is busy, the last known state
// is listed.
const peersWithin = time.Second

// Peers lists the sessions, and for a person also the panes in which an agent is recognised and that nobody has
// adopted. For those it reports what tmux and the processes tell, and reads nothing.
func (s *Panes) Peers(ctx context.Context, from api.Caller, _ api.None) ([]api.Peer, error) {
	snap := s.Relay.Snapshot()
	sessions := slices.DeleteFunc(slices.Clone(snap.Peers()), func(p message.Peer) bool {
		return p.Kind == message.PeerRepository && !filepath.IsAbs(p.Key) // its messages come from a repository that nobody enabled
	})
	peers := make([]api.Peer, len(sessions))
	var adopted []string
	for i, session := range sessions {
		adopted = append(adopted, session.Pane)
		peers[i] = api.Peer{
			ID: session.ID, Kind: cmp.Or(session.Kind, api.KindSession),
			Name: session.Name, Pane: session.Pane, Session: session.ID, Computer: session.Computer, Agent: session.Profile, Adopted: true,
			Aliases: slices.DeleteFunc([]string{session.Name, session.Pane, session.Key, session.ID.Short(), string(session.ID)}, func(alias string) bool { return alias == "" }),
			Program: session.Foreground, Title: session.Title, State: session.State, Why: session.StateWhy,
		}
		if session.Kind == message.PeerRepository {
			peers[i].Why = "only answers are written there: intercom aea send writes messages"
			if s.Files != nil && s.Files.Away(session.ID) {
				peers[i].Why = "there is no .aea at its path any more: what is for it waits; intercom aea disable --repository " + plain.ShellWord(session.Key) + " ends that"
			}
		}
		if session.Closed != "" {
			peers[i].Why = string(session.Closed)
		}
		if chat, ok := snap.ChatOf(session.ID); ok {
			peers[i].Chat, peers[i].ChatName = chat.ID, chat.Name
			for _, p := range chat.Participants {
				if p.Peer == session.ID && !p.Left {
					peers[i].Number = p.Number
					peers[i].Aliases = append(peers[i].Aliases, fmt.Sprintf("[%s] (%d)", session.Name, p.Number))
				}
			}
		}
	}
	s.listening(sessions, peers)
	peers = append(peers, distant(snap, s.Elsewhere.remotes())...)
	if s.Panes == nil {
		return peers, nil
	}
	s.look(ctx, peers)
	listed, err := s.Panes.List(ctx, adopted)
	if err != nil {
		return nil, fmt.Errorf("list peers: %w", err)
	}
	person := s.Callers.by(ctx, from).Person()
	for _, p := range listed {
		i := slices.IndexFunc(peers, func(one api.Peer) bool { return one.Pane == p.ID })
		switch {
		case i >= 0:
			peers[i].Title, peers[i].Window = p.Title, window(p)
		case p.Agent != "" && person:
			peers = append(peers, api.Peer{
				Kind: api.KindPane, Pane: p.ID, Aliases: []string{p.ID}, Computer: message.LocalComputer, Agent: p.Agent, Program: p.Program,
				Title: p.Title, Window: window(p), Why: string(message.NotAdopted),
				Evidence: []message.Ground{{Source: "process", Says: fmt.Sprintf("%s is in front", p.Agent), Weight: "exact"}},
			})
		}
	}
	return peers, nil
}

// distant returns the sessions of other computers that are not yet peers here.
func distant(snap registry.Snapshot, computers []link.Computer) (all []api.Peer) {
	for _, c := range computers {
		for _, there := range c.Sessions {
			if p, ok := snap.Peer(there.ID); ok && p.Ended == nil {
				continue
			}
			one := api.Peer{
				ID: there.ID, Kind: message.PeerRemote, Name: there.Name + "." + c.Token, Session: there.ID, Computer: c.Token, Agent: there.Agent, Title: there.Title,
				Aliases: []string{there.Name + "." + c.Token, c.Token + "/" + there.Name, c.Token + "/" + string(there.ID), there.ID.Short(), string(there.ID)},
			}
			if !c.Present {
				one.Why = string(message.ComputerAway)
			}
			all = append(all, one)
		}
	}
	return all
}

// listening notes which ports take encrypted connections only, and which are no longer listened on: a stopped
// port stays a peer while something waits for it.
func (s *Panes) listening(sessions []message.Peer, peers []api.Peer) {
	if s.Ports == nil || !slices.ContainsFunc(sessions, func(p message.Peer) bool { return p.Kind == message.PeerPort }) {
		return
	}
	listeners := s.Ports.Discover()
	for i, p := range sessions {
		if p.Kind != message.PeerPort {
			continue
		}
		at := slices.IndexFunc(listeners, func(l talk.Listening) bool { return p.Key == strconv.Itoa(l.Port) })
		if at < 0 {
			peers[i].State, peers[i].Why = message.Dead, string(message.PortClosed)+": it was stopped, or its listener has ended"
			continue
		}
		peers[i].TLS = listeners[at].TLS
	}
}

// window returns the place of a pane in tmux, as a person finds it.
func window(p pane.Listed) string { return fmt.Sprintf("%s:%d %s", p.Session, p.Window, p.WindowName) }

// look gets the state of each adopted pane, and the evidence for it.
func (s *Panes) look(ctx context.Context, peers []api.Peer) {
	ctx, cancel := context.WithTimeout(ctx, peersWithin)
	defer cancel()
	var all sync.WaitGroup
	for i := range peers {
		p := &peers[i]
		if p.Pane == "" {
			continue
		}
		all.Go(func() {
			seen, err := s.Panes.Explain(ctx, p.Session, p.Pane, "")
			if err != nil || seen.Explanation.Session == "" {
				return
			}
			e := seen.Explanation
			p.State, p.Evidence = e.State, e.Evidence
			if p.Why = string(e.Why); e.WouldType {
				p.Why = ""
			}
		})
	}
	all.Wait()
}

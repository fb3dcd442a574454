package service

import (
	"context"
	"sync"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// former holds the ended sessions that still have a live process. An agent's process counts as the agent's
// until it ends, whatever program it runs by then and whether or not the pane was released. A program that
// executes another one in its own place keeps its pid, its parents and its terminal, and could otherwise pass
// for something that a person typed.
type former struct {
	mu     sync.Mutex
	read   bool // whether the sessions of earlier lives of the sidecar have been read
	agents map[message.ID]message.Peer
}

// mostFormer is how many sessions of earlier lives of the sidecar are considered, the latest ones.
const mostFormer = 1000

// formerAgent finds an ended session one of whose processes is in an origin.
func (s *Callers) formerAgent(ctx context.Context, o origin) (message.Peer, bool, error) {
	f := &s.former
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.read && s.Journal != nil {
		earlier, err := s.Journal.EndedSessions(ctx, mostFormer)
		if err != nil {
			return message.Peer{}, false, err
		}
		f.note(earlier)
		f.read = true
	}
	f.note(s.Relay.Snapshot().Past())
	for id, session := range f.agents {
		if !goesOn(session) {
			delete(f.agents, id)
			continue
		}
		for _, r := range o.below() {
			if isOf(r, session.Foreground) || isOf(r, session.Reader) {
				return session, true, nil
			}
		}
	}
	return message.Peer{}, false, nil
}

func (f *former) note(ended []message.Peer) {
	for _, session := range ended {
		if session.Pane == "" || !goesOn(session) {
			continue
		}
		if f.agents == nil {
			f.agents = map[message.ID]message.Peer{}
		}
		f.agents[session.ID] = session
	}
}

func goesOn(session message.Peer) bool {
	for _, p := range []message.Process{session.Foreground, session.Reader} {
		if p.Start != 0 && process.Lives(p.PID, p.Start) {
			return true
		}
	}
	return false
}

func isOf(r process.Relative, p message.Process) bool {
	return r.PID == p.PID && r.Start == p.Start && p.Start != 0
}

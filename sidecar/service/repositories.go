package service

import (
	"cmp"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

// Repositories says which agents work in a repository, and which command answers if none does.
type Repositories struct {
	Relay    present
	Policies *Policies
}

// Agents returns the sessions that work in a repository, idle ones first.
func (s *Repositories) Agents(path string) []message.Peer {
	var all []message.Peer
	for p := range s.Relay.Snapshot().Present() {
		if p.Kind == message.PeerPane && p.Ended == nil && repository.Of(workingDir(p)) == path {
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b message.Peer) int {
		return cmp.Or(rests(a)-rests(b), a.Adopted.Compare(b.Adopted))
	})
	return all
}

// rests returns 0 for an idle session, else 1.
func rests(p message.Peer) int {
	if p.State == message.Idle {
		return 0
	}
	return 1
}

// Command returns the command that answers, nil if there is none.
func (s *Repositories) Command() []string {
	if s.Policies.Set == nil {
		return nil
	}
	return s.Policies.Set.Settings().Answer
}

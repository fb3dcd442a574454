package policyset

import (
	"maps"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

func (r Room) project() string    { return r.Project }
func (r Room) repository() string { return r.Repository }

// directories are those that rooms have, each once.
func directories(rooms map[message.ID]Room, of func(Room) string) []string {
	var all []string
	for _, room := range rooms {
		all = append(all, of(room))
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(dir string) bool { return dir == "" })
}

// look notes where the sessions are, and reports whether other projects may have come of it.
func (p *InUse) look() bool {
	if p.Rooms == nil {
		return false
	}
	rooms := p.Rooms()
	p.mu.Lock()
	defer p.mu.Unlock()
	changed := !maps.EqualFunc(rooms, p.rooms, func(a, b Room) bool { return a.Project == b.Project })
	if !maps.Equal(rooms, p.rooms) {
		p.rooms = rooms
		p.others.move(rooms)
	}
	return changed
}

// workplaces is where the sessions were when look noted it.
func (p *InUse) workplaces() map[message.ID]Room {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rooms
}

// strange reports whether somebody whom a message concerns works elsewhere than is known.
func (p *InUse) strange(q relay.Question) bool {
	if p.Dir == nil {
		return false
	}
	rooms := p.workplaces()
	return slices.ContainsFunc(concerned(q), func(s message.Peer) bool { return p.Dir(s) != rooms[s.ID].Dir })
}

// concerned are those whom a message is for, and its author.
func concerned(q relay.Question) []message.Peer {
	all := q.Targets
	if author, ok := q.Snapshot.Peer(q.Message.From.Peer); ok {
		all = append(slices.Clip(all), author)
	}
	return all
}

// uncovered reports whether a message concerns a project of which the set in use knows nothing.
func (p *InUse) uncovered(q relay.Question) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(concerned(q), func(s message.Peer) bool {
		dir := p.rooms[s.ID].Project
		return dir != "" && !slices.Contains(p.covered, dir)
	})
}

// trusted reports whether a person trusts a project's file.
func (p *InUse) trusted(place, hash string) bool { return p.Trusted != nil && p.Trusted(place, hash) }

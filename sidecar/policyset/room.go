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
	p.rooms = rooms
	return changed
}

// strange reports whether somebody whom a message concerns works elsewhere than is known.
func (p *InUse) strange(q relay.Question) bool {
	if p.Room == nil {
		return false
	}
	concerned := q.Targets
	if author, ok := q.Snapshot.Session(q.Message.From.Session); ok {
		concerned = append(slices.Clip(concerned), author)
	}
	p.mu.Lock()
	rooms := p.rooms
	p.mu.Unlock()
	return slices.ContainsFunc(concerned, func(s message.Session) bool { return p.Room(s) != rooms[s.ID] })
}

// trusted reports whether a person trusts a project's file.
func (p *InUse) trusted(place, hash string) bool { return p.Trusted != nil && p.Trusted(place, hash) }

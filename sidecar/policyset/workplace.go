package policyset

import (
	"maps"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

func (r Workplace) project() string    { return r.Project }
func (r Workplace) repository() string { return r.Repository }

// directories returns the directories of the workplaces, sorted and each once.
func directories(workplaces map[message.ID]Workplace, of func(Workplace) string) []string {
	var all []string
	for _, place := range workplaces {
		all = append(all, of(place))
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(dir string) bool { return dir == "" })
}

// look notes where the sessions work, and reports whether the set of projects may have changed.
func (p *Live) look() bool {
	if p.Workplaces == nil {
		return false
	}
	workplaces := p.Workplaces()
	p.mu.Lock()
	defer p.mu.Unlock()
	changed := !maps.EqualFunc(workplaces, p.places, func(a, b Workplace) bool { return a.Project == b.Project })
	if !maps.Equal(workplaces, p.places) {
		p.places = workplaces
		p.others.move(workplaces)
	}
	return changed
}

// workplaces returns where the sessions worked at the last look.
func (p *Live) workplaces() map[message.ID]Workplace {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.places
}

// strange reports whether one of those sessions works elsewhere than noted.
func (p *Live) strange(sessions []message.Peer) bool {
	if p.Dir == nil {
		return false
	}
	workplaces := p.workplaces()
	return slices.ContainsFunc(sessions, func(s message.Peer) bool { return p.Dir(s) != workplaces[s.ID].Dir })
}

// concerned returns the recipients of a message and its author.
func concerned(q relay.Question) []message.Peer {
	all := q.Targets
	if author, ok := q.Snapshot.Peer(q.Message.From.Peer); ok {
		all = append(slices.Clip(all), author)
	}
	return all
}

// uncovered reports whether one of those sessions works in a project whose files the set in use does not include.
func (p *Live) uncovered(sessions []message.Peer) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(sessions, func(s message.Peer) bool {
		dir := p.places[s.ID].Project
		return dir != "" && !slices.Contains(p.covered, dir)
	})
}

// unasked reports whether scripts route a message to a session whose project's policy was not asked about it: the
// project's file is new, or the name that the scripts used is not the session's own name.
func (p *Live) unasked(q relay.Question, in policy.Input, v policy.Verdict) bool {
	if v.Route == nil {
		return false
	}
	to, _ := routed(q, v)
	if p.strange(to) {
		p.look()
	}
	asked := slices.Clone(in.Projects)
	for _, name := range v.Route {
		a, _ := in.Agent(name)
		asked = append(asked, a.Project)
	}
	workplaces := p.workplaces()
	return p.uncovered(to) || slices.ContainsFunc(to, func(s message.Peer) bool {
		dir := workplaces[s.ID].Project
		return dir != "" && !slices.Contains(asked, dir)
	})
}

// trusted reports whether a person trusts a project's file.
func (p *Live) trusted(place, hash string) bool { return p.Trusted != nil && p.Trusted(place, hash) }

package policy

import "github.com/tmux-intercom/tmux-intercom/sidecar/message"

// Peers are many agents, in pages. Neither ever changes, and what is made of other Peers shares
// the pages with them of which nothing is new: so what is new is found in little time.
type Peers [][]Agent

// News are what is other in Peers than it was in others.
type News struct {
	Known []Agent  `json:"known,omitempty"`
	Gone  []string `json:"gone,omitempty"` // names
}

// Since is what is new since those Peers.
func (p Peers) Since(before Peers) (n News) {
	was, is := before.beside(p), p.beside(before)
	for name, a := range is {
		if was[name] != a {
			n.Known = append(n.Known, a)
		}
	}
	for name := range was {
		if _, still := is[name]; !still {
			n.Gone = append(n.Gone, name)
		}
	}
	return n
}

// beside are those that other Peers do not have at the same place, by name.
func (p Peers) beside(others Peers) map[string]Agent {
	all := map[string]Agent{}
	for i, page := range p {
		var other []Agent
		if i < len(others) {
			other = others[i]
		}
		if len(page) == 0 || len(page) == len(other) && &page[0] == &other[0] {
			continue
		}
		for j, a := range page {
			if j >= len(other) || a != other[j] {
				all[NameOf(a.Address)] = a
			}
		}
	}
	return all
}

// Agent finds a peer by its name.
func (in Input) Agent(name string) (Agent, bool) {
	for _, page := range append(Peers{in.Agents}, in.Others...) {
		for _, a := range page {
			if NameOf(a.Address) == name {
				return a, true
			}
		}
	}
	return Agent{}, false
}

// NameOf is what scripts call a peer: its name, or its id where it has none.
func NameOf(a message.Address) string {
	if a.Name != "" {
		return a.Name
	}
	return a.Peer.Short()
}

package policy

import "github.com/tmux-intercom/tmux-intercom/sidecar/message"

// Peers are many agents, in pages. Neither Peers nor their pages ever change. Peers that are made from others share the
// pages that have not changed, so what is new is found quickly.
type Peers [][]Agent

// News is the difference between two Peers.
type News struct {
	Known []Agent  `json:"known,omitempty"`
	Gone  []string `json:"gone,omitempty"` // names
}

// Since returns what is new compared with before.
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

// beside returns, by name, the agents that others do not have at the same place.
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

// NameOf returns the name of a peer in scripts: its name, or its short id if it has none.
func NameOf(a message.Address) string {
	if a.Name != "" {
		return a.Name
	}
	return a.Peer.Short()
}

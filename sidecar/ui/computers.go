package ui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/plain"
)

// computers asks this computer and the others for their status. One that does not answer takes a second, so the
// screen asks only while the person looks at the tab, and once at the beginning.
func computers(e edge) any {
	all, err := call(e, api.Computers, api.None{})
	if err != nil {
		return broken{err}
	}
	return linked{all}
}

// computersShelf lists this computer and those that it is linked with.
type computersShelf struct{}

func (computersShelf) flex() int    { return 3 }
func (computersShelf) none() string { return "…" }

func (computersShelf) items(m model) (all []item) {
	for _, c := range m.known.computers {
		style := normal
		if !c.Present || c.Why != "" {
			style = urgent
		}
		var since time.Time
		if c.Since != nil {
			since = *c.Since
		}
		all = append(all, item{id: c.Name, style: style, cells: []string{c.Name, here(c), several(c.Sessions, "session"), waitingFor(c), age(m.now, since)}})
	}
	return all
}

// here says whether a computer can be reached, and how fast.
func here(c api.Computer) string {
	switch {
	case c.Local && c.Why != "":
		return "this one, not linked now"
	case c.Local && c.Server == "":
		return "this one, not linked"
	case c.Local:
		return "this one"
	case !c.Present:
		return "away"
	case c.RoundTrip > 0:
		return fmt.Sprintf("answers in %.1f ms", c.RoundTrip)
	}
	return "there"
}

// waitingFor says how many messages a computer has not confirmed yet.
func waitingFor(c api.Computer) string {
	if c.Waiting == 0 {
		return ""
	}
	return several(c.Waiting, "message") + " waiting"
}

func (computersShelf) detail(m model, id string, width int) (string, []string) {
	i := slices.IndexFunc(m.known.computers, func(c api.Computer) bool { return c.Name == id })
	if i < 0 {
		return "", nil
	}
	c := m.known.computers[i]
	var rows []string
	say := func(format string, args ...any) {
		rows = append(rows, indented(fmt.Sprintf(format, args...), 1, width)...)
	}
	switch {
	case c.Local && c.Why != "":
		say("it reaches no others: %s", c.Why)
	case c.Local && c.Server != "":
		say("it reaches the others by %s", c.Server)
	case c.Local:
		say("intercom link connects it with others")
	case len(c.May) == 0:
		say("it may do nothing here")
	default:
		say("it may here: %s", strings.Join(c.May, ", "))
	}
	if c.Waiting > 0 {
		say("%s: what is sent arrives when it is back", waitingFor(c))
	}
	for _, p := range m.known.peers {
		if !c.Local && strings.EqualFold(p.Computer, c.Name) {
			rows = append(rows, plain.Cut("   "+plain.Line(strings.Join(slices.DeleteFunc([]string{p.Name, p.Agent, m.chatOf(p)}, func(s string) bool { return s == "" }), "  ")), width))
		}
	}
	return c.Name, rows
}

func (computersShelf) keys(model, string) []string { return nil }

func (computersShelf) press(m model, _, _ string) (model, []effect) { return m, nil }

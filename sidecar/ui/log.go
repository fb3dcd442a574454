package ui

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// logShelf lists what happened, the latest first.
type logShelf struct{}

func (logShelf) flex() int    { return 2 }
func (logShelf) none() string { return "nothing has happened yet" }

func (logShelf) items(m model) (all []item) {
	events := m.known.events
	if m.known.found != nil {
		events = m.known.found
	}
	adopted := map[message.ID]bool{}
	for _, e := range events {
		who, what, style, ok := m.narrate(e)
		if p := e.Peer; p != nil && p.Ended == nil { // recorded again with each draft, too
			ok = ok && !adopted[p.ID]
			adopted[p.ID] = true
		}
		if !ok {
			continue
		}
		all = append(all, item{id: strconv.FormatInt(e.Seq, 10), style: style, cells: []string{e.At.Local().Format("15:04:05"), who, what}})
	}
	// The latest comes first, where the person begins.
	for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
		all[i], all[j] = all[j], all[i]
	}
	return all
}

// adoptedWithin is how soon after the adoption of a session its event is recorded. A later event about the
// session is no adoption.
const adoptedWithin = time.Second

// narrate describes an event in a line, if a person cares about it.
func (m model) narrate(e message.Event) (who, what, style string, ok bool) {
	switch {
	case e.Message != nil:
		first, _, _ := strings.Cut(opening(strings.TrimLeft(e.Message.Body, "\n"), rowBytes), "\n")
		return author(*e.Message), first, normal, true
	case e.Receipt != nil:
		switch e.Receipt.State {
		case message.Held, message.Failed, message.Expired, message.Uncertain:
			style = wrong
			if e.Receipt.State == message.Held || e.Receipt.Superseded() {
				style = urgent
			}
			return "→ " + m.named(e.Receipt.Target), outcome(*e.Receipt), style, true
		case message.Submitted:
			return "→ " + m.named(e.Receipt.Target), outcome(*e.Receipt), faint, true
		}
		return "", "", "", false
	case e.Change != nil:
		style = faint
		if e.Change.State == message.ChatPaused {
			style = urgent
		}
		return called(*e.Change), e.Change.Noun() + " " + e.Change.State.For(e.Change.Why), style, true
	case e.Peer != nil:
		what = "adopted"
		if e.Peer.Ended != nil {
			what = "ended: " + e.Peer.EndReason
		}
		return e.Peer.Name, what, faint, e.Peer.Ended != nil || e.At.Sub(e.Peer.Adopted) < adoptedWithin
	case e.Notice != "":
		return "notice", e.Notice, urgent, true
	}
	return "", "", "", false
}

func (m model) named(id message.ID) string { return cmp.Or(m.known.names[id], id.Short()) }

// author returns the name of a message's author.
func author(e message.Envelope) string {
	return cmp.Or(e.From.Name, string(e.Origin))
}

func (m model) event(id string) (message.Event, bool) {
	for _, events := range [][]message.Event{m.known.found, m.known.events} {
		for _, e := range events {
			if strconv.FormatInt(e.Seq, 10) == id {
				return e, true
			}
		}
	}
	return message.Event{}, false
}

func (logShelf) detail(m model, id string, width int) (string, []string) {
	e, ok := m.event(id)
	if !ok {
		return "", nil
	}
	who, what, _, _ := m.narrate(e)
	title := who + ", " + e.At.Local().Format("2006-01-02 15:04:05")
	if e.Message == nil {
		if e.Receipt != nil {
			for _, x := range e.Receipt.Evidence {
				what += "\n" + x.Source + ": " + x.Says
			}
		}
		return title, indented(what, 1, width)
	}
	rows := indented(opening(e.Message.Body, detailBytes), 1, width)
	// What became of it, by target.
	var fates []string
	for _, x := range m.known.events {
		if x.Receipt != nil && x.Receipt.Message == e.Message.ID && x.Receipt.State != message.Queued {
			fates = append(fates, x.At.Local().Format("15:04:05")+" → "+m.named(x.Receipt.Target)+" "+outcome(*x.Receipt))
		}
	}
	if len(fates) > 0 {
		rows = append(rows, "")
		for _, row := range indented(strings.Join(fates, "\n"), 1, width) {
			rows = append(rows, styled(faint, row))
		}
	}
	return title, rows
}

func (logShelf) keys(m model, id string) []string {
	if id == "" {
		return nil
	}
	return []string{"Enter read"}
}

func (s logShelf) press(m model, id, name string) (model, []effect) {
	if _, ok := m.event(id); !ok || name != "enter" {
		return m, nil
	}
	title, _ := s.detail(m, id, max(1, m.width))
	return m.push(reading{title: title, text: func(m model, width int) []string {
		_, rows := s.detail(m, id, width)
		return rows
	}}), nil
}

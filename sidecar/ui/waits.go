package ui

import (
	"cmp"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// waitsShelf lists what only a person can do, the longest wait first.
type waitsShelf struct{}

func (waitsShelf) flex() int    { return 3 }
func (waitsShelf) none() string { return "nobody waits for you" }

func (waitsShelf) items(m model) (all []item) {
	for _, w := range m.known.waits {
		all = append(all, item{id: w.ID, style: urgent, cells: []string{m.waiter(w), cmp.Or(w.Words, string(w.Kind)), age(m.now, w.Since), w.Text}})
	}
	return all
}

// waiter says who waits.
func (m model) waiter(w message.Wait) string {
	switch h, d := m.heldOf(w), m.known.chatDetail(w.Chat); {
	case w.Kind == message.WaitApprove && h != nil:
		return h.From + " → " + h.To
	case w.Name != "":
		return w.Name
	case d != nil:
		return called(d.Chat)
	}
	return cmp.Or(w.ChatName, "everything")
}

// heldOf returns the delivery that a wait is about, nil for none.
func (m model) heldOf(w message.Wait) *api.Held {
	for _, h := range m.known.held {
		if w.Delivery != "" && h.Delivery == w.Delivery {
			return &h
		}
	}
	return nil
}

func (m model) wait(id string) (message.Wait, bool) {
	i := slices.IndexFunc(m.known.waits, func(w message.Wait) bool { return w.ID == id })
	if i < 0 {
		return message.Wait{}, false
	}
	return m.known.waits[i], true
}

func (waitsShelf) detail(m model, id string, width int) (string, []string) {
	w, ok := m.wait(id)
	if !ok {
		return "", nil
	}
	rows := indented(cmp.Or(w.Words, string(w.Kind))+", since "+w.Since.Local().Format("15:04:05"), 1, width)
	if w.Text != "" && w.Kind != message.WaitApprove {
		rows = append(append(rows, ""), indented(w.Text, 1, width)...)
	}
	if h := m.heldOf(w); h != nil {
		_, more := inboxShelf{}.detail(m, string(h.Delivery), width)
		rows = append(append(rows, ""), more...)
	}
	return m.waiter(w), rows
}

func (waitsShelf) keys(m model, id string) (keys []string) {
	w, ok := m.wait(id)
	if !ok {
		return nil
	}
	d := m.known.chatDetail(w.Chat)
	switch h := m.heldOf(w); {
	case h != nil && h.Decision:
		return inboxShelf{}.keys(m, string(h.Delivery))
	case w.Kind == message.WaitPaused && d != nil:
		return append([]string{"w watch"}, m.chatKeys(*d)...)
	case w.Pane != "":
		keys = append(keys, "g go to pane")
	}
	return keys
}

func (waitsShelf) press(m model, id, name string) (model, []effect) {
	w, ok := m.wait(id)
	if !ok {
		return m, nil
	}
	d := m.known.chatDetail(w.Chat)
	switch h := m.heldOf(w); {
	case h != nil && h.Decision:
		return inboxShelf{}.press(m, string(h.Delivery), name)
	case w.Kind == message.WaitPaused && d != nil:
		return chatsShelf{}.press(m, string(d.ID), name)
	case (name == "g" || name == "enter") && w.Pane != "":
		return m, []effect{jump(w.Pane, m.popup)}
	}
	return m, nil
}
